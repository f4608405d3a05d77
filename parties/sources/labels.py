"""A table's rows in their order, each cell as a category of the schema: the input of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from parties.sources.mapping import ColumnRule, rules
from parties.sources.opening import open_rows, open_table
from parties.sources.settings import TableSettings
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from parties.tables.unfit import UnfitError
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.opened import RowQuery


def labelled(table: TableSettings, schema: Schema, names: Sequence[str]) -> Columns:
    """Return columns of all rows as categories, in the order of the rows.

    Args:
        table: The table in party.toml.
        schema: The public schema.
        names: Names of the attributes.

    Raises:
        InputError: The table cannot be read or lacks a column, or a value is not in the schema. The message names the
            row.
    """
    wanted = rules(table.columns, schema, names, table.format)
    codes = _queried(table, wanted)
    columns = {}
    for rule, column in zip(wanted, codes, strict=True):
        if len(unknown := np.flatnonzero(column < 0)):
            _refuse(table, schema, rule, len(column), int(unknown[0]) + 1)
        columns[rule.attribute] = [rule.categories[code] for code in column.tolist()]
    rows = len(codes[0]) if codes else 0
    return Columns(Path(table.source), columns, range(1, rows + 1), unit="row")


def _refuse(table: TableSettings, schema: Schema, rule: ColumnRule, rows: int, first: int) -> NoReturn:
    """Raise the `UnfitError` for the first value of the rule's column that is not in the schema.

    The message has its line; in a table without lines, its row `first`, counted from 1. The table has `rows` rows.
    """
    try:
        with open_table(table.bounded_by(rows), schema, rule.attribute, ()) as source:
            source.check()
    except UnfitError as error:
        row = "" if str(error).startswith(f"{table.label}, line ") else f" (first in row {first})"
        raise UnfitError(f"{error}{row}", f"{error.loggable}{row}") from None
    raise InputError(f"{table.label}: the rows have changed since they were read")


def _queried(table: TableSettings, rules: Sequence[ColumnRule]) -> list[NDArray[np.int32]]:
    """Return the category indices of the cells of each column by a query; -1 for values outside the schema."""
    with open_rows(table) as rows:
        return codes_of(rows, rules, ordered=table.is_chosen)


def codes_of(rows: RowQuery, rules: Sequence[ColumnRule], ordered: bool = False) -> list[NDArray[np.int32]]:
    """Return the category indices of the cells of each column, int32[rows]; -1 for values outside the schema.

    Args:
        rows: The rows.
        rules: Rule of each column.
        ordered: True if the engine returns rows in their order without being told.
    """
    import sqlglot.expressions as exp

    from parties.sources.expressions import Cell

    rows.select([rule.column for rule in rules])  # raises an error for a missing column
    if rows.engine.lists and not ordered:
        rows.engine.backend.raw_sql("SET preserve_insertion_order = true")
    cells = [Cell(rule, rows.types[rule.column], rows.engine.lists).index for rule in rules]
    indices = [
        exp.cast(exp.Coalesce(this=index, expressions=[exp.Paren(this=exp.convert(-1))]), "INT").as_(f"c{i}")
        for i, index in enumerate(cells)
    ]
    query = exp.Select().select(*indices).from_(rows.query.subquery("t"))
    pieces = [
        [batch.column(i).to_numpy().astype(np.int32) for i in range(len(rules))] for batch in rows.engine.batches(query)
    ]
    return [np.concatenate([np.zeros(0, np.int32), *column]) for column in zip(*pieces, strict=True)] or [
        np.zeros(0, np.int32) for _ in rules
    ]
