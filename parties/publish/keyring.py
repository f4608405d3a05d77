"""Keys of columns and subjects in a file, each wrapped by a master key that is kept elsewhere; and what was done.

The file is an SQLite database for its owner only. A column's key has versions: the last one makes pseudonyms, all
restore them. A subject's key is found by a keyed hash of who it is, or by the handle that stands, encrypted, in each
of the subject's pseudonyms; it is overwritten when it is removed. Records are a chain of HMAC-SHA256 whose key is in
the file too, wrapped: who lacks the master key can neither change one nor take one away, short of putting back an
older file.
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap

from parties import files
from parties.canonical import dump
from parties.publish.cell_keys import ColumnKey, Subject
from parties.publish.ciphers import KEY_BYTES, VERSION_BYTES, Mode, cell_cipher
from parties.text import instead, quoted
from smc.errors import InputError

MASTER_BYTES = 32  # AES-256
HANDLE_BYTES = 16
WAIT = 10.0  # seconds for another command to be done
ASKED = 500  # subjects a query
_TABLES = """
CREATE TABLE own (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL) STRICT;
CREATE TABLE columns (
    name TEXT NOT NULL, version INTEGER NOT NULL, mode TEXT NOT NULL, wrapped BLOB NOT NULL, PRIMARY KEY (name, version)
) STRICT;
CREATE TABLE subjects (tag BLOB PRIMARY KEY, handle BLOB NOT NULL UNIQUE, wrapped BLOB NOT NULL) STRICT;
CREATE TABLE records (number INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT NOT NULL, fields TEXT NOT NULL,
    previous TEXT NOT NULL, mac TEXT NOT NULL) STRICT;
CREATE TABLE head (mac TEXT NOT NULL) STRICT;
"""
_RECORD = "number, at, what, fields, previous"


class Keyring:
    """An open file of keys, for one command alone; `commit` keeps what was changed."""

    def __init__(self, path: Path, connection: sqlite3.Connection, master: bytes) -> None:
        self.path = path
        self._connection = connection
        self._master = master
        self._records_key, self._index_key = (
            self._unwrap(wrapped) for _, wrapped in sorted(self._all("SELECT name, wrapped FROM own"), reverse=True)
        )

    def commit(self) -> None:
        """Keep what was changed, and begin anew."""
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN IMMEDIATE")

    def column(self, name: str, mode: Mode) -> ColumnKey:
        """The last version of a column's key, made if there is none. `InputError` if it is for another mode."""
        known = self._versions(name)
        if not known:
            self._add(name, 1, mode)
            known = self._versions(name)
        last = max(known.values(), key=lambda key: key.version)
        if last.mode != mode:
            raise InputError(f"{self.path}: the key {quoted(name)} is for {last.mode} pseudonyms, not {mode} ones")
        return last

    def versions(self, name: str) -> dict[int, ColumnKey]:
        """All versions of a column's key. `InputError` if there is none."""
        if not (found := self._versions(name)):
            names = self.names()
            there = instead(name, names)
            raise InputError(f"{self.path}: there is no key {quoted(name)}{there}")
        return found

    def names(self) -> list[str]:
        """The columns that have keys."""
        return [name for (name,) in self._all("SELECT DISTINCT name FROM columns ORDER BY name")]

    def rotate(self, name: str) -> int:
        """Give a column a new key; returns its version. Pseudonyms of former versions can still be restored."""
        last = max(self.versions(name).values(), key=lambda key: key.version)
        if last.version + 1 >= 1 << 8 * VERSION_BYTES:
            raise InputError(f"{self.path}: the key {quoted(name)} has been rotated too often")
        self._add(name, last.version + 1, last.mode)
        self.record("column key rotated", column=name, version=last.version + 1)
        return last.version + 1

    def rewrap(self, master: bytes) -> None:
        """Wrap all keys by another master key: copies of this file that were made before need the former one."""
        for table, place in (("own", "name"), ("columns", "rowid"), ("subjects", "handle")):
            for at, wrapped in self._all(f"SELECT {place}, wrapped FROM {table}"):
                anew = aes_key_wrap(master, self._unwrap(wrapped))
                self._connection.execute(f"UPDATE {table} SET wrapped = ? WHERE {place} = ?", (anew, at))
        self._master = master
        self.record("master key rotated")

    def subjects(self, who: Sequence[str]) -> dict[str, Subject]:
        """The keys of some subjects, made for those who have none."""
        tags = {self._tag(one): one for one in who}
        found: dict[str, Subject] = {}
        asked = list(tags)
        for start in range(0, len(asked), ASKED):
            some = asked[start : start + ASKED]
            marks = ", ".join("?" * len(some))
            for tag, handle, wrapped in self._all(
                f"SELECT tag, handle, wrapped FROM subjects WHERE tag IN ({marks})", some
            ):
                found[tags[tag]] = Subject(handle, self._unwrap(wrapped))
        for tag, one in tags.items():
            if one not in found:
                made = Subject(secrets.token_bytes(HANDLE_BYTES), secrets.token_bytes(MASTER_BYTES))
                wrapped = aes_key_wrap(self._master, made.key)
                self._connection.execute("INSERT INTO subjects VALUES (?, ?, ?)", (tag, made.handle, wrapped))
                found[one] = made
        return found

    def subject(self, handle: bytes) -> Subject | None:
        """The subject with a handle; None if it was forgotten."""
        found = self._all("SELECT wrapped FROM subjects WHERE handle = ?", [handle])
        return Subject(handle, self._unwrap(found[0][0])) if found else None

    def forget(self, who: str) -> bool:
        """Destroy a subject's key, and record that one was, not whose; whether there was one."""
        done = self._connection.execute("DELETE FROM subjects WHERE tag = ?", [self._tag(who)])
        if done.rowcount:
            self.record("subject forgotten")
        return bool(done.rowcount)

    def record(self, what: str, **fields: Any) -> None:
        """Add a record; it is kept with the next `commit`."""
        last = self._all("SELECT number, mac FROM records ORDER BY number DESC LIMIT 1")
        number, previous = (last[0][0] + 1, last[0][1]) if last else (1, "")
        row = (number, datetime.now(UTC).isoformat(timespec="seconds"), what, dump(fields), previous)
        mac = self._mac(row)
        self._connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", (*row, mac))
        self._connection.execute("DELETE FROM head")
        self._connection.execute("INSERT INTO head VALUES (?)", [self._head(number, mac)])

    def records(self) -> list[dict[str, Any]]:
        """All records, checked. `InputError` if one was changed or is missing."""
        found: list[dict[str, Any]] = []
        previous = ""
        for *row, mac in self._all(f"SELECT {_RECORD}, mac FROM records ORDER BY number"):
            if row[0] != len(found) + 1 or row[4] != previous or not hmac.compare_digest(mac, self._mac(row)):
                raise InputError(f"{self.path}: record {len(found) + 1} was changed or removed")
            found.append({"number": row[0], "at": row[1], "what": row[2], "fields": json.loads(row[3])})
            previous = mac
        if [self._head(len(found), previous)] != [mac for (mac,) in self._all("SELECT mac FROM head")]:
            raise InputError(f"{self.path}: records at the end were removed or added")
        return found

    def _add(self, name: str, version: int, mode: Mode) -> None:
        wrapped = aes_key_wrap(self._master, secrets.token_bytes(KEY_BYTES[mode]))
        self._connection.execute("INSERT INTO columns VALUES (?, ?, ?, ?)", (name, version, mode, wrapped))

    def _versions(self, name: str) -> dict[int, ColumnKey]:
        rows = self._all("SELECT version, mode, wrapped FROM columns WHERE name = ?", [name])
        return {
            version: ColumnKey(name, version, cast("Mode", mode), cell_cipher(mode, self._unwrap(wrapped)))
            for version, mode, wrapped in rows
        }

    def _tag(self, who: str) -> bytes:
        return hmac.digest(self._index_key, who.encode(), "sha256")

    def _mac(self, row: Sequence[Any]) -> str:
        return hmac.new(self._records_key, b"record\n" + dump(list(row)).encode(), hashlib.sha256).hexdigest()

    def _head(self, number: int, mac: str) -> str:
        return hmac.new(self._records_key, f"head\n{number}\n{mac}".encode(), hashlib.sha256).hexdigest()

    def _unwrap(self, wrapped: bytes) -> bytes:
        try:
            return aes_key_unwrap(self._master, wrapped)
        except (InvalidUnwrap, ValueError):
            raise InputError(f"{self.path}: its keys were not wrapped by this master key") from None

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._connection.execute(query, values).fetchall()


