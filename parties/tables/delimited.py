"""A table as text, column by column, and what a header of names must be.

An empty cell means the same as `?`, a missing value, which is allowed where the schema lists `?`. The messages name the
file, the line and the column; they quote private values, so they are for this party's operator only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parties.base.text import instead, listed, quoted
from smc.errors import InputError

MISSING = "?"


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
        raise InputError(f"{path}: the column {quoted(repeated)} occurs twice in the header; rename one")
    return names
