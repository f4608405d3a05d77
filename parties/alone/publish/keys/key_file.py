"""The SQLite file under the keys: one command at a time, and whatever damage it has is told in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from smc.errors import InputError

WAIT = 10.0  # seconds for another command to be done


class KeyFile:
    """An open file in a transaction; `commit` keeps what was changed."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def commit(self) -> None:
        """Keep what was changed, and begin anew."""
        self.run("COMMIT")
        self.run("BEGIN IMMEDIATE")

    def all(self, query: str, kinds: Sequence[type], values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a query finds, each a value of each kind; `InputError` if others stand there."""
        with _usable(self.path):
            rows = self._connection.execute(query, values).fetchall()
        if any([type(value) for value in row] != list(kinds) for row in rows):
            raise self.damaged()
        return rows

    def run(self, change: str, values: Sequence[Any] = ()) -> int:
        """Change the file; return how many rows were changed."""
        with _usable(self.path):
            return self._connection.execute(change, values).rowcount

    def damaged(self) -> InputError:
        """Return what is wrong with a file in which stands what is never written."""
        return _damaged(self.path)


@contextmanager
def connected(path: Path) -> Iterator[KeyFile]:
    """Give the file, for this command alone. What is not committed in the block is undone."""
    with _usable(path):
        place = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(place, timeout=WAIT, uri=True, isolation_level=None)
    with closing(connection):
        file = KeyFile(path, connection)
        file.run("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        file.run("PRAGMA synchronous = FULL")
        file.run("BEGIN IMMEDIATE")
        try:
            yield file
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Give what SQLite complains of, as an `InputError` that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)  # none is Python's own: text that is not UTF-8
        if code in (None, sqlite3.SQLITE_ERROR):  # a table or column that is not there
            raise _damaged(path) from None
        reason = "another command uses it" if code == sqlite3.SQLITE_BUSY else str(error)
        raise InputError(f"{path} cannot be used: {reason}") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError):  # the second: of its complaint's own text
        raise _damaged(path) from None


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: not a file that smc publish keys wrote, or damaged since")