def refuse_existing(path: Path) -> None:
    """`InputError` if there is a file of this name: it may be of keys that nothing can bring back."""
    if os.path.lexists(path):
        raise InputError(f"{path} exists already; choose another name, or remove it first")


def make_master(path: Path) -> bytes:
    """Draw a master key and write it, in hexadecimal, for its owner only. `InputError` rather than overwrite a file."""
    refuse_existing(path)
    master = secrets.token_bytes(MASTER_BYTES)
    files.create_private(path, master.hex().encode() + b"\n")
    return master


def read_master(path: Path) -> bytes:
    """Read a master key. `InputError` if others may read it, too, or if it is none."""
    text = files.read_private(path).strip()
    if not re.fullmatch(rb"[0-9a-f]{%d}" % (2 * MASTER_BYTES), text):
        raise InputError(f"{path}: not a master key that smc publish keys wrote")
    return bytes.fromhex(text.decode())


def make_keyring(path: Path, master: bytes) -> None:
    """Make a file without any column's key. `InputError` rather than overwrite a file."""
    refuse_existing(path)
    files.create_private(path, b"")
    try:
        with _usable(path), closing(_connect(path)) as connection:
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
            for name in ("records", "index"):
                wrapped = aes_key_wrap(master, secrets.token_bytes(MASTER_BYTES))
                connection.execute("INSERT INTO own VALUES (?, ?)", (name, wrapped))
            Keyring(path, connection, master).record("keys made", by=user())
            connection.execute("COMMIT")
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def opened(path: Path, master: bytes) -> Iterator[Keyring]:
    """The keys in a file, for this command alone. What is not committed in the block is undone.

    `InputError` if the file is not there or none of keys, if others may read it, if another command does not let go of
    it, or if its keys were not wrapped by this master key.
    """
    files.ensure_private(path)
    with _usable(path), closing(_connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield Keyring(path, connection, master)
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


def user() -> str:
    """Who runs this process, for records."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", timeout=WAIT, uri=True, isolation_level=None)
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
    connection.execute("PRAGMA synchronous = FULL")
    return connection


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """What SQLite complains of, as an `InputError` that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        reason = "another command uses it" if error.sqlite_errorcode == sqlite3.SQLITE_BUSY else str(error)
        raise InputError(f"{path} cannot be used: {reason}") from None
    except sqlite3.DatabaseError:
        raise InputError(f"{path}: not a file that smc publish keys wrote") from None
