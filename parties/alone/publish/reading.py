"""A table's distinct cells, counted where the rows live: one GROUP BY, and only what differs comes over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp

from parties.alone.publish.cells import Cells, grouped
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.rules import Rule, hierarchy, number
from parties.base.arrays import Counts
from parties.base.text import instead, quoted
from parties.sources import PlaceSettings, open_rows
from parties.sources.expressions import Cell, signed_text
from parties.sources.mapping import PLAIN, ColumnRule
from parties.sources.opened import RowQuery
from parties.sources.settings import FormatSettings
from parties.tables.delimited import MISSING
from smc.errors import InputError

SPACED = r"^ | $|[^ -~]"  # text that may have space around it


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct rows of text: `codes[i]` int[rows] are places in `values[i]`; `counts` int64[rows]."""

    values: list[list[str]]
    codes: list[ValueCodes]
    counts: Counts


def texts(rows: RowQuery, names: Sequence[str]) -> Texts:
    """Return the distinct rows of some columns. `InputError` for none, or a column of no categories."""
    spelled = [cell_of(rows, name).as_(f"c{i}") for i, name in enumerate(names)]
    cells = [exp.column(name, quoted=True) for name in dict.fromkeys(names)]
    number = "n" + "_" * max(map(len, names))  # no column's name
    counted = exp.Select().select(*cells, exp.Count(this=exp.Star()).as_(number)).from_(rows.query.subquery("t"))
    # Equal cells are counted before they are spelled, which takes longer.
    total = exp.cast(exp.column(number), "BIGINT").as_("n")
    query = exp.Select().select(*spelled, total).from_(counted.group_by(*cells).subquery("d"))
    columns, counts = [_Coded() for _ in names], [np.zeros(0, np.int64)]
    for batch in rows.engine.batches(query):
        for i, column in enumerate(columns):
            column.add(batch.column(i))
        counts.append(batch.column("n").combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64))
    if not sum(map(len, counts)):
        raise InputError(f"{rows.engine.place}: there are no rows")
    values, codes, totals = [column.values for column in columns], [c.codes() for c in columns], np.concatenate(counts)
    order, starts = grouped(codes, [len(column_values) for column_values in values])
    if len(starts) < len(order):  # cells that differ in the space around them only
        codes, totals = [column_codes[order[starts]] for column_codes in codes], np.add.reduceat(totals[order], starts)
    return Texts(values, codes, totals)


class _Coded:
    """A column of text that comes in pieces: the values so far, and their places there."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._pieces: list[ValueCodes] = []

    def add(self, column: pa.ChunkedArray) -> None:
        texts, codes = encode(column)
        places = [self._places.setdefault(spelled(value), len(self._places)) for value in texts]
        numbers: ValueCodes = np.array(places, dtype=dtype_of(len(self._places)))
        self._pieces.append(numbers[codes])

    @property
    def values(self) -> list[str]:
        return list(self._places)

    def codes(self) -> ValueCodes:
        """Return all places; the pieces are given back."""
        pieces, self._pieces = self._pieces, []
        return np.concatenate([np.zeros(0, dtype=np.int16), *pieces])


def dtype_of(number: int) -> Any:
    """Return the smaller type that so many numbers fit."""
    return np.int16 if number <= 1 << 15 else np.int32


def encode(column: pa.ChunkedArray) -> tuple[list[Any], ValueCodes]:
    """Return a column as its distinct values, None for none, and their places, int32[rows]."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)


def cell_of(rows: RowQuery, name: str) -> exp.Expr:
    """Return what `spelled` makes a column's text of: text and whole numbers are spelled once a batch, and not once a
    row."""
    require(rows, [name])
    dtype = rows.types[name]
    return exp.column(name, quoted=True) if dtype.is_string() or dtype.is_integer() else text_of(rows, name)


def spelled(value: str | int | None) -> str:
    """Return the text of a cell, `?` if there is none."""
    return ("" if value is None else str(value).strip()) or MISSING


