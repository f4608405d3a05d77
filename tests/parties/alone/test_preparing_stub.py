"""`smc prepare --schema`: likely pairs of columns and values are filled in, the others are comments."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from parties.alone.preparing.mapping import likely_pairs
from parties.base import console
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


def test_columns_of_other_names_are_given_or_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = 'target = "ill"\n[attributes]\nill = ["no", "yes"]\n'
    schema += 'age = { type = "integer", low = 0, high = 99, width = 20 }\n'
    (tmp_path / "theirs.toml").write_text(schema + 'stage = ["early", "late", "pre"]\n')
    rows = [
        f"{20 + i % 50};{i % 9};{'ja' if i % 3 else 'nein'};{('early', 'late', 'prä')[i % 3]}\n" for i in range(120)
    ]
    (tmp_path / "t.csv").write_text("Alter;Nr;krank;stage\n" + "".join(rows))
    prepare = ["prepare", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "theirs.toml"), "--out"]

    def check(out: Path) -> None:
        columns = load(out / "party.toml").tables["t"].columns
        assert (columns["age"].column, columns["ill"].column) == ("Alter", "krank")
        assert columns["ill"].values == {"ja": "yes", "nein": "no"}
        assert columns["stage"].values == {"prä": "pre"}
        table = load(out / "party.toml").tables["t"]
        with open_table(table, schemas.load(table.schema_file), "ill") as source:
            assert source.check() == 120

    assert run([*prepare, str(tmp_path / "a"), "--column", "age=Alter", "--column", "ill=krank"]) == 0
    check(tmp_path / "a")
    for wrong, said in (("age", "write NAME=COLUMN"), ("age=Altr", "did you mean 'Alter'"), ("x=Nr", "has no 'x'")):
        assert run([*prepare, str(tmp_path / "b"), "--column", wrong]) == 2
        assert said in capsys.readouterr().err
    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("krank\n1\n"))
    assert run([*prepare, str(tmp_path / "c")]) == 0
    assert "attribute 'age' can be one of these:" in capsys.readouterr().err
    check(tmp_path / "c")


def test_another_unit_is_remarked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = '[attributes]\nrate = { type = "real", low = 0, high = 40, width = 5 }\n'
    (tmp_path / "theirs.toml").write_text(schema + 'weight = { type = "real", low = 30, high = 200, width = 20 }\n')
    rows = "".join(f"0.{5 + i % 30:02};{50 + i % 70}.5\n" for i in range(100))
    (tmp_path / "t.csv").write_text("rate;weight\n" + rows)
    assert (
        run(
            [
                "prepare",
                str(tmp_path / "t.csv"),
                "--schema",
                str(tmp_path / "theirs.toml"),
                "--out",
                str(tmp_path / "a"),
            ]
        )
        == 0
    )
    assert " ".join(capsys.readouterr().out.split()).count("another unit?") == 1
