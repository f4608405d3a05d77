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
from parties.tables.texts import TextColumn
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
        InputError: The table cannot be read or lacks a column, or a value is not in the schema; the message then names
            its line, or its row from 1.
    """
    wanted = rules(table.columns, schema, names, table.format)
    codes = _queried(table, wanted)
    columns = {}
    for rule, column in zip(wanted, codes, strict=True):
        if len(unknown := np.flatnonzero(column < 0)):
            _refuse(table, schema, rule, len(column), int(unknown[0]) + 1)
        columns[rule.attribute] = TextColumn.among(rule.categories, column)
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
    raise InputError(f"{table.label}: the rows have changed since they were read; try again")


def _queried(table: TableSettings, rules: Sequence[ColumnRule]) -> list[NDArray[np.int32]]:
    """Return the category indices of the cells of each column by a query; -1 for values outside the schema."""
    with open_rows(table) as rows:
        return keyed_codes(rows, rules, (), table.is_chosen)[1]


def keyed_codes(
    rows: RowQuery, rules: Sequence[ColumnRule], keys: Sequence[str], ordered: bool = False
) -> tuple[list[list[str | None]], list[NDArray[np.int32]]]:
    """Return the cells of some columns as text, and of others as category indices, -1 for values outside the schema.

    Args:
        rows: The rows.
        rules: Rule of each column of categories.
        keys: Names of the columns whose cells are returned as text; NULL is None.
        ordered: True if the engine returns rows in their order without ORDER BY.

    Returns:
        A list for each column of `keys`, and an array int32[rows] for each rule, all in one order of rows.
    """
    import sqlglot.expressions as exp

    from parties.sources.expressions import Cell

    rows.select([*keys, *(rule.column for rule in rules)])  # raises an error for a missing column
    if rows.engine.lists and not ordered:
        rows.engine.backend.raw_sql("SET preserve_insertion_order = true")
    cells = [Cell(rule, rows.types[rule.column], rows.engine.lists).index for rule in rules]
    indices = [
        exp.cast(exp.Coalesce(this=index, expressions=[exp.Paren(this=exp.convert(-1))]), "INT").as_(f"i{i}")
        for i, index in enumerate(cells)
    ]
    texts: list[list[str | None]] = [[] for _ in keys]
    codes = [[np.zeros(0, np.int32)] for _ in rules]
    for batch in rows.engine.batches(rows.spelled(keys).select(*indices)):
        for place, text in enumerate(texts):
            text.extend(batch.column(place).to_pylist())
        for place, code in enumerate(codes, len(keys)):
            code.append(batch.column(place).to_numpy().astype(np.int32))
    return texts, [np.concatenate(column) for column in codes]
