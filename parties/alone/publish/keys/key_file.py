"""SQLite file of keys: exclusive access for one command, and one-line errors for damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from smc.errors import InputError

WAIT = 10.0  # seconds to wait for another command


class KeyFile:
    """An open key file in a transaction; `commit` stores the changes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def commit(self) -> None:
        """Store the changes, and begin a new transaction."""
        self.run("COMMIT")
        self.run("BEGIN IMMEDIATE")

    def all(self, query: str, kinds: Sequence[type], values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query.

        Args:
            query: SQL
            kinds: type of each column
            values: parameters of the query

        Raises:
            InputError: a row has other types
        """
        with _usable(self.path):
            rows = self._connection.execute(query, values).fetchall()
        if any([type(value) for value in row] != list(kinds) for row in rows):
            raise self.damaged()
        return rows

    def run(self, change: str, values: Sequence[Any] = ()) -> int:
        """Execute a change, and return the number of changed rows.

        Args:
            change: SQL statement
            values: parameters of the change
        """
        with _usable(self.path):
            return self._connection.execute(change, values).rowcount

    def damaged(self) -> InputError:
        """Return the error for a key file with content that this program never writes."""
        return _damaged(self.path)


@contextmanager
def connected(path: Path) -> Iterator[KeyFile]:
    """Open the file for this command alone. Changes that the block does not commit are undone."""
    with _usable(path):
        place = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(place, timeout=WAIT, uri=True, isolation_level=None)
    with closing(connection):
        file = KeyFile(path, connection)
        file.run("PRAGMA secure_delete = ON")  # deleted content is overwritten
        file.run("PRAGMA synchronous = FULL")
        file.run("BEGIN IMMEDIATE")
        try:
            yield file
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)  # Python's own errors have no code: text that is not UTF-8
        if code in (None, sqlite3.SQLITE_ERROR):  # a missing table or column
            raise _damaged(path) from None
        reason = "another command uses it" if code == sqlite3.SQLITE_BUSY else str(error)
        raise InputError(f"{path} cannot be used: {reason}") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError):  # UnicodeDecodeError: of SQLite's own message
        raise _damaged(path) from None


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: not a file that smc publish keys wrote, or damaged since")
