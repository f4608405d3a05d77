"""Tables of a Python program: data frames in memory, and Ibis tables of databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.types as ir

from parties.sources.databases import Database, DuckDb, Postgres, Scratch, Spark, one_line
from parties.sources.mapping import ColumnRule
from parties.sources.opened import RowQuery
from parties.sources.queried import QueriedSource
from smc.errors import InputError

FRAME = "the frame"
DATABASES: dict[str, type[Database]] = {"duckdb": DuckDb, "postgres": Postgres, "pyspark": Spark}


def open_frame(
    frame: Any, rules: Sequence[ColumnRule], max_rows: int, memory: str, threads: int | None
) -> QueriedSource:
    """Return a source that counts the rows of a frame, see `opening.from_frame`.

    Args:
        frame: A frame of pandas, Polars or Arrow, or an Ibis table.
        rules: Mapping of each attribute to the schema.
        max_rows: Largest allowed number of rows.
        memory: Memory that DuckDB may use.
        threads: Threads of DuckDB; None for its default.

    Raises:
        InputError: The object is not a table.
    """
    rows = frame_rows(frame, memory, threads)
    try:
        return QueriedSource(rows.engine, rows.query, rows.types, rules, max_rows)
    except BaseException:
        rows.engine.close()
        raise


def frame_rows(frame: Any, memory: str, threads: int | None = None) -> RowQuery:
    """Return the rows of a frame as a query of an engine.

    Args:
        frame: A frame of pandas, Polars or Arrow, or an Ibis table.
        memory: Memory that DuckDB may use.
        threads: Threads of DuckDB; None for its default.

    Raises:
        InputError: The object is not a table.
    """
    if isinstance(frame, ir.Table):
        table, engine = frame, _own_engine(frame)
    else:
        try:
            table = ibis.memtable(frame)
        except Exception as error:  # raised by Ibis, or by the frame's library
            raise InputError(f"{FRAME}: cannot be read as a table: {one_line(error)}") from None
        engine = Scratch(FRAME, memory, threads)
    try:
        with engine.reporting():
            engine.backend.to_pyarrow(table.limit(0))  # registers the frames that the table refers to
        return RowQuery(engine, engine.backend.compiler.to_sqlglot(table), table.schema())
    except BaseException:
        engine.close()
        raise


def _own_engine(table: ir.Table) -> Database:
    try:
        backend = table.get_backend()
    except Exception as error:
        raise InputError(f"{FRAME}: {one_line(error)}") from None
    if backend.name not in DATABASES:
        raise InputError(f"{FRAME}: an Ibis table must be of DuckDB, PostgreSQL or Spark, not {backend.name}")
    return DATABASES[backend.name](backend, FRAME)
