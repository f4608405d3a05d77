"""What smc prepare found out of a raw file, commands on one's own rows read it by: `--config party.toml`."""

from __future__ import annotations

import csv
import itertools
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from parties.cli import run
from parties.sources.delimited import read_header
from parties.sources.settings import FormatSettings
from smc.errors import InputError

BY_CONFIG = ["--config", "clinic/party.toml"]


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> list[tuple[str, int, float]]:
    """An export with semicolons and decimal commas, in another encoding, and what smc prepare makes of it."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(4)
    rows = [(draw.choice(["Köln", "Bonn"]), draw.randrange(20, 80), draw.randrange(400) / 10) for _ in range(400)]
    text = "".join(f"{town};{age};{str(cost).replace('.', ',')}\n" for town, age, cost in rows)
    for name in ("rows.csv", "june.csv"):
        Path(name).write_text("Ort;Alter;Kosten\n" + text, encoding="cp1252")
    assert run(["prepare", "rows.csv", "--target", "Ort", "--out", "clinic"]) == 0
    capsys.readouterr()
    return rows


@pytest.mark.usefixtures("raw")
def test_publishing_by_the_spelling_that_prepare_found() -> None:
    """Or by that which a plan finds itself, which is the same."""
    assert run(["publish", "plan", "--data", "rows.csv", "--out", "alone.toml"]) == 0
    assert run(["publish", "plan", "--data", "rows.csv", "--out", "plan.toml", *BY_CONFIG]) == 0
    assert Path("alone.toml").read_text() == Path("plan.toml").read_text()
    plan = tomllib.loads(Path("plan.toml").read_text())
    assert [*plan["columns"]] == ["Ort", "Alter", "Kosten"]
    assert plan["format"] == {"separator": ";", "encoding": "cp1252", "decimal": ","}
    plan["columns"]["Kosten"] = {"role": "other"}
    Path("plan.toml").write_text(tomli_w.dumps(plan))
    words = ["publish", "anonymise", "--plan", "plan.toml", "--out", "out.csv", "--recoding", "recoding.json"]
    assert run(words) == 0
    assert run(["publish", "apply", "--recoding", "recoding.json", "--data", "june.csv", "--out", "later.csv"]) == 0
    first, later = (sorted(Path(name).read_text().splitlines()) for name in ("out.csv", "later.csv"))
    assert first == later, "later rows are spelled as the first"
    with Path("out.csv").open() as stream:
        assert {row["Ort"] for row in csv.DictReader(stream)} == {"Köln", "Bonn"}


def test_comparing_raw_rows_by_their_mapping(raw: list[tuple[str, int, float]], capsys: Any) -> None:
    schema = tomllib.loads(Path("clinic/schema.toml").read_text())
    edges = schema["attributes"]["Alter"]["edges"]
    between = [f"{low} to {high - 1}" for low, high in itertools.pairwise(edges)]
    labels = [f"under {edges[0]}", *between, f"{edges[-1]} and over"]
    with Path("same.csv").open("w") as stream:
        stream.write("Ort,Alter\n")
        for town, age, _ in raw:
            stream.write(f"{town},{labels[sum(age >= edge for edge in edges)]}\n")
    words = ["compare", "--data", "rows.csv", "--synthetic", "same.csv", "--schema", "clinic/schema.toml", "--json"]
    assert run([*words, *BY_CONFIG]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["rows"] == {"own": 400, "synthetic": 400}
    assert run(["compare", "--synthetic", "same.csv", "--json", *BY_CONFIG]) == 0
    assert json.loads(capsys.readouterr().out) == report, "the rows and the schema are those of the table"
    for flags, missing in ((["--schema", "clinic/schema.toml"], "--data"), (["--data", "rows.csv"], "--schema")):
        assert run(["compare", "--synthetic", "same.csv", *flags]) == 2
        assert f"{missing} is missing; give --data and --schema, or --config" in capsys.readouterr().err
    assert report["marginals"]["average"] == 0, "the same rows, one raw and one in the words of the schema"
    Path("comma.csv").write_text("Ort,Alter\nBonn,33\n")
    assert run([*words[:2], "comma.csv", *words[3:]]) == 2
    assert "'33' is not in the schema" in (told := capsys.readouterr().err)
    assert "a raw table is read by the --config that smc prepare wrote" in told


@pytest.mark.parametrize(
    ("text", "separator", "mark"),
    [
        ("a;b\n1;2\n", ",", ";"),
        ("a;b\n1;2,5\n", ",", ";"),
        ("a\tb\n1\t2\n", ";", "\t"),
        ("a,b\n1,2\n", ";", ","),
        ("a;b\n1\n2\n", ",", ""),
        ("a;b\n", ",", ""),
        ("a,b;c\n1,2;3\n", ",", ""),
    ],
)
def test_a_wrong_separator_is_told_from_a_name(tmp_path: Path, text: str, separator: str, mark: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    spelling = FormatSettings.model_validate({"separator": separator})
    if not mark:
        read_header(path, spelling)
        return
    with pytest.raises(InputError) as caught:
        read_header(path, spelling)
    assert f"{mark!r} seems to be the separator" in str(caught.value)


@pytest.mark.usefixtures("raw")
def test_preparing_anew_by_the_peers_schema(capsys: Any) -> None:
    """Whose columns have other capitals, one of them a blank: what is said can be done, and typed."""
    text = Path("clinic/schema.toml").read_text().replace("Alter", "ALTER").replace("Kosten", '"costs in all"')
    Path("theirs.toml").write_text(text)
    words = ["prepare", "rows.csv", "--schema", "theirs.toml", "--out", "clinic"]
    assert run([*words, "--force"]) == 0
    said = "give --column 'costs in all=COLUMN', or set columns.\"costs in all\".column to its column"
    assert said in capsys.readouterr().err
    assert (
        tomllib.loads(Path("clinic/party.toml").read_text())["tables"]["rows"]["columns"]["ALTER"]["column"] == "Alter"
    )
    Path("clinic/party.toml").unlink()
    assert run(words) == 2
    assert "edited by hand; give another --out, or --force to replace it" in capsys.readouterr().err
