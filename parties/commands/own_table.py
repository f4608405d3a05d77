"""Whose rows a command reads: those of a table of `party.toml`, which a node has too, unless `data` says which file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import click

from parties.base.text import instead, listed, quoted
from parties.jobs.tabular_settings import TabularSettings
from parties.sources.settings import TableSettings
from smc.errors import InputError

AnyTabular = TypeVar("AnyTabular", bound=TabularSettings)

TABLE = click.option("--table", metavar="NAME", help="Own rows: which of [tables.NAME] in --config, if it has several.")


def on_table(settings: AnyTabular, named: str | None, given: bool, tables: Mapping[str, TableSettings]) -> AnyTabular:
    """Return what the file says of a kind, with a table's rows, and with its schema and bound unless others are said.

    `named` is the table that a flag names, `given` says whether a flag names a file with rows. If that or the settings
    say where the rows are, or there is no table, nothing is changed. `InputError` if it is not clear which table is
    meant, or if only a node can read it.
    """
    if named is not None and given:
        raise InputError("--table: --data says already where the rows are; give one of them")
    if named is not None and named not in tables:
        raise InputError(f"--table: there is no table {quoted(named)} in --config{instead(named, tables)}")
    if named is None:
        if given or settings.data is not None or not tables:
            return settings
        if len(tables) > 1:
            raise InputError(f"--config has several tables, {listed(tables)}: say which with --table")
    name = named or next(iter(tables))
    table = tables[name]
    _check_plain(name, table)
    found = {"schema_file": table.schema_file, "max_rows": table.max_rows}
    # A schema that stands beside `data` is that file's own.
    own = settings.model_fields_set if settings.data is None else settings.model_fields_set - {"schema_file"}
    unsaid = {key: value for key, value in found.items() if key in type(settings).model_fields and key not in own}
    return settings.model_copy(update={"data": Path(table.source), **unsaid})


def _check_plain(name: str, table: TableSettings) -> None:
    """`InputError` if a command cannot read the table as it is: a file, by its schema, without an account to keep."""
    why = None
    if table.asked:
        why = "is chosen by a query, a condition or consent"
    elif "://" in table.source or table.table is not None:
        why = "is in a database"
    elif table.columns:
        why = "has columns that are mapped to the schema"
    elif table.budget is not None:
        why = "has a budget"
    if why is not None:
        raise InputError(f"tables.{name} {why}, which only a node can read: propose a job with smc submit")
