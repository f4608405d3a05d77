"""Distinct cells of a table: a database groups equal rows; rows of files are grouped here, as codes of a byte each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sqlglot.expressions as exp

from parties.alone.publish.cells import Cells, grouped
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.rules import Rule, hierarchy, number
from parties.base.settings import at_key
from parties.base.text import instead, quoted
from parties.sources import PlaceSettings, open_rows
from parties.sources.column_formats import formats_of
from parties.sources.derived import EPOCH
from parties.sources.expressions import Cell, days_in, signed_text, unmarked
from parties.sources.mapping import PLAIN, ColumnRule, number_pattern
from parties.sources.opened import RowQuery
from parties.sources.settings import FormatSettings, SourceSettings
from parties.tables.delimited import MISSING
from parties.tables.texts import Gathered, encode
from protocols.arrays import Counts
from smc.errors import InputError

SPACED = r"^ | $|[^ -~]"  # text that may have surrounding space
PENDING = 1 << 20  # rows beyond the number of distinct rows that are held until they are grouped


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct rows of text: `codes[i]` int[rows] are indices into `values[i]`; `counts` int64[rows]."""

    values: list[list[str]]
    codes: list[ValueCodes]
    counts: Counts


def texts(rows: RowQuery, names: Sequence[str]) -> Texts:
    """Return the distinct rows of some columns.

    Args:
        rows: the table
        names: the columns

    Raises:
        InputError: there are no rows, or a column does not exist or has no categories
    """
    selected = [cell_of(rows, name).as_(f"c{i}") for i, name in enumerate(names)]
    source: exp.Query = rows.query
    total: exp.Expr = exp.Literal.number(1)
    if not rows.engine.lists:  # equal cells are grouped before the expensive normalisation of their texts
        cells = [exp.column(name, quoted=True) for name in dict.fromkeys(names)]
        total = exp.column("n" + "_" * max(map(len, names)))  # differs from every column's name
        counted = exp.Select().select(*cells, exp.Count(this=exp.Star()).as_(total.name))
        source = counted.from_(rows.query.subquery("t")).group_by(*cells)
    query = exp.Select().select(*selected, exp.cast(total, "BIGINT").as_("n")).from_(source.subquery("d"))
    columns, counts = [Gathered(spelled) for _ in names], [np.zeros(0, np.int64)]
    for batch in rows.engine.batches(query):
        for i, column in enumerate(columns):
            column.add(*encode(batch.column(i)))
        counts.append(batch.column("n").combine_chunks().to_numpy(zero_copy_only=False))
        if sum(map(len, counts[1:])) > len(counts[0]) + PENDING:
            counts = [_merged(columns, counts)]
    for column in columns:
        column.sort(in_order)  # so the distinct rows come in order
    totals = _merged(columns, counts)
    if not len(totals):
        raise InputError(f"{rows.engine.place}: there are no rows; give a table with rows")
    gathered = [column.column() for column in columns]
    return Texts([list(c.texts) for c in gathered], [c.codes for c in gathered], totals)


def _merged(columns: Sequence[Gathered], counts: Sequence[Counts]) -> Counts:
    """Reduce the columns to their distinct rows, and return the count of each."""
    gathered = [column.column() for column in columns]
    order, starts = grouped([c.codes for c in gathered], [len(c.texts) for c in gathered])
    for column, c in zip(columns, gathered, strict=True):
        column.pieces = [c.codes[order[starts]]]
    totals: Counts = np.add.reduceat(np.concatenate(counts)[order], starts) if len(starts) else counts[0]
    return totals


def cell_of(rows: RowQuery, name: str) -> exp.Expr:
    """Return the SQL expression of a column for grouping: texts and integers unchanged, all other types as text.

    `spelled` turns the distinct texts and integers into text after the query, which is faster than for every row.

    Args:
        rows: The table.
        name: Name of the column.
    """
    require(rows, [name])
    dtype = rows.types[name]
    return exp.column(name, quoted=True) if dtype.is_string() or dtype.is_integer() else text_of(rows, name)


