"""Engines for queries: a temporary DuckDB of this program, or a database that exists already."""

from __future__ import annotations

import glob
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp
from ibis.backends.sql import SQLBackend
from typing_extensions import override

from parties.base.temporary import HeldDirectory
from parties.base.text import printable
from parties.tables.unfit import UnfitError
from protocols.counts import Indices
from smc.errors import InputError

WORK_MEMORY = "128MB"  # least work_mem of PostgreSQL: with less, it groups by sorting, several times slower
EACH_ONCE = "EXPLODE(ARRAY(0)) once AS once"
BATCH = 1 << 16  # rows of an answer in memory at a time
CELLS = 1 << 23  # of an answer in memory at a time, if that is not less than VECTOR rows
VECTOR = 2048  # rows that DuckDB processes at once
WIDE = 32  # most columns of a table whose equal rows are grouped by one query
COLUMNS_AT_ONCE = 1 << 13  # of all threads that read a wide table: a piece of a text column takes 32 KiB in each step
MESSAGE = 300  # characters of an engine's error that are shown


class Writing:
    """A transaction on a database. Other users see all of its changes once it ends, or none if it fails."""

    def __init__(self, engine: Database, run: Callable[[str], Sequence[Sequence[Any]]], catalog: str | None) -> None:
        self._engine = engine
        self._run = run
        self._catalog = catalog

    def counts(self, query: exp.Query) -> tuple[int, ...]:
        """Return the only row of a query's answer, all whole numbers."""
        return tuple(self._run(self._engine.sql(query))[0])

    def create(self, name: str, query: exp.Query) -> int:
        """Create a table from a query, and return its number of rows.

        Args:
            name: Name of the new table, NAME or SCHEMA.NAME. It must not exist.
            query: The rows.
        """
        schema, _, name = name.rpartition(".")
        if self._catalog is not None:
            schema = schema or "main"
        table = exp.table_(name, db=schema or None, catalog=self._catalog, quoted=True)
        self._run(self._engine.sql(exp.Create(this=table, kind="TABLE", expression=query)))
        return self.counts(exp.Select().select(exp.Count(this=exp.Star())).from_(table))[0]


