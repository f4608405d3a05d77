"""Opening a party's table for counting. An engine's library is loaded only when a table needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from parties.base.extras import needing
from parties.base.text import did_you_mean, instead, quoted
from parties.sources.formats import format_of
from parties.sources.mapping import ColumnRule, rules
from parties.sources.settings import ColumnSettings, PlaceSettings, TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.opened import RowQuery
    from parties.sources.source import Source

SMALL = 1 << 21  # bytes of a file that is counted sooner than an engine is loaded
LARGE = 1 << 26  # bytes of a file in which no line is looked up for a message
OPENED_BY = {  # the function for each scheme of a URL
    "postgresql": "parties.sources.postgres:open_database",
    "postgres": "parties.sources.postgres:open_database",
    "mysql": "parties.sources.mysql:open_database",
    "mariadb": "parties.sources.mysql:open_database",
    "spark": "parties.sources.spark:open_session",
}
ALIASES = {"postgres", "mariadb"}  # schemes that errors do not list
UNREAD = {  # names of databases without an engine here
    **dict.fromkeys(("mssql", "sqlserver"), "SQL Server"),
    "oracle": "Oracle",
    "snowflake": "Snowflake",
    "bigquery": "BigQuery",
}


def open_table(
    settings: TableSettings, schema: Schema, target: str, columns: Sequence[str] | None = None, streamed: bool = False
) -> Source:
    """Return a source that counts a table's rows by attributes, in the order of the schema, and by target classes.

    The settings are checked against the whole schema. Values are checked later, by `Source.check`.

    Args:
        settings: The table in party.toml.
        schema: The public schema.
        target: Name of the class column.
        columns: Names of the attributes to count; None for all of the schema.
        streamed: Whether rows are read in pieces, by `Source.batches`.

    Raises:
        InputError: The settings do not fit, a table or column is missing, or the source cannot be read.
    """
    wanted = rules(settings.columns, schema, _chosen(schema, target, columns), settings.format)
    source = _source(settings, wanted, streamed)
    if is_csv(settings, LARGE):
        from parties.sources.delimited import line_of  # loads numpy

        source.line_of = partial(line_of, Path(settings.source), settings.spelling)
    return source


def _source(settings: TableSettings, wanted: Sequence[ColumnRule], streamed: bool) -> Source:
    bounds = settings.max_rows, settings.least_rows
    if is_csv(settings, SMALL) and not settings.derives:
        from parties.sources.delimited import small_columns
        from parties.sources.in_memory import InMemory

        if (cells := small_columns(Path(settings.source), settings.spelling)) is not None:
            return InMemory(settings.label, cells, wanted, *bounds)
    rows = open_rows(settings)
    from parties.sources.queried import QueriedSource

    try:
        return QueriedSource(rows.engine, rows.query, rows.types, wanted, *bounds, rows.left_out, streamed)
    except BaseException:
        rows.engine.close()
        raise


def is_csv(table: TableSettings, size: int) -> bool:
    """Return True for a CSV file of less than `size` bytes from which the settings leave out no rows.

    Args:
        table: The table in party.toml.
        size: Limit of the size in bytes.
    """
    path = Path(table.source)
    if table.is_chosen or not table.source or "://" in table.source or not path.is_file():
        return False
    return path.stat().st_size < size and format_of(path, table.table) == "csv"


def open_rows(settings: PlaceSettings) -> RowQuery:
    """Return the rows of a place. A party's table has its derived columns, and lacks the rows that it leaves out.

    Raises:
        InputError: The place does not exist or cannot be read.
    """
    if settings.format != settings.spelling:
        settings = settings.model_copy(update={"format": settings.spelling})
    rows = _found(settings)
    try:
        if (table := settings.chosen_as) is not None:
            from parties.sources.row_filter import choose

            rows = choose(rows, table)
        if settings.derives:
            from parties.sources.derived import with_derived

            rows = with_derived(rows, settings.derives, settings.format)
        if table is not None and table.part is not None:
            from parties.sources.split import part_of

            rows = part_of(rows, table, table.part)
        return rows
    except BaseException:
        rows.engine.close()
        raise


def _found(settings: PlaceSettings) -> RowQuery:
    scheme, mark, _ = settings.source.partition("://")
    if not mark:
        with needing(settings.label):
            from parties.sources import local
        return local.open_files(settings)
    if scheme in OPENED_BY:
        try:
            open_rows_of = resolve_name(OPENED_BY[scheme])
        except (ImportError, AttributeError) as error:
            raise InputError(f"parties/sources/opening.py: {scheme}:// has no {OPENED_BY[scheme]}: {error}") from None
        rows: RowQuery = open_rows_of(settings)
        return rows
    if (engine := UNREAD.get(scheme)) is not None:
        raise InputError(f"{settings.label}: {engine} is not read yet: export the table as Parquet")
    schemes = [name for name in OPENED_BY if name not in ALIASES]
    hint = did_you_mean(scheme, schemes)
    known = ", ".join(f"{name}://" for name in schemes)
    raise InputError(f"{settings.label}: cannot read from {scheme}://{hint}; use a file or one of {known}")


def from_frame(
    frame: Any,
    schema: Schema,
    target: str,
    columns: Sequence[str] | None = None,
    mapping: Mapping[str, ColumnSettings] | None = None,
    max_rows: int = 65535,
    memory: str = "2GB",
    threads: int | None = None,
) -> Source:
    """Return a source of counts of a pandas, Polars or Arrow table, or an Ibis table of DuckDB, PostgreSQL or Spark.

    The engine of an Ibis table counts it, and its connection stays open. A DuckDB counts any other table.

    Args:
        frame: The table.
        schema: The public schema.
        target: Name of the class column.
        columns: Names of the attributes to count; None for all of the schema.
        mapping: Spelling of the columns, in the form of `[tables.NAME.columns]` in party.toml.
        max_rows: Largest allowed number of rows.
        memory: Memory that DuckDB may use.
        threads: Threads of DuckDB; None for its default.

    Raises:
        InputError: A column is missing, or its type or spelling does not fit the schema.
    """
    from parties.sources import frames

    wanted = rules(mapping or {}, schema, _chosen(schema, target, columns))
    return frames.open_frame(frame, wanted, max_rows, memory, threads)


def _chosen(schema: Schema, target: str, columns: Sequence[str] | None) -> list[str]:
    for name in (target, *(columns or ())):
        if name not in schema.attributes:
            there = instead(name, schema.attributes)
            raise InputError(f"{quoted(name)} is not an attribute of the schema{there}")
    wanted = schema.attributes if columns is None else set(columns)
    return [*(name for name in schema.features(target) if name in wanted), target]
