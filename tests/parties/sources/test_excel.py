"""Excel workbooks: a sheet has the rows that its cells say, and is chosen by name."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.base import console
from parties.cli import run
from parties.party_file import load
from parties.sources.cells import cells
from parties.sources.opening import open_table
from parties.tables import schema as schemas
from smc.errors import InputError

openpyxl = pytest.importorskip("openpyxl")


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_cells_become_texts(tmp_path: Path) -> None:
    expected: list[tuple[Any, str]] = [
        (datetime(2024, 4, 3), "2024-04-03 00:00:00"),
        (date(1999, 12, 31), "1999-12-31"),
        (datetime(2024, 4, 3, 13, 5, 7), "2024-04-03 13:05:07"),
        (time(8, 30), "08:30:00"),
        (timedelta(hours=30, minutes=5), "30:05:00"),
        (7, "7"),
        (2.50, "2.5"),
        (0.1 + 0.2, "0.3"),
        (-1e-7, "-1e-07"),
        (True, "TRUE"),
        ("  007 ", "007"),
        ("1,5", "1,5"),
        ("#N/A", "#N/A"),
        ('a;"b",\nc', 'a;"b",\nc'),
        ("", "?"),
    ]
    path = workbook(tmp_path / "t.xlsx", s=[["n", "x"], *([i, value] for i, (value, _) in enumerate(expected))])
    assert cells(path).values["x"] == [text for _, text in expected]


def test_a_number_keeps_the_zeros_that_excel_shows(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", s=[["zip", "n"], [1067, 1], [80331, 2]])
    book = openpyxl.load_workbook(path)
    for row in (2, 3):
        book["s"].cell(row, 1).number_format = "00000"
    book.save(path)
    assert cells(path).values["zip"] == ["01067", "80331"]


def test_blank_rows_and_rows_without_a_last_cell(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", s=[[], ["a", "b", "c"], [1, 2, 3], [], [4], ["", "", ""]])
    assert cells(path).values == {"a": ["1", "4"], "b": ["2", "?"], "c": ["3", "?"]}


def test_a_sheet_is_named_or_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [["age", "outcome"], *([20 + i % 60, "yes" if i % 3 else "no"] for i in range(90))]
    path = workbook(tmp_path / "t.xlsx", notes=[["by", "me"]], visits=[["Visits of 2024"], *rows], empty=[])
    prepare = ["prepare", str(path), "--target", "outcome", "--out"]
    assert run([*prepare, str(tmp_path / "a"), "--guess"]) == 2
    assert (
        "several sheets; name one by --table, or `table` in party.toml ('notes', 'visits')" in capsys.readouterr().err
    )
    assert run([*prepare, str(tmp_path / "a"), "--table", "visit"]) == 2
    assert "no sheet 'visit' (did you mean 'visits'?)" in capsys.readouterr().err
    assert run([*prepare, str(tmp_path / "a"), "--table", "visits"]) == 0
    table = load(tmp_path / "a" / "party.toml").tables["visits"]
    assert (table.table, table.format.skip) == ("visits", 1)
    with open_table(table, schemas.load(table.schema_file), "outcome") as source:
        assert source.check() == 90
    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n"))
    assert run([*prepare, str(tmp_path / "b")]) == 0
    assert (tmp_path / "b" / "party.toml").read_text() == (tmp_path / "a" / "party.toml").read_text()


def test_a_sheet_beside_data_is_named_by_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = [["wind", "play"], *(["weak", "yes"] for _ in range(7))]
    path = workbook(tmp_path / "t.xlsx", notes=[["by"], ["me"]], days=days)
    (tmp_path / "s.toml").write_text('target = "play"\n[attributes]\nwind = ["weak"]\nplay = ["yes", "no"]\n')
    own = ["--alone", "--data", str(path), "--schema", str(tmp_path / "s.toml")]
    count = ["release", "count", *own, "--epsilon", "16", "--json"]
    assert run(count) == 2
    assert "several sheets; name one by --table" in capsys.readouterr().err
    assert run([*count, "--table", "days"]) == 0
    assert json.loads(capsys.readouterr().out)["numbers"][0]["value"] == 7  # epsilon 16: no noise, nearly always
    assert run([*count, "--table", "day"]) == 2
    assert "no sheet 'day' (did you mean 'days'?)" in capsys.readouterr().err


def test_a_plan_reads_the_sheet_that_the_party_file_names(tmp_path: Path) -> None:
    rows = [["age", "town"], *([20 + i % 9, "a"] for i in range(60))]
    path = workbook(tmp_path / "t.xlsx", notes=[["by"], ["me"]], visits=rows)
    table = f'source = "{path}"\ntable = "visits"\nschema = "s.toml"\n'
    (tmp_path / "party.toml").write_text(f"[tables.v]\n{table}")
    plan = ["publish", "plan", "--data", str(path), "--config", str(tmp_path / "party.toml"), "--out"]
    assert run([*plan, str(tmp_path / "plan.toml")]) == 0
    made = tomllib.loads((tmp_path / "plan.toml").read_text())
    assert (made["table"], [*made["columns"]]) == ("visits", ["age", "town"])
    (tmp_path / "party.toml").write_text(f"[tables.v]\n{table}[tables.n]\n{table.replace('visits', 'notes')}")
    assert run([*plan, str(tmp_path / "two.toml")]) == 2  # nothing is guessed


def test_a_hidden_sheet_is_not_taken_but_can_be_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", shown=[["a", "b"], [1, 2]], hidden=[["c", "d"], [3, 4]])
    book = openpyxl.load_workbook(path)
    book["hidden"].sheet_state = "hidden"
    book.save(path)
    assert cells(path).values == {"a": ["1"], "b": ["2"]}


def test_what_cannot_be_read_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "t.xlsx", s=[["a", "b"], [1, 2]])
    (tmp_path / "cut.xlsx").write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="is broken or no workbook; save it again in Excel, or the table as CSV"):
        cells(tmp_path / "cut.xlsx")
    with pytest.raises(InputError, match="no visible sheet has rows"):
        cells(workbook(tmp_path / "none.xlsx", s=[]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"t.xlsx: an Excel file: needs more packages .*\[excel\]"):
        cells(path)