def rows_of(place: PlaceSettings) -> RowQuery:
    """Open rows, their numbers written with a point and nothing where the place's format says that there is no value.

    `InputError` as of `open_rows`.
    """
    rows, spelling = open_rows(place), place.spelling
    if spelling.model_copy(update={"dates": PLAIN.dates, "last_year": PLAIN.last_year}) == PLAIN:
        return rows
    cells = []
    for name, dtype in rows.types.items():
        cell = exp.column(name, quoted=True)
        cells.append(_plain(cell, spelling).as_(name, quoted=True) if dtype.is_string() else cell)
    return replace(rows, query=exp.Select().select(*cells).from_(rows.query.subquery("t")))


def _plain(cell: exp.Expr, spelling: FormatSettings) -> exp.Expr:
    """Return a text as `rows_of` gives it."""
    text: exp.Expr = exp.Trim(this=cell.copy())
    words, text = text, signed_text(text, spelling)
    parted = f"|[0-9]{{1,3}}([{spelling.thousands}][0-9]{{3}})+" if spelling.thousands else ""
    is_number = rf"^[+-]?([0-9]+{parted})([{spelling.decimal}][0-9]*)?$"
    number: exp.Expr = text
    for mark, meant in ((spelling.thousands, ""), (spelling.decimal, ".")):
        if mark and mark != meant:
            number = exp.func("REPLACE", number, exp.Literal.string(mark), exp.Literal.string(meant))
    plain = exp.case()
    if missing := [exp.Literal.string(word) for word in spelling.missing if word]:
        plain = plain.when(exp.In(this=words, expressions=missing), exp.Null())
    return plain.when(exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(is_number)), number).else_(cell)


def text_of(rows: RowQuery, name: str) -> exp.Expr:
    """Return a column's text, `?` if there is none."""
    require(rows, [name])
    try:
        cell = Cell(ColumnRule(name, name), rows.types[name], rows.engine.lists)
    except InputError as error:
        raise InputError(f"{rows.engine.place}, column {quoted(name)}: {error}") from None
    text = cell.text
    if rows.types[name].is_string():  # few cells have space around them, and dropping it takes longer than all else
        column = exp.column(name, quoted=True)
        spaced = exp.RegexpLike(this=column.copy(), expression=exp.Literal.string(SPACED))
        text = exp.case().when(spaced, text).else_(column)
    empty = exp.Nullif(this=text, expression=exp.Literal.string(""))
    return exp.Coalesce(this=empty, expressions=[exp.Literal.string(MISSING)])


def require(rows: RowQuery, names: Sequence[str]) -> None:
    """Raise `InputError` if one of the columns is not there."""
    for name in names:
        if name not in rows.types:
            there = instead(name, rows.types)
            raise InputError(f"{rows.engine.place}: there is no column {quoted(name)}{there}")


def hierarchies(names: Sequence[str], rules: Mapping[str, Rule], columns: Sequence[Sequence[str]]) -> list[Hierarchy]:
    """Return the hierarchies of columns whose values these are."""
    return [hierarchy(name, rules[name], in_order(values)) for name, values in zip(names, columns, strict=True)]


def in_order(values: Sequence[str]) -> list[str]:
    """Return distinct values: numbers by size, then text by its letters, a missing value last."""

    def key(value: str) -> tuple[bool, bool, float, str]:
        x = number(value)
        return value == MISSING, x is None, x or 0.0, value

    return sorted(set(values), key=key)


def recode(table: Texts, hierarchies: Sequence[Hierarchy]) -> ValueCodes:
    """Return the codes of the columns in their hierarchies, int[columns, rows]."""
    dtype = dtype_of(max((len(h.values) for h in hierarchies), default=0))
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
    """Return the cells of a table. `public` has the same quasi-identifiers, in columns of the same names.

    `InputError` if a value is in no hierarchy, or if a row's quasi-identifiers are not those of any public row.
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
    """Return the cells with those of the public table. `InputError` if somebody is not in it."""
    if missing := set(map(tuple, cells.quasi.T.tolist())) - set(map(tuple, codes.T.tolist())):
        raise InputError(f"{place}: {len(missing)} of the table's combinations are not in this public table")
    return replace(cells, public=(codes, counts))
