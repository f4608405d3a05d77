"""Opened rows: an engine, the query for them, and the types of their columns."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import ibis.expr.datatypes as dt
import sqlglot.expressions as exp

from parties.base.text import instead, quoted
from parties.sources.databases import Database
from parties.sources.expressions import Cell
from parties.sources.mapping import ColumnRule
from parties.tables.unfit import NoColumnError
from smc.errors import InputError


def narrowed(query: exp.Query, names: Iterable[str]) -> exp.Query:
    """Return a SELECT with only some of its columns, which an engine plans sooner; any other query as it is.

    Args:
        query: The query.
        names: Names of the columns.
    """
    wanted = {*names}
    if not isinstance(query, exp.Select) or query.args.get("distinct") or query.args.get("group"):
        return query
    cells = [cell.copy() for cell in query.selects if cell.alias_or_name in wanted]
    if len(cells) < len(wanted):  # such as SELECT *
        return query
    parts = {key: part for key, part in query.args.items() if key != "expressions"}
    parts = {key: part.copy() if isinstance(part, exp.Expression) else deepcopy(part) for key, part in parts.items()}
    return exp.Select(expressions=cells, **parts)


@dataclass(frozen=True, eq=False)
class RowQuery:
    """Rows as a query in an engine, with the types of their columns. As a context manager it closes the engine.

    `left_out` is a query for the numbers of rows that the filter leaves out; None if the settings leave out none.
    """

    engine: Database
    query: exp.Query
    types: Mapping[str, dt.DataType]
    left_out: exp.Select | None = None

    def __enter__(self) -> RowQuery:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def select(self, names: Sequence[str]) -> exp.Select:
        """Return a query for these columns of all rows, named c0, c1, ...

        Raises:
            InputError: A column is missing.
        """
        for name in names:
            if name not in self.types:
                there = instead(name, self.types)
                raise NoColumnError(f"{self.engine.place}: there is no column {quoted(name)}{there}")
        cells = [exp.column(name, quoted=True).as_(f"c{i}") for i, name in enumerate(names)]
        return exp.Select().select(*cells).from_(self.query.subquery("t"))

    def unfit(self, name: str) -> str | None:
        """Return the reason why a column cannot hold categories, or None."""
        try:
            self._cell(name)
        except InputError as error:
            return str(error)
        return None

    def spelled(self, names: Sequence[str], unchanged: Container[str] = ()) -> exp.Select:
        """Return a query for columns of all rows as text, named c0, c1, ...; NULL stays NULL.

        Args:
            names: Names of the columns, which must hold categories.
            unchanged: Columns that keep their type instead of becoming text.
        """
        texts = [exp.column(name, quoted=True) if name in unchanged else self._cell(name).text for name in names]
        cells = [text.as_(f"c{i}") for i, text in enumerate(texts)]
        return exp.Select().select(*cells).from_(self.query.subquery("t"))

    def _cell(self, name: str) -> Cell:
        return Cell(ColumnRule(name, name), self.types[name], self.engine.lists)