def spelled(value: str | int | None) -> str:
    """Return the text of a cell, `?` for a missing one."""
    return ("" if value is None else str(value).strip()) or MISSING


def rows_of(place: PlaceSettings) -> RowQuery:
    """Open a source, with numbers normalised to a decimal point, days to ISO 8601, and missing values to NULL.

    Raise InputError as `open_rows` does, or if the type of a column does not fit its format.
    """
    return _normalised(place, place.spelling)


def unchanged_rows_of(place: PlaceSettings) -> RowQuery:
    """Open a source as `rows_of` does, but leave columns without a format of their own unchanged."""
    return _normalised(place, PLAIN)


def _normalised(place: PlaceSettings, others: FormatSettings) -> RowQuery:
    """Return the rows of a place with normalised cells.

    Args:
        place: The place.
        others: The spelling of columns without a format of their own.
    """
    formats = formats_of(place)
    is_plain = others.model_copy(update={"dates": PLAIN.dates, "last_year": PLAIN.last_year}) == PLAIN
    rows = open_rows(place)
    if is_plain and not formats:
        return rows
    try:
        cells = []
        for name, dtype in rows.types.items():
            cell: exp.Expr = exp.column(name, quoted=True)
            if name in formats:
                cell = _formatted(rows, name, formats[name], place.spelling)
            elif dtype.is_string() and not is_plain:
                cell = _plain(cell, others)
            cells.append(cell.as_(name, quoted=True))
        return replace(rows, query=exp.Select().select(*cells).from_(rows.query.subquery("t")))
    except BaseException:
        rows.engine.close()
        raise


def _formatted(rows: RowQuery, name: str, own: SourceSettings, table: FormatSettings) -> exp.Expr:
    """Return the expression of a column normalised by its `own` format; what that leaves out is as in the `table`'s."""
    text, dtype, spelling = cell_text(rows, name), rows.types[name], own.spelling(table)
    value: exp.Expr = exp.column(name, quoted=True)
    if own.dates is not None and not (dtype.is_date() or dtype.is_timestamp()):
        if not (dtype.is_string() and rows.engine.lists):
            raise InputError(
                f"{rows.engine.place}, column {quoted(name)}: format.dates reads texts of files, and the column is of "
                f"type {dtype}; turn it into dates in a view"
            )
        days = days_in(text, spelling.dates, spelling.last_year)
        day = exp.cast(exp.Add(this=EPOCH.copy(), expression=exp.cast(days, "INT")), "DATE")
        value = exp.Coalesce(this=exp.cast(day, "TEXT"), expressions=[value])
    elif dtype.is_string():
        value = _plain(value, spelling)
    missing = [exp.Literal.string(word) for word in (*table.missing, *own.missing) if word]
    absent = exp.In(this=text.copy(), expressions=missing)
    return exp.case().when(absent, exp.Null()).else_(value) if missing else value


def _plain(cell: exp.Expr, spelling: FormatSettings) -> exp.Expr:
    """Return the expression of a text normalised as in `rows_of`."""
    text: exp.Expr = exp.Trim(this=cell.copy())
    words, text = text, signed_text(text, spelling)
    is_number = number_pattern(spelling.decimal, spelling.thousands)
    number = unmarked(text, spelling)
    plain = exp.case()
    if missing := [exp.Literal.string(word) for word in spelling.missing if word]:
        plain = plain.when(exp.In(this=words, expressions=missing), exp.Null())
    return plain.when(exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(is_number)), number).else_(cell)


def text_of(rows: RowQuery, name: str) -> exp.Expr:
    """Return the expression of a column's text, `?` for a missing value.

    Args:
        rows: The table.
        name: Name of the column.
    """
    require(rows, [name])
    text = cell_text(rows, name)
    if rows.types[name].is_string():  # few cells have surrounding space, and trimming all would take longest
        column = exp.column(name, quoted=True)
        spaced = exp.RegexpLike(this=column.copy(), expression=exp.Literal.string(SPACED))
        text = exp.case().when(spaced, text).else_(column)
    empty = exp.Nullif(this=text, expression=exp.Literal.string(""))
    return exp.Coalesce(this=empty, expressions=[exp.Literal.string(MISSING)])


