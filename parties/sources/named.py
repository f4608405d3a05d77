"""Lookup of a database table by the name that an operator gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import ibis.expr.types as ir
from ibis.common.exceptions import TableNotFound

from parties.base.text import instead
from smc.errors import InputError


def find_table(
    name: str, place: str, look: Callable[[str | None, str], ir.Table], known: Callable[[], Iterable[str]]
) -> ir.Table:
    """Return the table that a setting names, as NAME or SCHEMA.NAME.

    Args:
        name: Name in the setting.
        place: Location of the setting, for messages.
        look: Returns the table of a schema (None: the default one) and name; raises `TableNotFound`.
        known: Returns the names of all tables, for a message.

    Raises:
        InputError: There is no such table; the message has the most similar name.
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
    """Yield the possible (schema, table) of a name with dots: the whole name as a table, or SCHEMA.TABLE."""
    yield None, name
    for i, letter in enumerate(name):
        if letter == "." and 0 < i < len(name) - 1:
            yield name[:i], name[i + 1 :]
