"""Dialects of databases that are not read: our queries are written in them, read back and run by DuckDB, and agree."""

from __future__ import annotations

import math
from pathlib import Path

import ibis
import pyarrow.parquet
import pytest
import sqlglot
import sqlglot.expressions as exp
from sqlglot.errors import ErrorLevel

from parties.sources.databases import DuckDb
from parties.sources.mapping import rules
from parties.sources.queried import QueriedSource
from tests.support import typed
from tests.support.agreement import assert_same_counts


class Through(DuckDb):
    """A DuckDB that is asked by way of another dialect."""

    dialect = ""

    @property
    def lists(self) -> bool:
        return False

    def sql(self, query: exp.Expr) -> str:
        text = query.sql(self.dialect, unsupported_level=ErrorLevel.RAISE)
        (read,) = sqlglot.transpile(text, read=self.dialect, write="duckdb", unsupported_level=ErrorLevel.RAISE)
        # Types of SQL Server whose names are read otherwise: its FLOAT has 53 bits.
        return read.replace("(MAX)", "").replace("AS FLOAT)", "AS DOUBLE)").replace("AS REAL)", "AS DOUBLE)")


def is_finite(cell: object) -> bool:
    """Whether such a cell is there in all databases."""
    return not isinstance(cell, float) or math.isfinite(cell)


@pytest.mark.parametrize("dialect", ["tsql", "oracle", "snowflake", "bigquery"])
def test_queries_mean_the_same(dialect: str, tmp_path: Path) -> None:
    finite = [
        places for places in typed.every_value() if all(map(is_finite, typed.table([places]).to_pylist()[0].values()))
    ]
    pyarrow.parquet.write_table(typed.table(finite), tmp_path / "typed.parquet")
    backend = ibis.duckdb.connect()
    table = backend.read_parquet(tmp_path / "typed.parquet")
    engine = Through(backend, "the table")
    engine.dialect = dialect
    wanted = rules(typed.COLUMNS, typed.SCHEMA, list(typed.SCHEMA.attributes))
    query = backend.compiler.to_sqlglot(table)
    with QueriedSource(engine, query, table.schema(), wanted, 1000) as source:
        assert_same_counts(source, typed.counts(finite), typed.SCHEMA, typed.TARGET)
