"""A database that is encrypted at rest: SQLCipher keeps each page in AES-256, under a key from a passphrase.

Nothing but the file says so: it does not begin as SQLite's files do. The passphrase is looked for as that of a key's
file (`keyfile`): of state/node.sqlite in systemd's credential node.passphrase, in the file state/node.passphrase, and
at the terminal, once a process.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from parties.base import extras, files, keyfile
from smc.errors import InputError

_START, _PAGE = b"SQLite format 3\0", 4096  # of a file of SQLite's, and of SQLCipher's
LOCKED_SECONDS = 1.0  # that a database may be read by others before it is sealed
_words: dict[Path, tuple[str, str]] = {}  # passphrases, and from where they are


def errors(*more: type[Exception], name: str = "Error") -> tuple[type[Exception], ...]:
    """Return what a database may raise, and more: the exceptions of a name of SQLite and, if it is there, SQLCipher."""
    modules = (sqlite3, sys.modules.get("sqlcipher3.dbapi2"))
    return (*more, *(getattr(module, name) for module in modules if module is not None))


class _Peek:
    """A file that is looked at and stays open: to close it would drop the locks that SQLite has on it here."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.handle)


@lru_cache(maxsize=16)  # of more in one process the one that was looked at longest ago is closed
def _peek(path: Path, device: int, number: int) -> _Peek:
    """Return the file that is at a path, named by its inode, too: a path may come to be another file's."""
    return _Peek(path)


def is_sealed(path: Path) -> bool:
    """Return whether a database is encrypted (or as damaged as can be)."""
    with suppress(OSError):
        found = path.stat()
        start = os.pread(_peek(path, found.st_dev, found.st_ino).handle, len(_START), 0)
        return bool(start) and start != _START and found.st_size % _PAGE == 0
    return False


def salt(path: Path) -> bytes:
    """Return the 16 random bytes that an encrypted database begins with, of which its key depends."""
    found = path.stat()
    return os.pread(_peek(path, found.st_dev, found.st_ino).handle, len(_START), 0)


def passphrase(path: Path) -> tuple[str, str]:
    """Return the passphrase of a database, and from where it is, in words. `InputError` if it is not to be had."""
    if path not in _words:
        _words[path] = keyfile.sought(path)
    return _words[path]


def know(path: Path, word: str) -> None:
    """Take this passphrase for that of a database, until it does not open it."""
    _words[path] = word, "that was given"


def forget(path: Path) -> None:
    """Look for the passphrase of a database anew, next time."""
    _words.pop(path, None)


def connect(path: Path, uri: str, **options: Any) -> sqlite3.Connection:
    """Open one, as `sqlite3.connect` does. `InputError` if the passphrase is not to be had, or is another one."""
    module = _sqlcipher(path)
    try:
        word, place = passphrase(path)
    except InputError as error:
        if path.with_suffix(keyfile.ENDING).exists():
            raise  # others may read it
        raise InputError(f"{error}; or else it is damaged: put a backup in its place") from None
    connection = module.connect(uri, uri=True, **options)
    try:
        connection.execute("PRAGMA cipher_log_level = NONE")  # it would speak on standard error
        connection.execute(f"PRAGMA key = {_literal(word)}")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except module.OperationalError:
        connection.close()
        raise
    except module.DatabaseError:
        connection.close()
        forget(path)
        raise InputError(f"{path}: the passphrase {place} does not open it, or it is damaged") from None
    return cast("sqlite3.Connection", connection)


def in_memory(like: sqlite3.Connection, **options: Any) -> sqlite3.Connection:
    """Return an empty database in memory that this one can be copied to."""
    if isinstance(like, sqlite3.Connection):
        return sqlite3.connect(":memory:", **options)
    copy = _sqlcipher(Path(":memory:")).connect(":memory:", **options)
    copy.execute(f"PRAGMA key = {_literal(secrets.token_hex(16))}")  # it copies nothing encrypted to what is not
    return cast("sqlite3.Connection", copy)


@contextmanager
def sealing(path: Path, word: str) -> Iterator[tuple[bytes, Callable[[], None]]]:
    """Encrypt a database with a passphrase, or with another one; with an empty one it is not encrypted any more.

    Nobody may be using it: the caller holds the lock of its node. Gives how the new file begins (see `salt`), and what
    lets it take the place of the old one, in one step. `InputError`.
    """
    module, _ = _sqlcipher(path), _literal(word)
    options: dict[str, Any] = {"isolation_level": None, "timeout": LOCKED_SECONDS}
    place = f"{path.absolute().as_uri()}?mode=rw"
    opened = connect(path, place, **options) if is_sealed(path) else module.connect(place, uri=True, **options)
    temporary = path.with_name(f".smc-{secrets.token_hex(8)}.tmp")

    def replace() -> None:
        temporary.replace(path)
        with suppress(OSError):  # not every file system can
            files.settle(path.parent)

    try:
        files.create_private(temporary, b"")
        with closing(opened) as connection:  # open until the other has its name: who waits for it writes to that one
            connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = DELETE")  # all of it in the file; locked if somebody reads it
            connection.executescript("BEGIN EXCLUSIVE; COMMIT")  # and so it stays
            (state,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute("ATTACH DATABASE ? AS other KEY ?", (str(temporary.absolute()), word))
            connection.execute("SELECT sqlcipher_export('other')")
            connection.execute(f"PRAGMA other.user_version = {state:d}")
            connection.execute("DETACH DATABASE other")
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
                start = stream.read(len(_START))
            yield start, replace
    finally:
        temporary.unlink(missing_ok=True)
        forget(path)


def _sqlcipher(path: Path) -> Any:
    with extras.needing(f"{path}: its encryption", "sealed"):
        from sqlcipher3 import dbapi2
    return dbapi2


def _literal(word: str) -> str:
    if "\0" in word:
        raise InputError("the passphrase has a NUL byte")
    return "'" + word.replace("'", "''") + "'"
