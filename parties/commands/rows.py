"""Rows that a command is given: the options that say where they are, the files behind them, and they themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from parties.sources.opened import Rows

TABLE = click.option("--table", metavar="NAME", help="Which table, if the source is a database.")


def paths(source: str) -> list[Path]:
    """The files that a source is made of, which no output may overwrite: none, if it is a database."""
    return [] if "://" in source else [Path(source)]


def opened(source: str, table: str | None) -> Rows:
    """The rows of a source, to be closed by `with`. `InputError` if there is no such table, or it cannot be read."""
    from parties.settings import validated
    from parties.sources import PlaceSettings, open_rows

    return open_rows(validated(PlaceSettings, {"source": source, "table": table}))
