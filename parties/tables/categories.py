"""Tables in memory as categories: data frames, Arrow tables and arrays, with cells spelled as in a schema.

Frames are read through narwhals, as in scikit-learn: one code path for pandas, Polars, Arrow and others, without
conversion between them and without a dependency on any.

A category is text without spaces around it. An empty text, None and NaN mean `?`, a missing value, as in a CSV file. A
number has its shortest spelling, and no fraction if it is whole: 3.0 is `3`, because a gap turns a column of whole
numbers into fractions. Truth values are `True` and `False`; dates are ISO 8601.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from parties.base.text import did_you_mean, instead, listed, quoted
from parties.tables.delimited import MISSING
from smc.errors import InputError

KINDS = (str, int, float, decimal.Decimal, datetime.date, datetime.time, np.bool_, np.integer, np.floating, type(None))
ARRAY_KINDS = "biufOUT"  # numpy's letters for truth values, numbers, objects and text
Frame = nw.DataFrame[Any]


def spell(cell: Any) -> str:
    """Return the category of a cell as text."""
    if cell is None:
        return MISSING
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float):
        if math.isnan(cell):
            return MISSING
        return str(int(cell)) if cell.is_integer() else repr(cell)
    return str(cell).strip() or MISSING


@dataclass(frozen=True, eq=False)
class Column:
    """Cells of a column, all of one type or None; made by `column`."""

    name: str
    cells: Sequence[Any]

    def where(self, row: int) -> str:
        """Return the location of this column's cell in a row, for messages."""
        return f"row {row} (the first is 0), column {quoted(self.name)}"

    def domain(self) -> tuple[str, ...]:
        """Return the categories that occur: numbers by size, texts by letters, a missing value last."""
        spelled = {cell: spell(cell) for cell in set(self.cells)}
        present = sorted(cell for cell, text in spelled.items() if text != MISSING)
        values = tuple(dict.fromkeys(spelled[cell] for cell in present))
        return (*values, MISSING) if len(present) < len(spelled) else values

    def codes(self, values: Sequence[str]) -> NDArray[np.int32]:
        """Return the index of each cell's category in `values`, int32[rows]; -1 for a category that is not there."""
        return np.fromiter(map(_Codes(values).__getitem__, self.cells), np.int32, len(self.cells))

    def schema_codes(self, values: Sequence[str]) -> NDArray[np.int32]:
        """Return the index of every cell in the schema's values.

        Raises:
            InputError: A cell is not in the schema; the message names the first one.
        """
        codes = self.codes(values)
        outside = np.flatnonzero(codes < 0)
        if not outside.size:
            return codes
        text = spell(self.cells[outside[0]])
        where = self.where(int(outside[0]))
        if text == MISSING:
            raise InputError(f"{where}: no value, and the schema does not list '?' (missing) for this attribute")
        hint, allowed = did_you_mean(text, values), listed(values)
        raise InputError(f"{where}: {quoted(text)} is not in the schema{hint}; allowed: {allowed}")


def column(name: str, cells: Sequence[Any]) -> Column:
    """Return a column whose cells can all be categories; cells of several types become text.

    Args:
        name: Name of the column.
        cells: Its cells.

    Raises:
        InputError: A cell cannot be a category: a list, bytes, an object. The message names the first one.
    """
    kinds = set(map(type, cells))
    strange = {kind for kind in kinds if not issubclass(kind, KINDS)}
    if strange:
        row = next(i for i, cell in enumerate(cells) if type(cell) in strange)
        where = Column(name, cells).where(row)
        raise InputError(f"{where}: {type(cells[row]).__name__} is not a category; give text, a number or a date")
    mixed = len(kinds - {type(None)}) > 1  # True equals 1 but is spelled otherwise: only text can be told apart
    return Column(name, list(map(spell, cells)) if mixed else cells)


def frame(table: Any) -> Frame | None:
    """Return the table if it is a data frame of any library, else None.

    Raises:
        InputError: The frame is not in memory.
    """
    native = nw.from_native(table, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        raise InputError("the table is a query that has not run; collect it first, together with the target column")
    return native if isinstance(native, nw.DataFrame) else None


def named_frame(table: Any) -> Frame:
    """Return a data frame of any library.

    Raises:
        InputError: The object is not a data frame, so its columns have no names.
    """
    data = frame(table)
    if data is None:
        raise InputError(f"a {type(table).__name__} is not a data frame with column names; give a frame")
    return data


def select(table: Frame, names: Sequence[str]) -> Frame:
    """Return the named columns of a frame.

    Args:
        table: The frame.
        names: Names of its columns.

    Raises:
        InputError: Columns are missing; the message names them.
    """
    absent = [name for name in names if name not in table.columns]
    if absent:
        hint = instead(absent[0], map(str, table.columns))
        raise InputError(f"the table lacks the column{'s' if len(absent) > 1 else ''} {listed(absent)}{hint}")
    return table.select(names)


def frame_columns(table: Frame, names: Sequence[str], wanted: Container[str]) -> list[Column]:
    """Return the required columns of a frame.

    Args:
        table: The frame.
        names: Names of all its columns, in order.
        wanted: Names of the required columns.
    """
    series = zip(names, table.iter_columns(), strict=True)
    return [column(name, _cells(cells)) for name, cells in series if name in wanted]


def array_columns(table: NDArray[Any], names: Sequence[str], wanted: Container[str]) -> list[Column]:
    """Return the required columns of an array.

    Args:
        table: Array [rows, columns].
        names: Names of all its columns, in order.
        wanted: Names of the required columns.

    Raises:
        InputError: The array does not hold categories.
    """
    if table.dtype.kind not in ARRAY_KINDS:
        raise InputError(f"an array of {table.dtype} holds no categories: make it one of text, numbers or objects")
    return [column(name, cells.tolist()) for name, cells in zip(names, table.T, strict=True) if name in wanted]


def typed(values: Sequence[str], like: NDArray[Any]) -> NDArray[Any]:
    """Return class names in the type of an array of classes; as text (objects) if a name has no value of that type.

    Args:
        values: Names of the classes.
        like: Array of classes that has the type.
    """
    kind = like.dtype if like.dtype != object else np.array(like.tolist()).dtype
    text = np.array(values, dtype=object)
    if not len(like) or kind.kind not in "biuf":
        return text
    try:
        classes = text == "True" if kind.kind == "b" else text.astype(kind)
    except (ValueError, OverflowError):
        return text
    return classes if list(map(spell, classes.tolist())) == list(values) else text


def _cells(series: Any) -> list[Any]:
    """Return the cells of a frame's column, with None for each value that its library counts as missing."""
    cells: list[Any] = series.to_list()
    if series.null_count():
        for row in np.flatnonzero(series.is_null().to_numpy()):
            cells[row] = None
    return cells


class _Codes(dict[Any, int]):
    """Cache from cell to index: each distinct cell is spelled once."""

    def __init__(self, values: Sequence[str]) -> None:
        self._index = {value: i for i, value in enumerate(values)}

    def __missing__(self, cell: Any) -> int:
        code = self._index.get(spell(cell), -1)
        if cell == cell:  # a NaN would never be found again
            self[cell] = code
        return code
