"""Find a table of a database by the name that an operator gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import ibis.expr.types as ir
from ibis.common.exceptions import TableNotFound

from parties.base.text import instead
from smc.errors import InputError


def find_table(
    name: str, place: str, look: Callable[[str | None, str], ir.Table], known: Callable[[], Iterable[str]]
) -> ir.Table:
    """Return the table called `name`, or by its parts SCHEMA.NAME: `look(schema, name)` raises `TableNotFound`.

    `InputError` with the nearest of the `known` names if there is none.
    """
    for schema, table in _readings(name):
        try:
            return look(schema, table)
        except TableNotFound:
            continue
    names = list(known())
    there = instead(name, names)
    raise InputError(f"{place}: there is no such table{there}")


def _readings(name: str) -> Iterator[tuple[str | None, str]]:
    """Yield what a name with dots may mean: a table of this very name, or one in a schema."""
    yield None, name
    for i, letter in enumerate(name):
        if letter == "." and 0 < i < len(name) - 1:
            yield name[:i], name[i + 1 :]
