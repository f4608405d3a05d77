"""A table as text, column by column, and the rules for a header of names.

An empty cell means `?`, a missing value, which is allowed if the schema lists `?`. The messages name the file, the line
and the column. They quote private values, so they are for this party's operator only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parties.base.text import instead, listed, quoted
from smc.errors import InputError

MISSING = "?"
_BREAKS = re.compile(r"(?: *[\n\v\f\r\x85\u2028\u2029] *)+")  # within a name that a program has wrapped


@dataclass(frozen=True, eq=False)
class Columns:
    """A file as text: the cells of each named column, and the line on which each row starts.

    If rows have no lines, `lines` are their numbers from 1, and `unit` names this unit. `unfit` has the columns whose
    type holds no categories, each with the reason.
    """

    path: Path
    values: Mapping[str, Sequence[str]]
    lines: Sequence[int]
    unnamed: int = 0  # columns without a name, which are left out
    unit: str = "line"
    unfit: Mapping[str, str] = field(default_factory=dict)

    def where(self, row: int, column: str) -> str:
        """Return the location of a cell, for messages.

        Args:
            row: Index of the row.
            column: Name of the column.
        """
        return f"{self.path}, {self.unit} {self.lines[row]}, column {quoted(column)}"

    def require(self, names: Sequence[str]) -> None:
        """Raise InputError unless the table has every named column."""
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
    """Return the likely separator of cells in a header that was read as one column; empty if there is none.

    Args:
        names: Names in the header.
        separator: Separator by which it was read.
    """
    return next((mark for mark in ";\t|," if mark != separator and mark in names[0]), "") if len(names) == 1 else ""


def in_words(mark: str) -> str:
    """Return the remedy for an error message about cells that this mark separates."""
    return (
        f"{quoted(mark)} seems to be the separator: smc prepare finds out how a file is spelled, and what it writes is "
        "read by a command's --config, if it has one, as `separator` in a table's format; else write commas"
    )


def column_names(path: Path, header: Sequence[str]) -> list[str]:
    """Return the names in a header without line breaks; "" for a column without a name.

    Args:
        path: The file, for messages.
        header: Cells of the header.

    Raises:
        InputError: There is no name, or a name occurs twice.
    """
    names = [_BREAKS.sub(" ", field.strip()) for field in header]
    if not any(names):
        raise InputError(f"{path}: the file is empty; the first line must name the columns")
    repeated = [name for name, times in Counter(names).items() if name and times > 1]
    if repeated:
        raise InputError(f"{path}: the column {quoted(repeated[0])} occurs twice in the header; rename one")
    return names
