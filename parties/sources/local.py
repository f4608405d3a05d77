"""Files of this machine, read by a DuckDB of our own: CSV, Parquet (a file, a folder, a pattern), DuckDB databases.

A folder stands for all Parquet files below it, but for those
that a running job has not finished (names that begin with `_` or `.`); folders named `key=value` are columns.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from parties.base.files import require_regular
from parties.base.text import listed
from parties.sources.databases import Scratch
from parties.sources.delimited import read_csv
from parties.sources.formats import format_of
from parties.sources.named import find_table
from parties.sources.opened import RowQuery
from parties.sources.settings import PlaceSettings
from smc.errors import InputError

if TYPE_CHECKING:
    import ibis.expr.types as ir

Reader: TypeAlias = "Callable[[Scratch], ir.Table]"

ATTACHED = "source"  # what a DuckDB file is called while it is attached


def open_files(settings: PlaceSettings) -> RowQuery:
    """Return the rows at a path, see `opening.open_rows`."""
    read = _reader(settings)
    engine = Scratch(settings.label, settings.memory, settings.threads)
    try:
        with engine.reporting():
            table = read(engine)
            query = engine.backend.compiler.to_sqlglot(table)
        return RowQuery(engine, query, table.schema())
    except BaseException:
        engine.close()
        raise


def _reader(settings: PlaceSettings) -> Reader:
    """Return how to read what lies at a path."""
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
        case "csv":
            return lambda engine: read_csv(engine, path, settings.format)


def _is_finished(file: Path) -> bool:
    return not any(part.startswith(("_", ".")) for part in file.parts)


def _parquet(engine: Scratch, path: Path, files: Sequence[Path]) -> ir.Table:
    if not files:
        raise InputError(f"{path}: there is no Parquet file")
    for file in files:
        require_regular(file)
    names = [glob.escape(str(file)) for file in files]
    return engine.backend.read_parquet(names, hive_types_autocast=False)


def _database(engine: Scratch, path: Path, name: str | None) -> ir.Table:
    """Return a table of a DuckDB file, which others may read at the same time."""
    backend = engine.backend
    engine.attach(str(path), ATTACHED)

    def known() -> list[str]:
        schemas = [name for name in backend.list_databases(catalog=ATTACHED) if name not in _SYSTEM]
        return [
            table if schema == "main" else f"{schema}.{table}"
            for schema in schemas
            for table in backend.list_tables(database=(ATTACHED, schema))
        ]

    if name is None:
        name, *others = known() or [""]
        if others:
            raise InputError(f"{path}: there are several tables: say which is the `table` ({listed([name, *others])})")
    return find_table(
        name, engine.place, lambda schema, table: backend.table(table, database=(ATTACHED, schema or "main")), known
    )


_SYSTEM = ("information_schema", "pg_catalog")
