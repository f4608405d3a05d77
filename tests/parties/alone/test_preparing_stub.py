"""`smc prepare --schema`: likely pairs of columns and values are filled in, the others are comments."""

from __future__ import annotations

import random
from pathlib import Path

from parties.alone.preparing.mapping import likely_pairs
from parties.cli import run
from parties.party_file import load
from parties.sources.opening import open_table
from parties.tables import schema as schemas

THEIRS = """target = "outcome"
[attributes]
outcome = ["good", "bad"]
sex = ["female", "male"]
region = ["north", "south", "west"]
temperature = { type = "real", low = 30, high = 45, edges = [37, 38.5] }
age = { type = "integer", low = 0, high = 110, edges = [18, 40, 65] }
"""


def test_likely_pairs_are_filled_in_and_the_others_are_comments(tmp_path: Path) -> None:
    draw = random.Random(2)
    lines = ["Sex;area;temprature;years_old;kg;outcome"]
    lines += [
        f"{draw.choice('mw')};{draw.choice(['North', 'South', 'West'])};{draw.uniform(35, 41):.1f};"
        f"{draw.randint(0, 99)};{draw.uniform(50, 99):.1f};{draw.choice(['good', 'bad'])}"
        for _ in range(300)
    ]
    (tmp_path / "ours.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "theirs.toml").write_text(THEIRS)
    prepare = ["prepare", str(tmp_path / "ours.csv"), "--schema", str(tmp_path / "theirs.toml"), "--out"]
    assert run([*prepare, str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "party.toml").read_text()
    columns = load(tmp_path / "out" / "party.toml").tables["ours"].columns
    assert (columns["sex"].column, columns["sex"].values) == ("Sex", {"m": "male", "w": "female"})
    assert (columns["region"].column, columns["temperature"].column) == ("area", "temprature")
    assert "# age = { column = \"years_old\" }  # or 'kg'" in text
    (tmp_path / "out" / "party.toml").write_text(text.replace("# age", "age"))  # the one edit by hand
    table = load(tmp_path / "out" / "party.toml").tables["ours"]
    with open_table(table, schemas.load(table.schema_file), "outcome") as source:
        assert source.check() == 300


def test_pairs_of_values() -> None:
    assert likely_pairs(["m", "w"], ["male", "female"]) == {"m": "male", "w": "female"}
    assert likely_pairs(["Colonge"], ["Cologne", "Bonn"]) == {"Colonge": "Cologne"}
    assert likely_pairs(["m"], ["male", "married"]) == {}
    assert likely_pairs(["a1", "b2"], ["x", "y"]) == {}
    assert likely_pairs(["only"], ["other"]) == {}  # a pair by itself says nothing
