"""Databases encrypted at rest: SQLCipher encrypts each page by AES-256, with a key from a passphrase.

Such a file is recognised by its beginning, which is not that of SQLite's files. The passphrase is looked up like that
of a key file (`keyfile`): for state/node.sqlite in systemd's credential node.passphrase, in the file
state/node.passphrase, and at the terminal, once in a process.
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

_START, _PAGE = b"SQLite format 3\0", 4096  # first bytes of an SQLite file; page size of SQLCipher
LOCKED_SECONDS = 1.0  # wait for other readers before a database is sealed
_words: dict[Path, tuple[str, str]] = {}  # passphrases with their sources


def errors(*more: type[Exception], name: str = "Error") -> tuple[type[Exception], ...]:
    """Return the exceptions of this name of SQLite and, if loaded, SQLCipher, with further ones.

    Args:
        more: The further exceptions.
        name: Name of the exception class.
    """
    modules = (sqlite3, sys.modules.get("sqlcipher3.dbapi2"))
    return (*more, *(getattr(module, name) for module in modules if module is not None))


class _Peek:
    """An inspected file that stays open: to close it would drop SQLite's locks on it in this process."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.handle)


@lru_cache(maxsize=16)  # with more in one process, the least recently used is closed
def _peek(path: Path, device: int, number: int) -> _Peek:
    """Return the file at a path; device and inode number distinguish it from a later file there."""
    return _Peek(path)


def is_sealed(path: Path) -> bool:
    """Return whether a database is encrypted (or damaged beyond recognition)."""
    with suppress(OSError):
        status = path.stat()
        start = os.pread(_peek(path, status.st_dev, status.st_ino).handle, len(_START), 0)
        return bool(start) and start != _START and status.st_size % _PAGE == 0
    return False


def salt(path: Path) -> bytes:
    """Return the 16 random bytes at the start of an encrypted database, on which its key depends."""
    status = path.stat()
    return os.pread(_peek(path, status.st_dev, status.st_ino).handle, len(_START), 0)


def passphrase(path: Path) -> tuple[str, str]:
    """Return the passphrase of a database and its source in words. Raise InputError if it is not available."""
    if path not in _words:
        _words[path] = keyfile.sought(path)
    return _words[path]


def know(path: Path, word: str) -> None:
    """Use this passphrase for a database, until it fails to open it.

    Args:
        path: The database.
        word: The passphrase.
    """
    _words[path] = word, "that was given"


def forget(path: Path) -> None:
    """Look up the passphrase of a database again next time."""
    _words.pop(path, None)


def connect(path: Path, uri: str, **options: Any) -> sqlite3.Connection:
    """Open an encrypted database, as `sqlite3.connect` does.

    Args:
        path: The database.
        uri: Address of the database for SQLite.
        options: Further arguments of `sqlite3.connect`.

    Raises:
        InputError: The passphrase is not available, or does not open the database.
    """
    module = _sqlcipher(path)
    try:
        word, source = passphrase(path)
    except InputError as error:
        if path.with_suffix(keyfile.ENDING).exists():
            raise  # others may read it
        raise InputError(f"{error}; or else it is damaged: put a backup in its place") from None
    connection = module.connect(uri, uri=True, **options)
    try:
        connection.execute("PRAGMA cipher_log_level = NONE")  # it would write to standard error
        connection.execute(f"PRAGMA key = {_literal(word)}")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except module.OperationalError:
        connection.close()
        raise
    except module.DatabaseError:
        connection.close()
        forget(path)
        raise InputError(f"{path}: the passphrase {source} does not open it, or it is damaged") from None
    return cast("sqlite3.Connection", connection)


def in_memory(like: sqlite3.Connection, **options: Any) -> sqlite3.Connection:
    """Return an empty database in memory to which a database can be copied.

    Args:
        like: The database.
        options: Further arguments of `sqlite3.connect`.
    """
    if isinstance(like, sqlite3.Connection):
        return sqlite3.connect(":memory:", **options)
    copy = _sqlcipher(Path(":memory:")).connect(":memory:", **options)
    # SQLCipher does not copy an encrypted database to an unencrypted one
    copy.execute(f"PRAGMA key = {_literal(secrets.token_hex(16))}")
    return cast("sqlite3.Connection", copy)


@contextmanager
def sealing(path: Path, word: str) -> Iterator[tuple[bytes, Callable[[], None]]]:
    """Encrypt a database with a passphrase, change the passphrase, or decrypt it.

    The caller holds the lock of the node, so no other process uses the database.

    Args:
        path: The database.
        word: The new passphrase; empty to decrypt.

    Yields:
        The 16 random bytes at the start of the new file, and the function that replaces the old file in one step.

    Raises:
        InputError: The database cannot be read or written.
    """
    module, _ = _sqlcipher(path), _literal(word)
    options: dict[str, Any] = {"isolation_level": None, "timeout": LOCKED_SECONDS}
    uri = f"{path.absolute().as_uri()}?mode=rw"
    opened = connect(path, uri, **options) if is_sealed(path) else module.connect(uri, uri=True, **options)
    temporary = path.with_name(f".smc-{secrets.token_hex(8)}.tmp")

    def replace() -> None:
        temporary.replace(path)
        with suppress(OSError):  # some file systems cannot
            files.settle(path.parent)

    try:
        files.create_private(temporary, b"")
        # open until the rename: a process that waits for the lock would write to the old file
        with closing(opened) as connection:
            connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
            # moves everything into the file; fails if another process reads it
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.executescript("BEGIN EXCLUSIVE; COMMIT")  # the lock is kept
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