def cell_text(rows: RowQuery, name: str) -> exp.Expr:
    """Return the expression of a column's text; raise InputError if the column does not hold single values."""
    with at_key(f"{rows.engine.place}, column {quoted(name)}"):
        return Cell(ColumnRule(name, name), rows.types[name], rows.engine.lists).text


def require(rows: RowQuery, names: Sequence[str]) -> None:
    """Raise InputError if one of the columns does not exist.

    Args:
        rows: The table.
        names: Names of the required columns.
    """
    for name in names:
        if name not in rows.types:
            there = instead(name, rows.types)
            raise InputError(f"{rows.engine.place}: there is no column {quoted(name)}{there}")


def hierarchies(names: Sequence[str], rules: Mapping[str, Rule], columns: Sequence[Sequence[str]]) -> list[Hierarchy]:
    """Return the hierarchies of columns with these values.

    Args:
        names: the columns
        rules: their rules
        columns: their values
    """
    return [hierarchy(name, rules[name], in_order(values)) for name, values in zip(names, columns, strict=True)]


def in_order(values: Sequence[str]) -> list[str]:
    """Return distinct values in order: numbers by size, then texts alphabetically, a missing value last."""

    def key(value: str) -> tuple[bool, bool, float, str]:
        x = number(value)
        return value == MISSING, x is None, x or 0.0, value

    return sorted(set(values), key=key)


def recode(table: Texts, hierarchies: Sequence[Hierarchy]) -> ValueCodes:
    """Return the codes of the rows in the columns' hierarchies, int[columns, rows].

    Args:
        table: Distinct rows as text.
        hierarchies: One hierarchy for each column.
    """
    dtype = np.min_scalar_type(max((len(h.values) for h in hierarchies), default=0))
    columns: ValueCodes = np.zeros((len(hierarchies), len(table.counts)), dtype=dtype)
    for i, (values, codes, h) in enumerate(zip(table.values, table.codes, hierarchies, strict=True)):
        columns[i] = np.array([h.code(value) for value in values], dtype=dtype)[codes]
    return columns


def read(
    rows: RowQuery,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    rules: Mapping[str, Rule],
    public: RowQuery | None = None,
) -> Cells:
    """Return the cells of a table.

    Args:
        rows: the table
        quasi: its quasi-identifiers
        sensitive: its sensitive columns
        rules: rules of the columns
        public: a table of everybody who could be in this one, with columns of the same names

    Raises:
        InputError: a value is in no hierarchy, or a row's quasi-identifiers are not in the public table
    """
    names = [*quasi, *sensitive]
    table = texts(rows, names)
    others = None if public is None else texts(public, quasi)
    values = [list(column) for column in table.values]
    if others is not None:
        values = [[*a, *b] for a, b in zip(values, [*others.values, *([] for _ in sensitive)], strict=True)]
    built = hierarchies(names, rules, values)
    codes = recode(table, built)
    cells = Cells(
        tuple(built[: len(quasi)]), tuple(built[len(quasi) :]), codes[: len(quasi)], codes[len(quasi) :], table.counts
    )
    if others is None or public is None:
        return cells
    return with_public(cells, recode(others, built[: len(quasi)]), others.counts, public.engine.place)


def with_public(cells: Cells, codes: ValueCodes, counts: Counts, place: str) -> Cells:
    """Return the cells of a table together with those of a public table of the whole population.

    Args:
        cells: the table's cells
        codes: codes of the public rows, int[columns, rows]
        counts: counts of the public rows
        place: name of the public table, for errors

    Raises:
        InputError: a cell's quasi-identifiers are not in the public table
    """
    if missing := set(map(tuple, cells.quasi.T.tolist())) - set(map(tuple, codes.T.tolist())):
        raise InputError(
            f"{place}: this public table lacks {len(missing)} combinations of values of the table; add these people"
        )
    return replace(cells, public=(codes, counts))
