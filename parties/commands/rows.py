"""Rows that a command is given: the options that say where they are, the files behind them, and they themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources import PlaceSettings
    from parties.sources.opened import RowQuery

TABLE = click.option("--table", metavar="NAME", help="Which table, if the source is a database.")


def paths(source: str) -> list[Path]:
    """Return the files that a source is made of, which no output may overwrite: none, if it is a database."""
    return [] if "://" in source else [Path(source)]


def opened(source: str, table: str | None) -> RowQuery:
    """Open the rows of a source, for `with`. `InputError` if there is no such table, or it cannot be read."""
    from parties.sources import open_rows

    return open_rows(place(source, table))


def place(source: str, table: str | None) -> PlaceSettings:
    """Return where rows are. `InputError` names the flag, or the argument, by which a bad source or table was given."""
    from parties.base.settings import validated
    from parties.sources import PlaceSettings

    place = {"source": source, "table": table}
    try:
        return validated(PlaceSettings, place)
    except InputError as error:
        key, _, problem = str(error).partition(": ")
        raise InputError(f"{_named(place[key])}: {problem}") from None


def _named(value: str | None) -> str:
    """Return what the command calls the flag or argument that has this value."""
    context = click.get_current_context()
    param = next(param for param in context.command.params if param.name and context.params.get(param.name) == value)
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
