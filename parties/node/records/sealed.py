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
from contextlib import closing, suppress
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


def refuse_plain(path: Path) -> None:
    """Raise `InputError` if a database is not encrypted though its passphrase is here: another may stand in its place.

    What is written would be readable, and nobody would notice.
    """
    if not is_sealed(path) and (line := keyfile.first_line(path.with_suffix(keyfile.ENDING))) is not None:
        raise InputError(
            f"{path} is not encrypted, but its passphrase is there, {line[1]}: put the encrypted one back, or encrypt "
            "it by smc audit seal, or take the passphrase away"
        )


def connect(path: Path, uri: str, **options: Any) -> sqlite3.Connection:
    """Open one, as `sqlite3.connect` does. `InputError` if the passphrase is not to be had, or is another one."""
    module = _sqlcipher(path)
    try:
        word, place = _words[path] = _words.get(path) or keyfile.sought(path)
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
        del _words[path]
        raise InputError(f"{path}: the passphrase {place} does not open it, or it is damaged") from None
    return cast("sqlite3.Connection", connection)


def in_memory(like: sqlite3.Connection, **options: Any) -> sqlite3.Connection:
    """Return an empty database in memory that this one can be copied to."""
    if isinstance(like, sqlite3.Connection):
        return sqlite3.connect(":memory:", **options)
    copy = _sqlcipher(Path(":memory:")).connect(":memory:", **options)
    copy.execute(f"PRAGMA key = {_literal(secrets.token_hex(16))}")  # it copies nothing encrypted to what is not
    return cast("sqlite3.Connection", copy)


def seal(path: Path, word: str) -> None:
    """Encrypt a database with a passphrase, or with another one; with an empty one it is not encrypted any more.

    Nobody may be using it: the caller holds the lock of its node. The file is replaced in one step. `InputError`.
    """
    module, _ = _sqlcipher(path), _literal(word)
    options: dict[str, Any] = {"isolation_level": None, "timeout": LOCKED_SECONDS}
    place = f"{path.absolute().as_uri()}?mode=rw"
    opened = connect(path, place, **options) if is_sealed(path) else module.connect(place, uri=True, **options)
    temporary = path.with_name(f".smc-{secrets.token_hex(8)}.tmp")
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
            temporary.replace(path)
            with suppress(OSError):  # not every file system can
                files.settle(path.parent)  # or a power cut brings the other back, without what is written from here on
    finally:
        temporary.unlink(missing_ok=True)
        _words.pop(path, None)


def _sqlcipher(path: Path) -> Any:
    with extras.needing(f"{path}: its encryption", "sealed"):
        from sqlcipher3 import dbapi2
    return dbapi2


def _literal(word: str) -> str:
    if "\0" in word:
        raise InputError("the passphrase has a NUL byte")
    return "'" + word.replace("'", "''") + "'"
