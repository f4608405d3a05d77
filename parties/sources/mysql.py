"""A table of MySQL or MariaDB. The user needs the right to SELECT only.

Credentials come from the URL, from MYSQL_PWD, or, as in other clients, from the group `client` of ~/.my.cnf.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from parties.base.extras import needing
from parties.base.text import instead, quoted
from parties.sources.settings import PlaceSettings, TableSettings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.sources.opened import RowQuery

CONNECT_SECONDS = 10
TLS = ("ssl_ca", "ssl_cert", "ssl_key")  # files
OPTIONS = ("ssl_mode", "unix_socket", *TLS)
MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")


def open_database(settings: PlaceSettings) -> RowQuery:
    """Return the rows of a table at a MySQL URL, see `opening.open_rows`."""
    with needing(settings.label, "mysql"):
        import MySQLdb
        import sqlglot.expressions as exp
        from ibis.common.exceptions import TableNotFound
        from MySQLdb.constants import ER

        from parties.sources.databases import one_line
        from parties.sources.mysql_engine import MySql
        from parties.sources.named import find_table
        from parties.sources.opened import RowQuery
        from parties.sources.sql import checked_query
    query = settings.query if isinstance(settings, TableSettings) else None
    if query is not None:
        select = checked_query(query, "mysql", settings.label, None)
    elif settings.table is None:
        raise InputError(f"{settings.label}: name the `table` of the database, or write a `query`")
    options = _options(settings)
    hidden = [str(password)] if (password := options.get("password")) else []
    try:
        connection = MySQLdb.connect(**options)
    except (MySQLdb.Error, MySQLdb.NotSupportedError) as error:
        raise InputError(f"{settings.label}: {one_line(error, hidden)}") from None
    try:
        engine = MySql(connection, settings, hidden)
        if options.get("ssl_mode", "") in MODES[2:] and not engine.is_encrypted:
            raise InputError(
                f"{settings.label}: ssl_mode: asks for encryption, but the server gave a connection without it; "
                "turn on TLS at the server, or remove ssl_mode"
            )

        def look(schema: str | None, name: str) -> exp.Query:
            rows = exp.Select().select("*").from_(exp.table_(name, db=schema, quoted=True))
            try:
                engine.probe(rows)
            except MySQLdb.Error as error:
                absent = error.args[0] in (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR, ER.WRONG_TABLE_NAME, ER.WRONG_DB_NAME)
                # Without rights to a table you cannot learn whether it exists.
                unseen = error.args[0] == ER.TABLEACCESS_DENIED_ERROR and name not in engine.backend.list_tables()
                if absent or unseen:
                    raise TableNotFound(name) from None
                raise
            return rows

        with engine.reporting(": query" if query is not None else ""):
            if query is None:
                assert settings.table is not None
                select = find_table(settings.table, settings.label, look, engine.backend.list_tables)
            return RowQuery(engine, *engine.plainly(select))
    except BaseException:
        connection.close()
        raise


def _options(settings: PlaceSettings) -> dict[str, Any]:
    """Return the connection options of a URL.

    Raises:
        InputError: It is not a URL. The message does not quote it.
    """
    try:
        url = urlsplit(settings.source)
        port, pairs = url.port, parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query))
    except ValueError:
        pairs, port, url = [], None, urlsplit("")
    user, colon, password = (url.netloc.rpartition("@")[0]).partition(":")
    database = unquote(url.path.removeprefix("/"))
    if not database or "/" in database or "@" in password or url.fragment:
        raise InputError(
            f"{settings.label}: not a valid URL; it is mysql://user@host:port/database, "
            "with special characters of user and password percent-encoded"
        )
    options: dict[str, Any] = {"database": database, "connect_timeout": CONNECT_SECONDS, "charset": "utf8mb4"}
    options |= {"autocommit": True, "local_infile": 0}  # otherwise a server could request any file of the client
    for key, value in pairs:
        if key not in OPTIONS:
            raise InputError(f"{settings.label}: the option {quoted(key)} is not known{instead(key, OPTIONS)}")
        if key == "ssl_mode" and value not in MODES:
            raise InputError(f"{settings.label}: ssl_mode: there is no mode {quoted(value)}{instead(value, MODES)}")
        if key in TLS:
            options.setdefault("ssl", {})[key.removeprefix("ssl_")] = value
        else:
            options[key] = value
    if user:
        options["user"] = unquote(user)
    if (secret := unquote(password) if colon else os.environ.get("MYSQL_PWD")) is not None:
        options["password"] = secret
    if "unix_socket" not in options:
        # Clients use a Unix socket for "localhost", at a path fixed at build time. Here it is the host's address.
        options |= {"host": "127.0.0.1" if url.hostname in (None, "localhost") else url.hostname, "port": port or 3306}
    if (client_file := Path("~/.my.cnf").expanduser()).exists():
        options |= {"read_default_file": str(client_file), "read_default_group": "client"}
    return options
