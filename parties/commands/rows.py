"""Rows of a command: the options that name them, the files behind them, and the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console
from parties.base.settings import validated
from parties.commands.options import FILE
from parties.party_file import load
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources import PlaceSettings
    from parties.sources.opened import RowQuery

CONFIG: Any = click.option(
    "--config",
    "config_file",
    type=FILE,
    help="party.toml; its table gives the formats of the cells, and the people to leave out.",
)
TABLE: Any = click.option("--table", metavar="NAME", help="Table of a database, or sheet of an Excel file.")


def paths(source: str) -> list[Path]:
    """Return the files of a source, which no output may overwrite; none for a database."""
    return [] if "://" in source else [Path(source)]


def opened(source: str, table: str | None, config_file: Path | None = None) -> RowQuery:
    """Return the opened rows of a source, for a `with` statement.

    Args:
        source: File, or URL of a database.
        table: Table in the database, or a sheet; None for the one that party.toml has for this file.
        config_file: party.toml; None for the one in this directory.

    Raises:
        InputError: There is no such table, or it cannot be read.
    """
    from parties.sources import open_rows

    return open_rows(chosen(source, table, config_file))


def chosen(source: str, table: str | None, config_file: Path | None, is_own: bool = False) -> PlaceSettings:
    """Return the place of rows (`place`), with the spelling and row filter of their table in party.toml (`choose`).

    Args:
        source: File, or URL of a database.
        table: Table in the database, or a sheet; None for the one that party.toml has for this file.
        config_file: party.toml; None for the one in this directory.
        is_own: Print a line if tables of party.toml exist, and none of them is at this place.

    Raises:
        InputError: The source or table is wrong, or tables of party.toml at this place differ in rows or spelling.
    """
    where = place(source, table)
    if table is None:
        where = where.model_copy(update={"table": _only_table(where, config_file)})
    choose(where, config_file)
    if is_own and where.party_table is None and load(config_file).tables:
        console.err.print(f"{where.label}: no table of {config_file} has this source, so its settings are not used")
    return where


def _only_table(place: PlaceSettings, config_file: Path | None) -> str | None:
    """Return the `table` that party.toml has for a file, such as a sheet; None without one or with several."""
    from parties.sources.places import same_place

    tables = load(config_file).tables.values()
    names = {table.table for table in tables if table.query is None and same_place(place, table)}
    return names.pop() if len(names) == 1 else None


def choose(place: PlaceSettings, config_file: Path | None) -> None:
    """Give a place the spelling and row filter of its table in party.toml. Print the number of rows that are left out.

    Args:
        place: The place; changed.
        config_file: party.toml; None for the one in this directory.

    Raises:
        InputError: Several tables at this place leave out different rows or have different spellings, or a table there
            is the answer to a query.
    """
    from parties.sources.places import same_place

    everybody = {"person": None, "at_most": None}  # the number of rows of a person that count concerns noise only
    tables = [(name, table.model_copy(update=everybody)) for name, table in load(config_file).tables.items()]
    settings = [(name, table) for name, table in tables if table.is_chosen]
    for name, table in settings:
        if table.query is not None and (
            same_place(place, table) or any(same_place(place, file) for file in table.files.values())
        ):
            raise InputError(
                f"{place.label}: tables.{name} reads it by a `query`, which may leave rows out; "
                "write the query's result to a separate file"
            )
    there = [(name, table) for name, table in settings if same_place(place, table, whole=True)]
    if len({(table.where, table.consent, table.objections) for _, table in there}) > 1:
        names = ", ".join(f"tables.{name}" for name, _ in there)
        remedy = "keep one of them in a --config" if place.table else "say which with --table, or keep one of them"
        raise InputError(f"{place.label}: {names} leave out different rows of it; {remedy}")
    for _, table in there[:1]:
        place.read_as(table)
        print_left_out(place)
    if not there:
        there = [(name, table) for name, table in tables if same_place(place, table, whole=True)]
        if any(table.format != there[0][1].format for _, table in there):
            names = ", ".join(f"tables.{name}" for name, _ in there)
            raise InputError(
                f"{place.label}: {names} give its cells different formats; keep one of these tables in a --config"
            )
        for _, table in there[:1]:
            place.read_as(table)


def print_left_out(place: PlaceSettings) -> None:
    """Print to the owner how many rows of a place are left out."""
    from parties.sources import open_rows

    with open_rows(place) as rows:
        if rows.left_out is not None and (text := left_out_phrase(rows.engine.counts(rows.left_out)[0].tolist())):
            console.err.print(text.removeprefix("; "))


def left_out_phrase(left_out: Sequence[int]) -> str:
    """Return a phrase for the owner: how many rows are left out, by reason; `left_out` as from `Source.left_out`."""
    reasons = ("by `where`", "without consent", "of people who objected", "without a person")
    why = (*reasons, "beyond the number of rows of a person that take part")
    parts = [f"{number:,} {reason}" for number, reason in zip(left_out, why, strict=False) if number]
    return f"; left out: {', '.join(parts)}" if parts else ""


def place(source: str, table: str | None) -> PlaceSettings:
    """Return the place of rows: a file, a sheet of a file, or a table in a database.

    Args:
        source: File, or URL of a database.
        table: Table in the database, or a sheet; None for a whole file.

    Raises:
        InputError: The source or table is wrong; the message names the flag or argument.
    """
    from parties.sources import PlaceSettings

    place = {"source": source, "table": table}
    try:
        return validated(PlaceSettings, place)
    except InputError as error:
        key, _, problem = str(error).partition(": ")
        raise InputError(f"{_named(place[key])}: {problem}") from None


def _named(value: str | None) -> str:
    context = click.get_current_context()
    param = next(param for param in context.command.params if param.name and context.params.get(param.name) == value)
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
