"""The part of a table's rows that trains a model, or that judges it, in SQL: see `parties.tables.split`."""

from __future__ import annotations

from dataclasses import replace

import sqlglot.expressions as exp

from parties.sources.opened import RowQuery
from parties.sources.people import (
    column_text,
    concatenated,
    escaped,
    free_names,
    number_of,
    person_of,
    row_text,
    sha256,
)
from parties.sources.settings import TableSettings
from parties.tables.delimited import MISSING
from parties.tables.split import KEY, Part


def part_of(rows: RowQuery, settings: TableSettings, part: Part) -> RowQuery:
    """Return the rows of a part. Rows of equal identity are numbered in the order of their other cells.

    Args:
        rows: All rows that take part, with their derived columns.
        settings: The table in party.toml, which names the person and the columns.
        part: The part.

    Raises:
        InputError: A column is missing, or the table names no person.
    """
    identity, order, copy = free_names(rows.types, "identity", "row", "copy")
    dialect = str(rows.engine.backend.dialect.__name__).lower()
    cells = [exp.column(name, table="t", quoted=True) for name in rows.types]
    if part.split.columns:
        texts = [_cell(rows, settings, name) for name in part.split.columns]
    else:
        texts = [person_of(rows, settings)]
    text = concatenated([exp.Literal.string(KEY), *texts])
    hashes = sha256(text, dialect).as_(identity), sha256(row_text(rows), dialect).as_(order)
    query = exp.Select().select(*cells, *hashes).from_(rows.query.subquery("t"))
    row_hash: exp.Expr = exp.column(identity)
    if part.split.columns:
        number = number_of([identity], exp.column(order)).as_(copy)
        query = exp.Select().select("*", number).from_(query.subquery("t"))
        row_hash = sha256(concatenated([row_hash, exp.cast(exp.column(copy), "TEXT")]), dialect)
    first, after = map(exp.Literal.string, part.split.bounds)
    held_out = exp.and_(exp.GTE(this=row_hash, expression=first), exp.LT(this=row_hash.copy(), expression=after))
    chosen = exp.Select().select(*(cell.copy() for cell in cells)).from_(query.subquery("t"))
    return replace(rows, query=chosen.where(held_out if part.is_held_out else exp.not_(held_out)))


def _cell(rows: RowQuery, settings: TableSettings, name: str) -> exp.Expr:
    """Return a cell's text with its end mark; a missing value has a mark of its own."""
    column = settings.columns.get(name)
    text = column_text(rows, (column and column.column) or name, "the rows held out")
    for absent in ("", MISSING):
        text = exp.Nullif(this=text, expression=exp.Literal.string(absent))
    return exp.Coalesce(this=escaped(text), expressions=[exp.Literal.string("!0|")])
