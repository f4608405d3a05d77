"""MySQL and MariaDB as an engine, with their differences from other engines.

Texts are compared letter by letter, whatever the collations of columns: case, accents and final spaces matter.
BOOLEAN is a number, 0 or 1. A date of zeros is a missing value. A TIME may be a duration, not a time of day.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa
import sqlglot.expressions as exp
from MySQLdb.constants import FIELD_TYPE as KIND
from MySQLdb.constants import FLAG
from MySQLdb.cursors import SSCursor
from sqlglot.dialects.mysql import MySQL
from sqlglot.generators.mysql import MySQLGenerator
from typing_extensions import override

from parties.sources import databases
from parties.sources.databases import Database, Scratch
from parties.sources.expressions import SPACE
from parties.sources.settings import PlaceSettings
from parties.sources.sql import distinct_names
from protocols.counts import Indices

KEPT = exp.to_table("kept")
STALLED = 3600  # seconds that the server waits until the client takes the next rows of an answer

# Without any mode, || is OR, "a" is text and \ escapes: sqlglot writes and reads SQL in this way.
SESSION = (
    "SET SESSION sql_mode = ''",
    "SET SESSION time_zone = '+00:00'",
    f"SET SESSION net_write_timeout = {STALLED}",
    "SET SESSION TRANSACTION READ ONLY",
)
WHOLE = (KIND.TINY, KIND.SHORT, KIND.INT24, KIND.LONG, KIND.LONGLONG, KIND.BIT, KIND.YEAR)
TEXT = (KIND.VARCHAR, KIND.VAR_STRING, KIND.STRING, KIND.ENUM, KIND.SET, KIND.NULL)
BLOBS = (KIND.TINY_BLOB, KIND.MEDIUM_BLOB, KIND.LONG_BLOB, KIND.BLOB)
TYPES: dict[int, dt.DataType] = {
    **dict.fromkeys((KIND.FLOAT, KIND.DOUBLE), dt.float64),
    **dict.fromkeys((KIND.DECIMAL, KIND.NEWDECIMAL), dt.Decimal()),
    KIND.DATE: dt.date,
    **dict.fromkeys((KIND.DATETIME, KIND.TIMESTAMP), dt.timestamp),
    KIND.TIME: dt.time,
    KIND.JSON: dt.json,
    **dict.fromkeys((*TEXT, *BLOBS), dt.string),
}


class MySql(Database):
    """A connection to MySQL or MariaDB that cannot write; it fetches rows as they are needed.

    The database has no grouping sets and no temporary space for a reader. So rows that are queried often are kept as
    category indices in a DuckDB within the table's `memory`.
    """

    def __init__(self, connection: Any, settings: PlaceSettings, hidden: Sequence[str] = ()) -> None:
        with warnings.catch_warnings():  # about a time zone that is set by its offset
            warnings.simplefilter("ignore")
            backend = ibis.mysql.from_connection(connection)
        super().__init__(backend, settings.label, hidden)
        self.resources.callback(connection.close)
        self._settings = settings
        self._kept: Scratch | None = None
        # Compares bytes, without padding shorter texts with spaces.
        binary = "utf8mb4_nopad_bin" if "mariadb" in connection.get_server_info().lower() else "utf8mb4_0900_bin"
        with self.reporting(), connection.cursor() as cursor:
            for command in (f"SET NAMES utf8mb4 COLLATE {binary}", *SESSION):
                cursor.execute(command)

    @property
    def is_encrypted(self) -> bool:
        """True if the connection uses TLS. Some clients connect without TLS if the server offers none."""
        return bool(self._fetch("SHOW SESSION STATUS LIKE 'Ssl_cipher'")[0][1])

    @override
    def sql(self, query: exp.Expr) -> str:
        return _Written.write(query)

    @override
    def keep(self, rows: exp.Select) -> exp.Select:
        self._kept = scratch = Scratch(self.place, self._settings.memory, self._settings.threads)
        self.resources.callback(scratch.close)
        names = [column.alias_or_name for column in rows.selects]
        schema = pa.schema([(name, pa.int64()) for name in names])
        pieces = (batch for piece in self.batches(rows) for batch in piece.cast(schema).to_batches())
        with self.reporting():
            reader = pa.RecordBatchReader.from_batches(schema, pieces)
            scratch.backend.con.register("lines", reader)
            scratch.keep(exp.Select().select(*(exp.column(name) for name in names)).from_("lines"))
            scratch.backend.con.unregister("lines")
        return exp.Select().select("*").from_(KEPT)

    @override
    def counts(self, query: exp.Query) -> Indices:
        return super().counts(query) if (scratch := self._with_kept(query)) is None else scratch.counts(query)

    @override
    def batches(self, query: exp.Query) -> Iterator[pa.Table]:
        return super().batches(query) if (scratch := self._with_kept(query)) is None else scratch.batches(query)

    def _with_kept(self, query: exp.Query) -> Scratch | None:
        """Return the DuckDB that has the kept rows, if the query reads them; else None."""
        return self._kept if any(table == KEPT for table in query.find_all(exp.Table)) else None

    @override
    def _fetch(self, sql: str) -> Sequence[Sequence[Any]]:
        with self.backend.con.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    @override
    def _batches(self, sql: str, names: Sequence[str]) -> Iterator[pa.Table]:
        with self.backend.con.cursor(SSCursor) as lines:  # kept by the server, or all would be in memory at once
            lines.execute(sql)
            while batch := lines.fetchmany(databases.BATCH):
                yield pa.table([pa.array(column) for column in zip(*batch, strict=True)], names=list(names))

    def plainly(self, query: exp.Query) -> tuple[exp.Query, dict[str, dt.DataType]]:
        """Return the query with cells converted to the types of other engines, and the types of its columns."""
        with self.backend.con.cursor() as cursor:
            cursor.execute(self.sql(exp.Select().select("*").from_(query.subquery("t")).limit(0)))
            columns = list(zip(cursor.description, cursor.description_flags, strict=True))
        types = distinct_names([(column[0], _type(column[1], flags)) for column, flags in columns], self)
        self._correct_bytes(query, types)
        kinds = {column[0]: column[1] for column, _ in columns}
        cells = [_plain(name, kinds[name], dtype).as_(name, quoted=True) for name, dtype in types.items()]
        return exp.Select().select(*cells).from_(query.subquery("t")), types

    def _correct_bytes(self, query: exp.Query, types: dict[str, dt.DataType]) -> None:
        """Correct the type of columns of bytes, which an answer's description calls text."""
        names = [name for name, dtype in types.items() if dtype.is_string()]
        if not names:
            return
        none = exp.Select().select("*").from_(query.subquery("t")).limit(0)
        sets = [exp.func("CHARSET", exp.func("MAX", exp.column(name, quoted=True))) for name in names]
        (line,) = self._fetch(self.sql(exp.Select().select(*sets).from_(none.subquery("t"))))
        types |= {name: dt.binary for name, charset in zip(names, line, strict=True) if charset == "binary"}


