"""`smc release alone`: each way on a file, and what is wrong in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties.cli import run

BOUNDS = "--low 0 --high 30 "


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    grades = [18] * 400 + [17] * 50 + [40] * 51
    (tmp_path / "mine.csv").write_text("grade,name\n" + "".join(f"{grade},x\n" for grade in grades))
    (tmp_path / "ours.py").write_text("def third(rows):\n    return sorted(rows)[len(rows) // 3]\n")
    (tmp_path / "schema.toml").write_text('[attributes]\nname = ["y", "z"]\n')
    return tmp_path


def alone(line: str) -> int:
    column = "" if "--column" in line else "--column grade"
    return run(["release", "alone", "--data", "mine.csv", *column.split(), *line.split()])


WAYS = [
    ("choice", "--epsilon 16"),
    ("global", "--epsilon 16"),
    ("propose", "--epsilon 16 --delta 1e-6 --bound 3"),
    ("bound", "--epsilon 16 --delta 1e-6"),
    ("smooth", "--epsilon 16 --delta 1e-6"),
    ("smooth", "--epsilon 16 --delta 1e-6 --blocks 51 --function mean"),
    ("smooth", "--epsilon 16 --delta 1e-6 --blocks 21 --function ours:third"),
    ("choice", "--epsilon 16 --blocks 51 --function mean"),
    ("propose", "--epsilon 16 --delta 1e-6 --bound 3 --blocks 51 --function ours:third"),
]


@pytest.mark.parametrize(("way", "more"), WAYS)
@pytest.mark.usefixtures("place")
def test_each_way(way: str, more: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At this epsilon an answer is off by 31 or more with a probability below e^-7, and then it is a bound."""
    assert alone(f"{BOUNDS}{more} --way {way} --json --out found.json") == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found == json.loads(Path("found.json").read_text())
    assert (found["way"], found["epsilon"], found["adjacency"], found["rows"]) == (way, 16, "replace", 501)
    assert found["delta"] == (0 if way in ("choice", "global") else 1e-6)
    assert 0 <= found["value"] <= 30
    assert ("low" in found) == (way in ("global", "propose", "bound"))  # the scale of the others is a secret
    if way in ("choice", "smooth", "propose"):
        assert abs(found["value"] - 18) <= 12
    assert "what it spends is yours to add up" in told.err


@pytest.mark.usefixtures("place")
def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert alone(f"{BOUNDS} --epsilon 16") == 0
    assert capsys.readouterr().out == "median of grade   18\nway choice, epsilon 16 (replace), 501 rows\n"


def test_a_function_of_several_columns_by_the_schema(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The grade of those named z, in blocks of ten rows: 25 at every block with one, and some noise."""
    (place / "mine.csv").write_text("grade,name\n" + "7,y\n25,z\n" * 250)
    (place / "named.py").write_text("def of_z(rows):\n    return rows[rows[:, 1] == 1, 0].max(initial=0)\n")
    flags = "--column grade --column name --schema schema.toml --blocks 50 --function named:of_z"
    for way in ("choice", "propose --delta 1e-6 --bound 2", "smooth --delta 1e-6"):
        assert alone(f"{BOUNDS} --epsilon 16 {flags} --way {way} --json") == 0
        assert abs(json.loads(capsys.readouterr().out)["value"] - 25) <= 2


def test_a_test_that_fails_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "mine.csv").write_text("grade\n" + "0\n" * 25 + "30\n" * 26)
    assert alone(f"{BOUNDS} --epsilon 1 --delta 1e-9 --way propose --bound 2") == 0
    told = capsys.readouterr().out
    assert told.startswith("no answer: that one row could move the median by over 2 was not ruled out\n")
    assert "delta 1e-09 (replace), 51 rows" in told


WRONG = [
    ("--epsilon 1", "low and high: are missing; take the bounds from general knowledge"),
    ("--epsilon 1 --low 0", "low and high: are missing; take the bounds"),
    ("--epsilon 1 --low 3 --high 3", "low and high: the bounds are 3 and 3"),
    (f"{BOUNDS} --epsilon 0", "'--epsilon': 0.0 is not in the range 2^-20<=x<=16"),
    (f"{BOUNDS} --epsilon nan", "--epsilon: must be a number, not nan"),
    (f"{BOUNDS} --epsilon 1 --way smooth", "delta: is missing; --way smooth needs it"),
    (f"{BOUNDS} --epsilon 1 --delta 1e-6", "delta: --way choice does not use it"),
    (f"{BOUNDS} --epsilon 1 --way smooth --delta 0.002", "choose far less than 1 / 501"),
    (f"{BOUNDS} --epsilon 1 --way smooth --delta nan", "--delta: must be a number, not nan"),
    (f"{BOUNDS} --epsilon 1 --way smooth --delta inf", "'--delta': inf is not in the range 0<x<1"),
    (f"{BOUNDS} --epsilon 1 --way propose --delta 1e-6", "bound: is missing"),
    (f"{BOUNDS} --epsilon 1 --way propose --delta 1e-6 --bound -1", "bound: is -1, must be from 1 to 29"),
    (f"{BOUNDS} --epsilon 1 --way propose --delta 1e-6 --bound 30", "bound: is 30, must be from 1 to 29"),
    (f"{BOUNDS} --epsilon 1 --blocks 502 --function mean", "502 blocks of 501 rows"),
    (
        f"{BOUNDS} --epsilon 1 --blocks 5 --function men",
        "function: 'men' is unknown; give one of",
    ),
    (f"{BOUNDS} --epsilon 1 --blocks 5 --function ours:no", "ours has no function 'no'"),
    (f"{BOUNDS} --epsilon 1 --function mean", "function: is computed on blocks; give --function with --blocks"),
    (f"{BOUNDS} --epsilon 1 --blocks 3", "function: is computed on blocks; give --function with --blocks"),
    (f"{BOUNDS} --epsilon 1 --column grade --column name", "column: a median is of one column; give --function"),
    (
        f"{BOUNDS} --epsilon 1 --column name --schema schema.toml",
        "line 2, column 'name': 'x' is no value of the schema",
    ),
    (f"{BOUNDS} --epsilon 1 --column name", "line 2, column 'name': 'x' is not a whole number"),
    (f"{BOUNDS} --epsilon 1 --column grad", "lacks the column 'grad' (did you mean 'grade'?)"),
    (f"{BOUNDS} --epsilon 1 --out mine.csv", "mine.csv"),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
@pytest.mark.usefixtures("place")
def test_what_is_wrong_is_a_line(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert alone(line) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("smc: ")
    assert told.err.count("\n") == 1
    assert message in told.err
