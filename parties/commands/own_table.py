"""Source of a command's rows: a table of `party.toml`, as for a node, unless --data names a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from parties.base.text import listed
from parties.commands.options import known_table
from parties.jobs.tabular import TabularSettings
from parties.party_file import load
from parties.sources.formats import format_of
from parties.sources.places import same_place
from parties.sources.settings import PlaceSettings, TableSettings
from smc.errors import InputError

AnyTabular = TypeVar("AnyTabular", bound=TabularSettings)


def on_table(settings: AnyTabular, named: str | None, typed: bool, tables: Mapping[str, TableSettings]) -> AnyTabular:
    """Return the settings with the rows, the schema and the bounds of a table in party.toml.

    Settings that the user has set stay. Nothing changes if the settings or --data name the rows, or party.toml has no
    table.

    Args:
        settings: Settings of the kind.
        named: Table that --table names; None without the flag.
        typed: True if --data names a file with rows.
        tables: All tables of party.toml.

    Raises:
        InputError: It is not clear which table is meant, or only a node may read it.
    """
    if typed or (named is None and (settings.data is not None or not tables)):
        return settings
    name = chosen(named, tables)
    table = tables[name]
    if table.budget is not None:
        raise InputError(f"tables.{name}: has a budget, which only a node keeps; propose a job with smc submit")
    files = {} if table.is_chosen or "://" in table.source else {"data": Path(table.source)}
    return by_table(settings, table).model_copy(update={"own_table": table, **files})


def spelled(schema_file: Path | None, config_file: Path | None, named: str | None) -> TableSettings | None:
    """Return the table of party.toml whose spelling a model's cells have; None without --config.

    Args:
        schema_file: File of --schema, which does without --config.
        config_file: File of --config.
        named: Table of --table.

    Raises:
        InputError: The options exclude each other, or party.toml has no such table.
    """
    if schema_file is not None and config_file is not None:
        raise InputError("--schema: the tables of --config have a schema; give one of the two")
    if config_file is not None:
        tables = load(config_file).tables
        return tables[chosen(named, tables, config_file)]
    if named is not None:
        raise InputError("--table: needs --config, which is missing; give both")
    return None


def has_tables(data: Path) -> bool:
    """Return whether a file may have several tables, of which --table names one: sheets, or tables of DuckDB."""
    return format_of(data, None) in ("excel", "duckdb")


def check_has_tables(data: Path) -> None:
    """Raise InputError for --table beside a file --data that is one table."""
    if not has_tables(data):
        raise InputError("--table: --data already names the rows; give one of them")


def check_file(data: Path | None, tables: Mapping[str, TableSettings]) -> None:
    """Raise InputError if --data names the file of a table that has a budget or leaves rows out.

    Without this check, the job would not be charged, or left-out rows would be used.

    Args:
        data: The file; None without --data.
        tables: All tables of party.toml.
    """
    if data is None:
        return
    place = PlaceSettings(source=str(data))
    for name, table in tables.items():
        read = same_place(place, table) or any(same_place(place, file) for file in table.files.values())
        if read and table.budget is not None:
            raise InputError(f"--data: {data} is read by tables.{name}, whose budget only a node keeps; use smc submit")
        if read and table.is_chosen:
            raise InputError(f"--data: tables.{name} leaves out rows of {data}; give --table {name} instead")


def by_table(settings: AnyTabular, table: TableSettings) -> AnyTabular:
    """Return the settings with a table's schema and bounds, where the user has set none.

    Args:
        settings: Settings of the kind.
        table: The table.
    """
    defaults = {"schema_file": table.schema_file, "max_rows": table.max_rows, "at_most": table.at_most}
    # A schema that stands beside `data` is that file's own.
    settled = settings.model_fields_set if settings.data is None else settings.model_fields_set - {"schema_file"}
    unsaid = {
        key: value for key, value in defaults.items() if key in type(settings).model_fields and key not in settled
    }
    return settings.model_copy(update=unsaid)


def chosen(named: str | None, tables: Mapping[str, TableSettings], config_file: Path | None = None) -> str:
    """Return the name of the table that a flag names, or of the only table.

    Args:
        named: The name; None without the flag.
        tables: All tables of party.toml.
        config_file: The file party.toml, for the message.

    Raises:
        InputError: It is not clear which table is meant.
    """
    if named is not None:
        return known_table(named, tables)
    if not tables:
        raise InputError(f"--config: {config_file} has no table; add one as [tables.NAME]")
    if len(tables) > 1:
        raise InputError(f"--config: has several tables, {listed(tables)}; choose one with --table")
    return next(iter(tables))