class Database(ABC):
    """A connection that answers queries. Error messages call it `place` and omit the passwords in `hidden`."""

    cased = False  # whether names that differ only in case are two names
    reads_slowly = False  # whether to keep rows instead of reading them again: text files, or rows of a cluster

    def __init__(self, backend: SQLBackend, place: str, hidden: Sequence[str] = ()) -> None:
        self.backend = backend
        self.place = place
        self.resources = ExitStack()
        self._hidden = hidden
        self._need = ""  # memory that a wide table needs, for messages

    @property
    def lists(self) -> bool:
        """True if the engine finds values faster in lists than by comparisons: DuckDB."""
        return self.backend.name == "duckdb"

    def keep(self, rows: exp.Select) -> exp.Select:
        """Return a query with the same answer that is fast to repeat, such as one over a copy of the rows."""
        return rows

    def counts(self, query: exp.Query) -> Indices:
        """Return the answer to a query for whole numbers, int64[rows, columns]."""
        with self.reporting():
            return np.array(self._fetch(self.sql(query)), dtype=np.int64).reshape(-1, len(query.selects))

    def text(self, query: exp.Query) -> str | None:
        """Return the answer to a query whose result is a single text."""
        with self.reporting():
            text: str | None = self._fetch(self.sql(query))[0][0]
            return text

    def batches(self, query: exp.Query) -> Iterator[pa.Table]:
        """Yield the answer in Arrow tables of some ten thousand rows."""
        with self.reporting():
            yield from self._batches(self.sql(query), [column.alias_or_name for column in query.selects])

    @contextmanager
    def writing(self, helpers: Mapping[str, pa.Table]) -> Iterator[Writing]:
        """Open a transaction that can create tables. Its queries can read the Arrow tables in `helpers` by name.

        Raises:
            InputError: This program only reads databases of this type.
        """
        raise InputError(f"{self.place}: tables are made in DuckDB files and PostgreSQL only; write a file instead")
        yield

    def sql(self, query: exp.Expr) -> str:
        """Return the query as text in this engine's dialect."""
        return query.sql(dialect=self.backend.dialect)

    def probe(self, query: exp.Query) -> None:
        """Let the engine check all names in a query, without computing a row."""
        self._fetch(self.sql(exp.Select().select("*").from_(query.subquery("t")).limit(0)))

    @contextmanager
    def reporting(self, what: str = "") -> Iterator[None]:
        """Turn every error of the engine into an `InputError` of one line that begins with the place and `what`."""
        place = f"{self.place}{what}"
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # each engine has its own exceptions
            complaint = f"{place}: it could not be read ({type(error).__name__})"
            remedy = f"; give it more `memory`{self._need}, or fewer `threads`" if "OutOfMemory" in complaint else ""
            raise UnfitError(f"{place}: {one_line(error, self._hidden)}{remedy}", complaint) from None

    def close(self) -> None:
        """Release the connection and temporary files."""
        self.resources.close()

    @abstractmethod
    def _fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        """Run a query, and return the rows of its answer."""

    @abstractmethod
    def _batches(self, sql: str, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of an answer in Arrow tables with these column names."""


class DuckDb(Database):
    """A DuckDB that the caller has opened; it is only read."""

    @override
    def counts(self, query: exp.Query) -> Indices:
        with self.reporting():
            table = self.backend.raw_sql(self.sql(query)).to_arrow_table()
            lines = np.empty(table.shape, dtype=np.int64, order="F")
            for place, column in enumerate(table.columns):
                lines[:, place] = column.cast(pa.int64()).combine_chunks().to_numpy()  # no NULL is cast
            return lines

    def _fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        return self.backend.raw_sql(sql).fetchall()

    def _batches(self, sql: str, names: Sequence[str]) -> Iterator[pa.Table]:
        reader = self.backend.raw_sql(sql).to_arrow_reader(max(VECTOR, min(BATCH, CELLS // len(names))))
        with ThreadPoolExecutor(1) as ahead:  # reads the next piece while the present one is processed
            following = ahead.submit(next, reader, None)
            while (batch := following.result()) is not None:
                following = ahead.submit(next, reader, None)
                yield pa.Table.from_batches([batch]).rename_columns(list(names))


class Scratch(DuckDb):
    """A DuckDB in memory for files. It reads each file once and keeps the rows of frequent queries.

    Data beyond `memory` go to a temporary directory that only its owner may open. DuckDB encrypts them by a key that
    only this process has. Without an extension, its random numbers for the key may be weak: then only the
    permissions of the directory protect the data.
    """

    def __init__(self, place: str, memory: str, threads: int | None) -> None:
        spill = HeldDirectory("spill")
        options: dict[str, Any] = {} if threads is None else {"threads": threads}
        backend = ibis.duckdb.connect(
            memory_limit=memory,
            temp_directory=spill.name,
            temp_file_encryption=True,
            force_mbedtls_unsafe=True,
            preserve_insertion_order=False,
            autoinstall_known_extensions=False,
            **options,
        )
        super().__init__(backend, place)
        self.attached: tuple[str, str] | None = None  # path of a database file, and its catalog name
        self.catalogs: dict[str, str] = {}  # catalog name of each database file, by path
        self.reads: list[str] = []  # other files that queries may read
        self.resources.callback(spill.cleanup)
        self.resources.callback(backend.disconnect)
        backend.raw_sql("SET enable_progress_bar = false")

    def keep(self, rows: exp.Select) -> exp.Select:
        """Store the answer in a temporary table, and return a query for this table."""
        with self.reporting():
            self._fetch(self.sql(exp.Create(this=exp.to_table("kept"), kind="TEMPORARY TABLE", expression=rows)))
        return exp.Select().select("*").from_("kept")

    def attach(self, path: str, name: str, writable: bool = False) -> None:
        """Open a DuckDB file as a catalog.

        Args:
            path: The file.
            name: Name of the catalog.
            writable: Whether to open it for writing; otherwise other processes may read the file at the same time.
        """
        mode = [] if writable else [exp.AttachOption(this=exp.var("READ_ONLY"))]
        file = exp.alias_(exp.Literal.string(path), name)
        self._fetch(self.sql(exp.Attach(this=file, expressions=mode)))
        self.attached = path, name

    def plan_for(self, columns: int) -> None:
        """Let DuckDB plan queries of a wide table in linear time, without comparing pairs of expressions, and limit its
        threads, because each one holds a piece of every column.
        """
        if columns > WIDE:
            self._need = f" ({columns:,} columns need about {columns * 3 // 10}MB)"  # with two threads
            self._fetch("SET disabled_optimizers = 'common_subexpressions'")
            ((threads,),) = self._fetch("SELECT current_setting('threads')")
            self._fetch(f"SET threads = {min(threads, max(1, COLUMNS_AT_ONCE // columns))}")

    def confine(self) -> None:
        """Restrict all later queries to the files in `reads`, and lock DuckDB's settings."""
        paths = [exp.Literal.string(path) for read in self.reads for path in (read, glob.escape(read))]
        for setting in (
            f"allowed_paths = {exp.Array(expressions=paths).sql('duckdb')}",
            "enable_external_access = false",
            "python_enable_replacements = false",
            "preserve_insertion_order = true",  # later queries may need the rows' order, and settings are locked then
            "lock_configuration = true",
        ):
            self._fetch(f"SET {setting}")

    @contextmanager
    def writing(self, helpers: Mapping[str, pa.Table]) -> Iterator[Writing]:
        """Open a transaction on the attached DuckDB file. Raise InputError if none is attached."""
        if self.attached is None:
            raise InputError(f"{self.place}: a table is made in a database, and this is a file: write a file instead")
        path, name = self.attached
        with self.reporting():
            self._fetch(f"DETACH {name}")
            self.attach(path, name, writable=True)
            for helper, table in helpers.items():
                self.backend.con.register(helper, table)
            self.backend.con.begin()
            try:
                yield Writing(self, self._fetch, name)
            except BaseException:
                self.backend.con.rollback()
                raise
            self.backend.con.commit()


class Postgres(Database):
    """PostgreSQL. Each query is a read-only transaction, with enough memory to group rows by hashes."""

    cased = True

    def _fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        connection = self.backend.con
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(
                "SELECT set_config('work_mem', %s, true) "
                "WHERE pg_size_bytes(current_setting('work_mem')) < pg_size_bytes(%s)",
                (WORK_MEMORY, WORK_MEMORY),
            )
            return cursor.execute(sql).fetchall()

    def _batches(self, sql: str, names: Sequence[str]) -> Iterator[pa.Table]:
        connection = self.backend.con
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            with connection.cursor(name="smc_rows") as lines:  # kept by the server, or all would be sent at once
                lines.execute(sql)
                while batch := lines.fetchmany(BATCH):
                    yield pa.table([pa.array(column) for column in zip(*batch, strict=True)], names=list(names))

    def types(self, query: exp.Query) -> list[tuple[str, dt.DataType]]:
        """Return the names and types of a query's columns, without creating a view in the database as Ibis does."""
        connection = self.backend.con
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            columns = cursor.execute(self.sql(exp.Select().select("*").from_(query.subquery("t")).limit(0))).description
            kinds = [cursor.execute("SELECT format_type(%s, NULL)", (c.type_code,)).fetchone()[0] for c in columns]
        mapper = self.backend.compiler.type_mapper
        return [(column.name, mapper.from_string(kind)) for column, kind in zip(columns, kinds, strict=True)]

    @contextmanager
    def writing(self, helpers: Mapping[str, pa.Table]) -> Iterator[Writing]:
        """Open a transaction that reads the rows as they are at its beginning."""
        connection = self.backend.con
        with self.reporting(), connection.transaction(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            for name, table in helpers.items():
                kinds = ["TEXT" if pa.types.is_string(field.type) else "BIGINT" for field in table.schema]
                columns = ", ".join(f"{c} {kind}" for c, kind in zip(table.column_names, kinds, strict=True))
                cursor.execute(f"CREATE TEMPORARY TABLE {name} ({columns}) ON COMMIT DROP")
                with cursor.copy(f"COPY {name} FROM STDIN") as lines:
                    for batch in table.to_batches(BATCH):
                        for line in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                            lines.write_row(line)
                cursor.execute(f"ANALYZE {name}")

            def run(sql: str) -> Sequence[Sequence[Any]]:
                done = cursor.execute(sql)
                return [] if done.description is None else done.fetchall()

            yield Writing(self, run, None)


class Spark(Database):
    """A Spark session. Rows that are queried often are cached in Spark's memory or on its disk."""

    reads_slowly = True

    def keep(self, rows: exp.Select) -> exp.Select:
        """Cache the answer at the first query, and return a query for it."""
        name = f"smc_{secrets.token_hex(8)}"
        with self.reporting():
            cached = self.backend.raw_sql(self.sql(rows)).cache()
            cached.createTempView(name)
        self.resources.callback(cached.unpersist)
        self.resources.callback(self.backend.raw_sql, f"DROP VIEW {name}")
        # Spark bounds the rows of joins over a view of known size in time exponential in their number; not over this.
        return exp.Select().select("kept.*").from_(exp.to_table(name).as_("kept")).lateral(EACH_ONCE, dialect="spark")

    def _fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        table = self.backend.raw_sql(sql).toArrow()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def _batches(self, sql: str, names: Sequence[str]) -> Iterator[pa.Table]:
        for batch in self.backend.raw_sql(sql).toArrow().to_batches(BATCH):
            yield pa.Table.from_batches([batch]).rename_columns(list(names))


_WORDS = {  # DuckDB's errors for damaged files, and clearer texts
    "No magic bytes found at end of file": "this is no Parquet file, or it was cut short"
}


def one_line(error: Exception, hidden: Sequence[str] = ()) -> str:
    """Return the beginning of an error's text on one line.

    Args:
        error: The error.
        hidden: Secret texts, such as passwords, that are replaced by an ellipsis.
    """
    if len(error.args) == 2 and isinstance(error.args[0], int):  # MySQL: a number and a text
        error = Exception(error.args[1])
    if csv := re.search(r"CSV Error on (Line: \d+)\n.*?\n([^\n]+)\n\s*Possible ", str(error), re.DOTALL):
        text = f"{csv[1].lower().replace(':', '')}: {csv[2]}"
    else:
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        text = next((words for known, words in _WORDS.items() if known in text), text)
        text = text.removeprefix("Invalid Input Error: ") if ": derived." in text else text  # our own words
    for secret in hidden:
        text = text.replace(secret, "…")
    return printable(text)[:MESSAGE]
