"""A table of PostgreSQL. The role needs the right to read only.

Credentials come from the URL, from PGPASSWORD, or from ~/.pgpass, as in other programs on libpq.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.base.extras import needing
from parties.sources.settings import PlaceSettings, TableSettings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.opened import RowQuery

CONNECT_SECONDS = 10


def open_database(settings: PlaceSettings) -> RowQuery:
    """Return the rows of a table at a PostgreSQL URL, see `opening.open_rows`."""
    with needing(settings.label, "postgres"):
        import ibis
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        from parties.sources.databases import Postgres, one_line
        from parties.sources.named import find_table
        from parties.sources.opened import RowQuery
        from parties.sources.sql import checked_query, distinct_names
    query = settings.query if isinstance(settings, TableSettings) else None
    if query is not None:
        select = checked_query(query, "postgres", settings.label, None)
    elif settings.table is None:
        raise InputError(f"{settings.label}: name the `table` of the database, or write a `query`")
    try:
        password = conninfo_to_dict(settings.source).get("password")
    except psycopg.Error:  # its text quotes the URL
        raise InputError(
            f"{settings.label}: not a valid URL; it is postgresql://user@host:port/database, "
            "with special characters of user and password percent-encoded"
        ) from None
    hidden = [str(password)] if password else []
    try:
        connection = psycopg.connect(
            settings.source, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="smc"
        )
    except psycopg.Error as error:
        raise InputError(f"{settings.label}: {one_line(error, hidden)}") from None
    try:
        backend = ibis.postgres.from_connection(connection)
        engine = Postgres(backend, settings.label, hidden)
        engine.resources.callback(connection.close)
        with engine.reporting():
            connection.execute("SET standard_conforming_strings = on")  # the generated literals assume this
        if query is not None:
            with engine.reporting(": query"):
                return RowQuery(engine, select, distinct_names(engine.types(select), engine))
        with engine.reporting():
            assert settings.table is not None
            table = find_table(
                settings.table,
                settings.label,
                lambda schema, name: backend.table(name, database=schema and (connection.info.dbname, schema)),
                backend.list_tables,
            )
            query = backend.compiler.to_sqlglot(table)
        return RowQuery(engine, query, table.schema())
    except BaseException:
        connection.close()
        raise
