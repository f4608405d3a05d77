"""A wide table is looked at in pieces: the outcome is that of one piece, and the work grows with the columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot.expressions import Column, Expr, Expression

from parties.alone.preparing import checking, profile, proposing
from parties.sources import opening, queried
from parties.sources.databases import Scratch
from parties.sources.settings import PlaceSettings


def _place(tmp_path: Path, width: int) -> PlaceSettings:
    cells = [
        [f"{i * row % 7}.5", f"{'abc'[(i + row) % 3]}", f"2024-01-{1 + row % 28:02}"][i % 3]
        for row in range(40)
        for i in range(width)
    ]
    rows = [",".join(cells[start : start + width]) for start in range(0, len(cells), width)]
    path = tmp_path / f"{width}.csv"
    path.write_text("\n".join([",".join(f"v{i}" for i in range(width)), *rows]) + "\n")
    return PlaceSettings(source=str(path))


def test_a_table_in_pieces_is_proposed_as_a_whole_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = _place(tmp_path, 20)
    whole = profile.profile(place, "v19")
    monkeypatch.setattr(profile, "PIECE", 8)
    pieces = profile.profile(place, "v19")
    assert pieces == whole
    proposal = proposing.propose(pieces, "v19")
    monkeypatch.setattr(queried, "VAST", 4)
    assert checking.checked(pieces, proposal, None) == proposal


def _counted(counter: list[int], folder: Path) -> list[int]:
    """What a counter has after the check of a table of 24 columns, and of one of 48."""
    numbers = []
    for width in (24, 48):
        table = profile.profile(_place(folder, width), None)
        proposal = proposing.propose(table, None)
        counter[0] = 0
        checking.checked(table, proposal, None)
        numbers.append(counter[0])
    return numbers


def test_copies_of_sql_grow_no_faster_than_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queried, "VAST", 4)
    copied, copy = [0], Expression.__deepcopy__

    def counted(self: Expression, memo: object) -> Expression:
        copied[0] += 1
        return copy(self, memo)

    monkeypatch.setattr(Expression, "__deepcopy__", counted)
    numbers = _counted(copied, tmp_path)
    assert numbers[1] < 2 * numbers[0] + 48


def test_the_check_writes_the_names_of_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queried, "VAST", 4)
    monkeypatch.setattr(opening, "SMALL", 0)  # so that DuckDB reads the small file
    written, write = [0], Scratch.sql

    def counted(self: Scratch, query: Expr) -> str:
        written[0] += len([*query.find_all(Column)])
        return write(self, query)

    monkeypatch.setattr(Scratch, "sql", counted)
    numbers = _counted(written, tmp_path)
    assert 24 <= numbers[1] - numbers[0] <= 3 * (48 - 24)  # in the file, its rows and the answer
