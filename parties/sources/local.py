"""Files of this machine, read by a temporary DuckDB: CSV, Parquet (file, folder, pattern), Excel sheets, databases.

A folder means all Parquet files below it, except unfinished ones, whose names begin with `_` or `.`. Folders named
`key=value` are columns.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import ibis.expr.datatypes as dt

from parties.base.files import require_regular
from parties.base.text import listed
from parties.sources.databases import Scratch
from parties.sources.delimited import read_csv
from parties.sources.excel import sheet_as_csv
from parties.sources.formats import format_of
from parties.sources.named import find_table
from parties.sources.opened import RowQuery
from parties.sources.settings import PlaceSettings, TableSettings
from parties.sources.sql import checked_query, distinct_names, with_rows
from smc.errors import InputError

if TYPE_CHECKING:
    import ibis.expr.types as ir

Reader: TypeAlias = Callable[[Scratch], RowQuery]

ATTACHED = "source"  # catalog name of an attached DuckDB file
ANSWER = "the answer"  # an unlikely name of a table


def open_files(settings: PlaceSettings) -> RowQuery:
    """Return the rows at a path, see `opening.open_rows`."""
    table_of_party = settings if isinstance(settings, TableSettings) else None
    read = _reader(settings) if table_of_party is None or table_of_party.query is None else _answer(table_of_party)
    engine = Scratch(settings.label, settings.memory, settings.threads)
    try:
        with engine.reporting():
            rows = read(engine)
            engine.plan_for(len(rows.types))
            if table_of_party is not None and table_of_party.is_chosen:
                engine.confine()
        return rows
    except BaseException:
        engine.close()
        raise


def _answer(settings: TableSettings) -> Reader:
    """Return the function that opens a table's query, which reads its `files` or the DuckDB file at `source`."""
    assert settings.query is not None
    text = settings.query
    places = {
        name: PlaceSettings(source=file.source, table=file.table, format=file.format or settings.format)
        for name, file in settings.files.items()
    }
    if settings.source and format_of(Path(settings.source), None) != "duckdb":
        raise InputError(f"{settings.label}: a query needs names: give the file one under `files`, without `source`")

    def read(engine: Scratch) -> RowQuery:
        backend = engine.backend
        known = _attach(engine, settings.source)[1] if settings.source else list(places)
        query = checked_query(text, backend.dialect, engine.place, known)
        if settings.source:
            backend.raw_sql(f"USE {ATTACHED}")
        rows = {name.lower(): _reader(place)(engine).query for name, place in places.items()}
        query = with_rows(query, rows)
        with engine.reporting(": query"):
            sql = engine.sql(query)
            columns = backend.raw_sql(f"DESCRIBE {sql}").fetchall()
            distinct_names([(column[0], dt.string) for column in columns], engine)
            backend.raw_sql(f'CREATE TEMPORARY VIEW "{ANSWER}" AS {sql}')
        return _rows(engine, backend.table(ANSWER))

    return read


def _rows(engine: Scratch, table: ir.Table) -> RowQuery:
    return RowQuery(engine, engine.backend.compiler.to_sqlglot(table), table.schema())


def _reader(settings: PlaceSettings) -> Reader:
    """Return the function that opens the rows at a path in an engine."""
    path, table = Path(settings.source), settings.table
    match format_of(path, table):
        case "pattern":
            files = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
            return lambda engine: _parquet(engine, path, files)
        case "folder":
            files = [file for file in sorted(path.rglob("*.parquet")) if _is_finished(file.relative_to(path))]
            return lambda engine: _parquet(engine, path, files)
        case "duckdb":
            return lambda engine: _database(engine, path, table)
        case "parquet":
            return lambda engine: _parquet(engine, path, [path])
        case "excel":
            return lambda engine: read_csv(engine, sheet_as_csv(path, table, engine.resources), settings.format)
        case "csv":
            return lambda engine: read_csv(engine, path, settings.format)


def _is_finished(file: Path) -> bool:
    return not any(part.startswith(("_", ".")) for part in file.parts)


def _parquet(engine: Scratch, path: Path, files: Sequence[Path]) -> RowQuery:
    if not files:
        raise InputError(f"{path}: there is no Parquet file; check the path")
    for file in files:
        require_regular(file)
    names = [glob.escape(str(file)) for file in files]
    engine.reads += map(str, files)
    return _rows(engine, engine.backend.read_parquet(names, hive_types_autocast=False))


def _database(engine: Scratch, path: Path, name: str | None) -> RowQuery:
    """Return a table of a DuckDB file. Other processes may read the file at the same time."""
    backend = engine.backend
    catalog, known = _attach(engine, str(path))
    if name is None:
        name, *others = known or [""]
        if others:
            raise InputError(f"{path}: there are several tables; name one as `table` ({listed([name, *others])})")
    table = find_table(
        name,
        engine.place,
        lambda schema, table: backend.table(table, database=(catalog, schema or "main")),
        lambda: known,
    )
    return _rows(engine, table)


def _attach(engine: Scratch, path: str) -> tuple[str, list[str]]:
    """Open a DuckDB file once. Return its catalog name and the names of its tables and views."""
    backend = engine.backend
    if (catalog := engine.catalogs.get(path)) is None:
        catalog = f"{ATTACHED}_{len(engine.catalogs)}" if engine.catalogs else ATTACHED
        engine.attach(path, catalog)
        engine.catalogs[path] = catalog
    schemas = [name for name in backend.list_databases(catalog=catalog) if name not in _SYSTEM]
    return catalog, [
        table if schema == "main" else f"{schema}.{table}"
        for schema in schemas
        for table in backend.list_tables(database=(catalog, schema))
    ]


_SYSTEM = ("information_schema", "pg_catalog")
