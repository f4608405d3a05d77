"""Tables of counts or sums with totals, from one GROUP BY over the rows.

A grid has a row for each value of one column and, if there is a second column, a column for each of its values. Totals
come last. With the signs of `signs`, every row and column of a grid adds up to 0, and so does every change that keeps
the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from parties.base.text import quoted
from protocols.arrays import Counts
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.opened import RowQuery

TOTAL = "Total"
MOST_CELLS = 2_500  # a minute of linear programmes
MOST_DIGITS = 9  # after the point
LARGEST = 1 << 53  # sums beyond are not exact as doubles


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A table with totals; arrays int64[rows + 1, columns + 1] or, without a second column, int64[rows + 1, 1].

    Attributes:
        row_names: values of the first column, and the total
        column_names: values of the second column, and the total; or the total alone
        counts: rows of each cell
        values: published numbers, counts or sums, in units of 10^-digits
        largest: the n largest contributions of single rows to each cell, int64[n, ...]; 0 where there are fewer
        digits: digits after the point of values
    """

    row_names: list[str]
    column_names: list[str]
    counts: Counts
    values: Counts
    largest: Counts
    digits: int = 0


def signs(shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return the sign of each cell, int64[shape]: -1 for totals of one row or column, 1 for all others."""
    sign = np.ones(shape, dtype=np.int64)
    sign[-1] *= -1
    if shape[1] > 1:
        sign[:, -1] *= -1
    return sign


def with_totals(inner: Counts) -> Counts:
    """Return a grid with totals: of both columns for int64[rows, columns], one total for int64[rows, 1]."""
    grid = np.concatenate([inner, inner.sum(axis=0, keepdims=True)])
    return grid if inner.shape[1] == 1 else np.concatenate([grid, grid.sum(axis=1, keepdims=True)], axis=1)


def tabulate(rows: RowQuery, by: str, across: str | None, summed: str | None = None, largest: int = 2) -> Tabulated:
    """Return the table of `by` and `across`: numbers of rows, or sums of a non-negative column.

    Args:
        rows: the source
        by: the column whose values are the table's rows
        across: the column whose values are the table's columns; None: one column only
        summed: the column to be summed; None: rows are counted
        largest: number of largest contributions to find for each cell

    Raises:
        InputError: there are no rows, a column is missing or repeated, a value is not a non-negative number, or the
            table is too large
    """
    from parties.alone.publish.reading import in_order, texts  # needs a database engine; joint tables do not

    names = [by] + ([across] if across is not None else [])
    if len(set(names)) < len(names) or summed in names:
        raise InputError("a column can be used only once: in --by, --across or --sum; name another one")
    table = texts(rows, names + ([summed] if summed is not None else []))
    if not len(table.counts):
        raise InputError(f"{rows.engine.place}: there are no rows; give a table with rows")
    axes, codes = [], []
    for name, values, places in zip(names, table.values, table.codes, strict=False):
        axis = in_order(values)
        if TOTAL in axis:
            raise InputError(
                f"{rows.engine.place}, column {quoted(name)}: {quoted(TOTAL)} is a value of the column "
                f"and the name of the totals; rename the value"
            )
        order = {value: i for i, value in enumerate(axis)}
        axes.append(axis)
        codes.append(np.array([order[value] for value in values], dtype=np.int64)[places])
    if across is None:
        codes.append(np.zeros(len(table.counts), dtype=np.int64))
    shape = (len(axes[0]), len(axes[1]) if across is not None else 1)
    if (shape[0] + 1) * (shape[1] + 1) > MOST_CELLS:
        raise InputError(
            f"a table of {shape[0]} x {shape[1]} cells is too large: at most {MOST_CELLS} are allowed, "
            "totals included; choose columns with fewer values"
        )
    if across is not None and shape[1] == 1:
        raise InputError(f"{rows.engine.place}, column {quoted(across)}: has only one value; leave this column out")
    counts = with_totals(_summed(codes, table.counts, shape))
    titles = [*axes[0], TOTAL], [*axes[1], TOTAL] if across is not None else [TOTAL]
    if summed is None:
        ones = np.minimum(counts, np.arange(1, largest + 1)[:, None, None]) // np.arange(1, largest + 1)[:, None, None]
        return Tabulated(*titles, counts, counts, ones)
    numbers, digits = _numbers(table.values[-1], f"{rows.engine.place}, column {quoted(summed)}")
    each = numbers[table.codes[-1]]
    if float(each.astype(float) @ table.counts) >= LARGEST:
        raise InputError(
            f"{rows.engine.place}, column {quoted(summed)}: the numbers are too large, or have too many decimals, "
            "to add; round them"
        )
    sums = with_totals(_summed(codes, table.counts * each, shape))
    return Tabulated(*titles, counts, sums, _largest(codes, each, table.counts, counts.shape, largest), digits)


def _summed(codes: list[Counts], amounts: Counts, shape: tuple[int, int]) -> Counts:
    grid = np.zeros(shape, dtype=np.int64)
    np.add.at(grid, (codes[0], codes[1]), amounts)
    return grid


def _numbers(values: list[str], place: str) -> tuple[Counts, int]:
    """Return the decimal numbers as int64 in units of 10^-digits, and the digits. `place` begins error messages."""
    parsed = []
    for text in values:
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise InputError(f"{place}: {quoted(text)} is not a number; correct the cell")
        if number < 0:
            raise InputError(
                f"{place}: {quoted(text)} is negative; the rules need numbers of 0 or more; leave out "
                f"--dominance and --p-percent, or correct the number"
            )
        if number >= LARGEST:
            raise InputError(f"{place}: {quoted(text)} is too large to add; give the column a larger unit")
        parsed.append(number.normalize())
    digits = max((-int(number.as_tuple().exponent) for number in parsed), default=0)
    digits = max(digits, 0)
    if digits > MOST_DIGITS or any(number.scaleb(digits) >= LARGEST for number in parsed):
        raise InputError(f"{place}: the numbers are too large, or have too many decimals, to add; round them")
    return np.array([int(number.scaleb(digits)) for number in parsed], dtype=np.int64), digits


def _largest(codes: list[Counts], each: Counts, times: Counts, shape: tuple[int, ...], number: int) -> Counts:
    """Return the largest contributions to each cell and total, int64[number, shape].

    `codes` has the row and column of each contribution, `each` its amount and `times` how often it occurs.
    """
    result = np.zeros((number, shape[0], shape[1]), dtype=np.int64)
    times = np.minimum(times, number)
    row, column = np.repeat(codes[0], times), np.repeat(codes[1], times)
    amounts = np.repeat(each, times)
    columns = [column] if shape[1] == 1 else [column, np.full_like(column, shape[1] - 1)]
    for r in (row, np.full_like(row, shape[0] - 1)):
        for c in columns:
            cell = r * shape[1] + c
            order = np.lexsort((-amounts, cell))
            ranked = cell[order]
            rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
            among_largest = rank < number
            result.reshape(number, -1)[rank[among_largest], ranked[among_largest]] = amounts[order][among_largest]
    return result