def _type(kind: int, flags: int) -> dt.DataType:
    if kind in WHOLE:
        return dt.uint64 if flags & FLAG.UNSIGNED else dt.int64
    return TYPES.get(kind, dt.binary)  # columns of unknown types hold no categories


def _plain(name: str, kind: int, dtype: dt.DataType) -> exp.Expr:
    """Return the SQL of a cell, of MySQL's type code `kind` and of type `dtype`, as the type of other engines."""
    cell = exp.column(name, quoted=True)
    if dtype.is_string():
        return exp.cast(cell, "CHAR")  # in the connection's collation
    if kind == KIND.BIT:
        return exp.cast(cell, exp.DataType.Type.UBIGINT)
    if kind == KIND.YEAR:  # as a YEAR, 20 would be compared as 2020
        return exp.cast(cell, "BIGINT")
    if dtype.is_date() or dtype.is_timestamp():
        zeros = exp.Like(this=exp.cast(cell.copy(), "CHAR"), expression=exp.Literal.string("0000-00-00%"))
        return exp.case().when(zeros, exp.Null()).else_(cell)
    return cell


class _Written(MySQLGenerator):
    """Generator of SQL for MySQL and MariaDB from this program's expressions."""

    @classmethod
    def write(cls, query: exp.Expr) -> str:
        text: str = cls(dialect=MySQL(), identify=True).generate(query)
        return text

    def _trim(self, trim: exp.Trim) -> str:
        """Remove any of the given letters at both ends of a text. A TRIM in an operator's SQL stays unchanged."""
        if trim.expression != exp.Literal.string(SPACE):
            return self.trim_sql(trim)
        space = f"[{SPACE}]+"
        return self.func("REGEXP_REPLACE", trim.this, exp.Literal.string(f"^{space}|{space}$"), exp.Literal.string(""))

    def _matches(self, match: exp.RegexpLike) -> str:
        return f"({self.sql(match, 'this')} RLIKE {self.sql(match, 'expression')})"

    def _equal(self, equal: exp.EQ) -> str:
        """Compare two values. A comparison with NaN is FALSE: the database lacks NaN and would compare with 0."""
        return "FALSE" if equal.expression == NAN else self.binary(equal, "=")

    def _part(self, part: exp.Extract) -> str:
        """Extract a part of a time. The hour is NULL for a duration outside 0 to 24 hours, such as -00:00:01."""
        text = self.extract_sql(part)
        if part.name != "HOUR":
            return text
        time = f"TIME({self.sql(part, 'expression')})"
        return f"CASE WHEN {time} BETWEEN '00:00:00' AND '23:59:59.999999' THEN {text} END"

    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **MySQLGenerator.TRANSFORMS,
        exp.Trim: lambda self, e: self._trim(e),
        exp.RegexpLike: lambda self, e: self._matches(e),
        exp.EQ: lambda self, e: self._equal(e),
        exp.Extract: lambda self, e: self._part(e),
    }


NAN = exp.cast(exp.Literal.string("NaN"), "DOUBLE")
