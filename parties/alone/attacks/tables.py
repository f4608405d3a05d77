"""Published tables of counts, read from files written by `smc publish table`, or with one count a line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from parties.alone.attacks.reconstruction import Count
from parties.alone.publish.hiding.table_text import HIDDEN
from parties.alone.publish.hiding.tabulation import TOTAL
from parties.base.text import quoted
from parties.sources.cells import cells
from parties.tables.delimited import Columns
from smc.errors import InputError


def counts_of(names: list[str], path: Path) -> list[Count]:
    """Return the counts of a table by these columns. Hidden counts have no number, totals have fewer columns.

    With one or two columns, a line of the file has the counts of a value of the first column, by the values of the
    second. If the header has the column names and one more name, each line is one count.

    Args:
        names: columns of the table
        path: the file

    Raises:
        InputError: the file has another form, or a cell is neither a number of rows nor hidden
    """
    table = cells(path)
    header = [*table.values]
    lines = _listed(table, names) if header[:-1] == names and len(names) != 1 else _crossed(table, names)
    counts = []
    for values, text, place in lines:
        named_values = tuple((name, value) for name, value in zip(names, values, strict=True) if value != TOTAL)
        counts.append(Count(named_values, None if text == HIDDEN else _number(text, place)))
    return counts


def _listed(table: Columns, names: list[str]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    *_, last = table.values
    values_of = zip(*(table.values[name] for name in names), strict=True)
    for row, (values, text) in enumerate(zip(values_of, table.values[last], strict=True)):
        yield values, text, table.where(row, last)


def _crossed(table: Columns, names: list[str]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    first, *others = table.values
    if first != names[0] or len(names) > 2 or (len(names) == 1 and len(others) != 1):
        raise InputError(
            f"{table.path}: not a table of {' and '.join(names)}: its first column is {quoted(first)}; with more "
            "than two columns, write one count on each line, behind the values of all columns"
        )
    for row, other in itertools.product(range(len(table.lines)), others):
        yield (table.values[first][row], other)[: len(names)], table.values[other][row], table.where(row, other)


def _number(text: str, place: str) -> int:
    if not text.lstrip("-").isdecimal():
        raise InputError(
            f"{place}: {quoted(text)} is not a number of rows; {quoted(HIDDEN)} stands for a hidden one; "
            "correct the cell"
        )
    return int(text)
