"""A table or Parquet files in Spark. `spark://host:port` is a cluster's master; `spark://local` runs in this process.

All sources of a process share one Spark application, which ends with the process. A `table` with a `/` is a path that
Spark and all workers of the cluster can read. Otherwise it is a table of the catalog.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from typing import TYPE_CHECKING

from parties.base.address import parse_address
from parties.base.extras import needing
from parties.sources.settings import PlaceSettings, TableSettings
from smc.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parties.sources.opened import RowQuery

LOCAL = "spark://local"
CONNECT_SECONDS = 10.0
VIEW = "source"  # name of a view in a session of its own

ALWAYS: dict[str, bool | float | int | str | None] = {"spark.ui.showConsoleProgress": "false"}
ALONE: dict[str, bool | float | int | str | None] = {  # for Spark in this process
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
}

_starting = threading.Lock()


def open_session(settings: PlaceSettings) -> RowQuery:
    """Return the rows of a table at a Spark URL, see `opening.open_rows`."""
    with needing(settings.label, "spark"):
        import ibis
        import ibis.expr.datatypes as dt
        import sqlglot.expressions as exp
        from ibis.common.exceptions import TableNotFound
        from pyspark.errors import AnalysisException

        from parties.sources.databases import Spark
        from parties.sources.named import find_table
        from parties.sources.opened import RowQuery
        from parties.sources.sql import checked_query, distinct_names
    query = settings.query if isinstance(settings, TableSettings) else None
    if query is not None:
        select = checked_query(query, "spark", settings.label, None)
    elif settings.table is None:
        raise InputError(f"{settings.label}: name the `table`: one of the catalog, or the path of Parquet files")
    session = _application(settings).newSession()  # views and settings of its own
    session.conf.set("spark.sql.runSQLOnFiles", "false")  # csv.`/a/path` is no table

    def look(schema: str | None, name: str) -> None:
        try:
            session.table(exp.table_(name, db=schema, quoted=True).sql("spark")).createTempView(VIEW)
        except AnalysisException as error:
            if error.getCondition() not in ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"):
                raise
            raise TableNotFound(name) from None

    engine = Spark(ibis.pyspark.connect(session), settings.label)
    with engine.reporting(": query" if query is not None else ""):
        if query is not None:
            answer = session.sql(engine.sql(select))
            distinct_names([(name, dt.string) for name in answer.columns], engine)
            answer.createTempView(VIEW)
        elif settings.table is not None and "/" in settings.table:
            session.read.parquet(settings.table).createTempView(VIEW)
        else:
            assert settings.table is not None
            find_table(settings.table, settings.label, look, lambda: [t.name for t in session.catalog.listTables()])
        table = engine.backend.table(VIEW)
        query = engine.backend.compiler.to_sqlglot(table)
    return RowQuery(engine, query, table.schema())


def _application(settings: PlaceSettings) -> SparkSession:
    """Return the process's Spark application; the first call starts it.

    Raises:
        InputError: The application cannot start.
    """
    from pyspark.sql import SparkSession

    from parties.sources.databases import one_line

    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise InputError(f"{settings.label}: Spark needs Java 17 or newer, and there is none; install it")
    builder = SparkSession.builder.appName("smc")
    if settings.source == LOCAL:
        master, options = "local[*]", ALWAYS | ALONE
    else:
        master, options = settings.source, ALWAYS
        _require_reachable(settings)
    try:
        with _starting:
            session = builder.master(master).config(map=options).getOrCreate()
    except Exception as error:
        raise InputError(f"{settings.label}: Spark does not start: {one_line(error)}") from None
    running = session.sparkContext.master
    if running != master:
        raise InputError(f"{settings.label}: this process already uses Spark at {running}, and can use one only")
    return session


def _require_reachable(settings: PlaceSettings) -> None:
    """Raise InputError if no process listens at the master's address. Spark itself would try for minutes."""
    for master in settings.source.removeprefix("spark://").split(","):
        host, port = parse_address(master)
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            return
    raise InputError(f"{settings.label}: cannot reach the Spark master: {reason}; start it, or change source")
