"""Files as text, column by column; CSV files.

The file has a header row and is UTF-8. Space around a field is dropped; an empty field means the same as `?`,
a missing value, which is allowed where the schema lists `?`. Columns come in any order. The messages name
the file, the line and the column; they quote private values, so they are for this party's operator only.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from parties.base import files
from parties.base.text import instead, listed, quoted
from smc.errors import InputError

MISSING = "?"
_BLOCK = 1 << 14  # rows turned into columns at a time: few enough that the row objects stay in the cache


@dataclass(frozen=True, eq=False)
class Columns:
    """A file as text: each named column's cells, and the line of the file on which each row starts.

    Where rows stand on no lines, `lines` are their numbers from 1, and `unit` says so. `unfit` names the columns whose
    type holds no categories, and why.
    """

    path: Path
    values: dict[str, list[str]]
    lines: Sequence[int]
    unnamed: int = 0  # columns without a name, which are left out
    unit: str = "line"
    unfit: Mapping[str, str] = field(default_factory=dict)

    def where(self, row: int, column: str) -> str:
        """Return the place of a cell, for messages."""
        return f"{self.path}, {self.unit} {self.lines[row]}, column {quoted(column)}"

    def require(self, names: Sequence[str]) -> None:
        """Raise `InputError` unless every named column is there."""
        absent = [name for name in names if name not in self.values]
        if not absent:
            return
        if problem := self.unfit.get(absent[0]):
            raise InputError(f"{self.path}, column {quoted(absent[0])}: {problem}")
        hint = instead(absent[0], self.values)
        if mark := separating([*self.values]):
            hint = f"; {in_words(mark)}"
        plural = "s" if len(absent) > 1 else ""
        raise InputError(f"{self.path}: the header lacks the column{plural} {listed(absent)}{hint}")


Read: TypeAlias = Callable[[Path, int | None], Columns]  # how a file is read, and its rows bounded


def columns(path: Path, max_rows: int | None = None) -> Columns:
    """Read a CSV file as text, column by column. Columns without a name are dropped.

    `InputError` for anything that is not a rectangular UTF-8 CSV file with at most `max_rows` rows.
    """
    reader = csv.reader(_text(path), strict=True)
    names: list[str] = []
    clean = _Cleaner()
    cells: list[list[str]] = []
    lines = array("q")
    block: list[list[str]] = []

    def flush() -> None:
        for column, fields in zip(cells, zip(*block, strict=True), strict=False):
            column.extend(map(clean.__getitem__, fields))
        block.clear()

    following = 1  # the line on which the next record starts
    try:
        for record in reader:
            line, following = following, reader.line_num + 1
            if not record:
                continue
            if not names:
                names = column_names(path, record)
                cells = [[] for _ in names]
                continue
            if len(record) != len(names):
                if len(names) > 1 and len(record) == 1 and not record[0].strip():
                    continue  # a line of nothing but space
                if mark := separating(names):
                    raise InputError(f"{path}: the header is one column; {in_words(mark)}")
                raise InputError(f"{path}, line {line}: {len(record)} fields, but the header has {len(names)}")
            if len(lines) == max_rows:
                raise InputError(f"{path}, line {line}: more than {max_rows} rows, the agreed bound (max_rows)")
            block.append(record)
            lines.append(line)
            if len(block) == _BLOCK:
                flush()
    except csv.Error as error:
        raise InputError(f"{path}, line {following}: not valid CSV: {error}") from None
    if not names:
        names = column_names(path, [])  # which is refused there
    flush()
    named = {name: column for name, column in zip(names, cells, strict=True) if name}
    return Columns(path, named, lines, len(names) - len(named))


def separating(names: Sequence[str], separator: str = ",") -> str:
    """Return the mark that seems to separate cells where a header is one column, empty if none does."""
    return next((mark for mark in ";\t|," if mark != separator and mark in names[0]), "") if len(names) == 1 else ""


def in_words(mark: str) -> str:
    """Return what to do about cells that are separated by this mark."""
    return (
        f"{quoted(mark)} seems to be the separator: smc prepare finds out how a file is spelled, and what it writes is "
        "read by a command's --config, if it has one, as `separator` in a table's format; else write commas"
    )


def column_names(path: Path, header: Sequence[str]) -> list[str]:
    """Return the names in a header; "" of a column without one. `InputError` if there is none, or one stands twice."""
    names = [field.strip() for field in header]
    if not any(names):
        raise InputError(f"{path}: the file is empty; the first line must name the columns")
    repeated = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if repeated is not None:
        raise InputError(f"{path}: the column {quoted(repeated)} stands twice in the header")
    return names


class _Cleaner(dict[str, str]):
    """Raw field to cell: remembers each spelling, so equal cells share one string and are cleaned once."""

    def __missing__(self, raw: str) -> str:
        cell = raw.strip() or MISSING
        self[raw] = cell = self.setdefault(cell, cell)
        return cell


def _text(path: Path) -> io.TextIOWrapper:
    """Return the text of a CSV file, which is UTF-8 to its end."""
    files.require_regular(path)
    data = files.read_bytes(path)
    files.refuse_other(path, data)
    files.decode(path, data)  # refuse bad text here, where its line is known
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
