"""A published table as CSV, with hidden cells as `x`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from parties.base.text import csv_text

HIDDEN = "x"


def spelled(units: int, digits: int) -> str:
    """Return a fixed-point number as text, with all its decimals.

    Args:
        units: The number in units of 10^-digits.
        digits: Number of digits after the point.
    """
    whole, rest = divmod(units, 10**digits)
    return f"{whole}.{rest:0{digits}}" if digits else str(whole)


def covered(values: Any, mask: Any, digits: int, factor: int = 1) -> list[list[str]]:
    """Return the cells of a table as texts, hidden ones as `x`.

    Args:
        values: int64[rows, columns], in units of `factor` times 10^-`digits`
        mask: hidden cells, bool[rows, columns]
        digits: digits after the point
        factor: factor of the units
    """
    return [
        [HIDDEN if is_hidden else spelled(int(x) * factor, digits) for x, is_hidden in zip(line, over, strict=True)]
        for line, over in zip(values, mask, strict=True)
    ]


def percentages(texts: Sequence[Sequence[str]], of: str) -> list[list[str]]:
    """Return published cells in percent of a published total, the last cell of their line; `x` if either is hidden.

    Nothing but the published cells is used, so the percentages disclose no more. A share of a total of 0 is `-`.

    Args:
        texts: cells with totals last, by row
        of: `rows`, `columns` or `all`: the total that is 100
    """

    def share(text: str, row: int, column: int) -> str:
        total = texts[row if of == "rows" else -1][column if of == "columns" else -1]
        if HIDDEN in (text, total):
            return HIDDEN
        return f"{float(100 * Fraction(text) / Fraction(total)):.1f}" if Fraction(total) else "-"

    return [[share(text, row, column) for column, text in enumerate(line)] for row, line in enumerate(texts)]


def as_csv(
    by: str, columns: Sequence[str], rows: Sequence[str], texts: Sequence[Sequence[str]], escape_formulas: bool = False
) -> str:
    """Return the table with its titles as CSV.

    Args:
        by: title of the first column
        columns: titles of the other columns
        rows: titles of the rows
        texts: cells, by row
        escape_formulas: escape titles that a spreadsheet would compute
    """
    if escape_formulas:
        from parties.alone.publish.writing import escaped_text

        by, columns, rows = escaped_text([by])[0], escaped_text(columns), escaped_text(rows)
    return csv_text([[by, *columns], *([name, *line] for name, line in zip(rows, texts, strict=True))])
