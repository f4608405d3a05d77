"""Keys of columns and subjects in a file, each wrapped by a master key kept elsewhere; and a log of their use.

The file is an SQLite database for its owner only. A column's key has versions: the last one makes pseudonyms, all of
them restore. A subject's key is found by a keyed hash of the subject's identifier, or by the handle that each of the
subject's pseudonyms contains, encrypted; on removal, it is overwritten. Records are a chain of HMAC-SHA256, whose key
is in the file too, wrapped. Without the master key, a record can neither be changed nor removed, except by restoring an
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap

from parties.alone.publish.keys.ciphers import KEY_BYTES, VERSION_BYTES, CellCipher, Mode, cell_cipher, derived
from parties.alone.publish.keys.key_file import KeyFile, connected
from parties.base import files
from parties.base.canonical import dump
from parties.base.text import instead, quoted
from smc.errors import InputError

MASTER_BYTES = 32  # AES-256
HANDLE_BYTES = 16
ASKED = 500  # subjects in one query
_TABLES = (
    "CREATE TABLE own (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL) STRICT",
    """CREATE TABLE columns (name TEXT NOT NULL, version INTEGER NOT NULL, mode TEXT NOT NULL, wrapped BLOB NOT NULL,
    PRIMARY KEY (name, version)) STRICT""",
    "CREATE TABLE subjects (tag BLOB PRIMARY KEY, handle BLOB NOT NULL UNIQUE, wrapped BLOB NOT NULL) STRICT",
    """CREATE TABLE records (number INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT NOT NULL, fields TEXT NOT NULL,
    previous TEXT NOT NULL, mac TEXT NOT NULL) STRICT""",
    "CREATE TABLE head (mac TEXT NOT NULL) STRICT",
)
_RECORD = "number, at, what, fields, previous"
_RECORD_KINDS = (int, str, str, str, str, str)


@dataclass(frozen=True, eq=False)
class Subject:
    """A person that rows are about: the person's key, and its handle, the public name of the key in pseudonyms."""

    handle: bytes
    key: bytes


@dataclass(frozen=True, eq=False)
class ColumnKey:
    """A version of a column's key."""

    name: str
    version: int
    mode: Mode
    cipher: CellCipher

    @property
    def associated(self) -> bytes:
        """Data to which the cipher binds the column's pseudonyms: name and version of the key."""
        return dump({"smc.pseudonym.v1": [self.name, self.version]}).encode()

    def of(self, subject: Subject) -> CellCipher:
        """Return the cipher for a subject's cells in this column."""
        return derived(subject.key, self.mode, self.associated)


class Keyring:
    """Open file of keys. One command at a time may use it; `commit` stores the changes."""

    def __init__(self, file: KeyFile, master: bytes) -> None:
        self.path = file.path
        self._file = file
        self._master = master
        wrapped_keys = dict(self._file.all("SELECT name, wrapped FROM own", (str, bytes)))
        if set(wrapped_keys) != {"records", "index"}:
            raise file.damaged()
        self._records_key, self._index_key = self._unwrap(wrapped_keys["records"]), self._unwrap(wrapped_keys["index"])

    def commit(self) -> None:
        """Store the changes, and begin a new transaction."""
        self._file.commit()

    def column(self, name: str, mode: Mode) -> ColumnKey:
        """Return the last version of a column's key, created if there is none; raise InputError if it has another mode.

        Args:
            name: name of the key
            mode: mode of the pseudonyms
        """
        known = self._versions(name)
        if not known:
            self._add(name, 1, mode)
            known = self._versions(name)
        last = max(known.values(), key=lambda key: key.version)
        if last.mode != mode:
            raise InputError(
                f"{self.path}: the key {quoted(name)} is for {last.mode} pseudonyms, not {mode} ones; "
                "change `pseudonym`, or name another `key`"
            )
        return last

    def versions(self, name: str) -> dict[int, ColumnKey]:
        """Return all versions of a column's key; raise InputError if there is none."""
        if not (versions := self._versions(name)):
            names = self.names()
            there = instead(name, names)
            raise InputError(f"{self.path}: there is no key {quoted(name)}{there}")
        return versions

    def names(self) -> list[str]:
        """Return the names of the columns' keys."""
        return [name for (name,) in self._file.all("SELECT DISTINCT name FROM columns ORDER BY name", (str,))]

    def rotate(self, name: str) -> int:
        """Add a new version of a column's key, and return its number; earlier pseudonyms can still be restored."""
        last = max(self.versions(name).values(), key=lambda key: key.version)
        if last.version + 1 >= 1 << 8 * VERSION_BYTES:
            raise InputError(
                f"{self.path}: the key {quoted(name)} has been rotated too often; use a key of another name"
            )
        self._add(name, last.version + 1, last.mode)
        self.record("column key rotated", column=name, version=last.version + 1)
        return last.version + 1

    def rewrap(self, master: bytes) -> None:
        """Wrap all keys by another master key; earlier copies of this file still need the former one."""
        for table, place, kind in (("own", "name", str), ("columns", "rowid", int), ("subjects", "handle", bytes)):
            for at, wrapped in self._file.all(f"SELECT {place}, wrapped FROM {table}", (kind, bytes)):
                anew = aes_key_wrap(master, self._unwrap(wrapped))
                self._file.run(f"UPDATE {table} SET wrapped = ? WHERE {place} = ?", (anew, at))
        self._master = master
        self.record("master key rotated")

    def subjects(self, identifiers: Sequence[str]) -> dict[str, Subject]:
        """Return the keys of subjects by identifier; missing keys are created."""
        tags = {self._tag(subject): subject for subject in identifiers}
        keys: dict[str, Subject] = {}
        wanted_tags = list(tags)
        for start in range(0, len(wanted_tags), ASKED):
            some = wanted_tags[start : start + ASKED]
            marks = ", ".join("?" * len(some))
            for tag, handle, wrapped in self._file.all(
                f"SELECT tag, handle, wrapped FROM subjects WHERE tag IN ({marks})", (bytes, bytes, bytes), some
            ):
                keys[tags[tag]] = Subject(handle, self._unwrap(wrapped))
        for tag, subject in tags.items():
            if subject not in keys:
                fresh = Subject(secrets.token_bytes(HANDLE_BYTES), secrets.token_bytes(MASTER_BYTES))
                wrapped = aes_key_wrap(self._master, fresh.key)
                self._file.run("INSERT INTO subjects VALUES (?, ?, ?)", (tag, fresh.handle, wrapped))
                keys[subject] = fresh
        return keys

    def subject(self, handle: bytes) -> Subject | None:
        """Return the person's key that pseudonyms name by this handle; None if the person was forgotten."""
        rows = self._file.all("SELECT wrapped FROM subjects WHERE handle = ?", (bytes,), [handle])
        return Subject(handle, self._unwrap(rows[0][0])) if rows else None

    def forget(self, identifier: str) -> bool:
        """Destroy a subject's key, and record this without the identifier. Return False if there was no key."""
        known = bool(self._file.run("DELETE FROM subjects WHERE tag = ?", [self._tag(identifier)]))
        if known:
            self.record("subject forgotten")
        return known

    def record(self, what: str, **fields: Any) -> None:
        """Add a record; it is stored with the next `commit`.

        Args:
            what: The event, such as "subject forgotten".
            fields: Details of the event, as JSON values.
        """
        last = self._file.all("SELECT number, mac FROM records ORDER BY number DESC LIMIT 1", (int, str))
        number, previous = (last[0][0] + 1, last[0][1]) if last else (1, "")
        row = (number, datetime.now(UTC).isoformat(timespec="seconds"), what, dump(fields), previous)
        mac = self._mac(row)
        self._file.run("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", (*row, mac))
        self._file.run("DELETE FROM head")
        self._file.run("INSERT INTO head VALUES (?)", [self._head(number, mac)])

    def records(self) -> list[dict[str, Any]]:
        """Return all records, verified; raise InputError if one was changed or is missing."""
        records: list[dict[str, Any]] = []
        previous = ""
        for *row, mac in self._file.all(f"SELECT {_RECORD}, mac FROM records ORDER BY number", _RECORD_KINDS):
            try:
                is_intact = (
                    row[0] == len(records) + 1 and row[4] == previous and hmac.compare_digest(mac, self._mac(row))
                )
            except TypeError:  # a code with non-ASCII letters
                is_intact = False
            if not is_intact:
                raise InputError(f"{self.path}: record {len(records) + 1} was changed or removed; restore a backup")
            records.append({"number": row[0], "at": row[1], "what": row[2], "fields": json.loads(row[3])})
            previous = mac
        if [self._head(len(records), previous)] != [mac for (mac,) in self._file.all("SELECT mac FROM head", (str,))]:
            raise InputError(f"{self.path}: records at the end were removed or added; restore a backup")
        return records

    def _add(self, name: str, version: int, mode: Mode) -> None:
        wrapped = aes_key_wrap(self._master, secrets.token_bytes(KEY_BYTES[mode]))
        self._file.run("INSERT INTO columns VALUES (?, ?, ?, ?)", (name, version, mode, wrapped))

    def _versions(self, name: str) -> dict[int, ColumnKey]:
        query = "SELECT version, mode, wrapped FROM columns WHERE name = ?"
        versions = {}
        for version, mode, wrapped in self._file.all(query, (int, str, bytes), [name]):
            key = self._unwrap(wrapped)
            if not 0 < version < 1 << 8 * VERSION_BYTES or len(key) != KEY_BYTES.get(mode):
                raise self._file.damaged()
            versions[version] = ColumnKey(name, version, mode, cell_cipher(mode, key))
        return versions

    def _tag(self, identifier: str) -> bytes:
        return hmac.digest(self._index_key, identifier.encode(), "sha256")

    def _mac(self, row: Sequence[Any]) -> str:
        return hmac.new(self._records_key, b"record\n" + dump(list(row)).encode(), hashlib.sha256).hexdigest()

    def _head(self, number: int, mac: str) -> str:
        return hmac.new(self._records_key, f"head\n{number}\n{mac}".encode(), hashlib.sha256).hexdigest()

    def _unwrap(self, wrapped: bytes) -> bytes:
        try:
            return aes_key_unwrap(self._master, wrapped)
        except (InvalidUnwrap, ValueError):
            raise InputError(f"{self.path}: its keys are encrypted with another master key; give that one") from None


def refuse_existing(path: Path) -> None:
    """Raise InputError if the file exists: it may have irreplaceable keys."""
    if os.path.lexists(path):
        raise InputError(f"{path} exists already; choose another name, or remove it first")


def make_master(path: Path) -> bytes:
    """Create a random master key in a new file, in hexadecimal, for its owner only; never overwrite a file."""
    refuse_existing(path)
    master = secrets.token_bytes(MASTER_BYTES)
    files.create_private(path, master.hex().encode() + b"\n")
    return master


def read_master(path: Path) -> bytes:
    """Read a master key; raise InputError if other users may read it, or it is not one."""
    text = files.read_private(path).strip()
    if not re.fullmatch(rb"[0-9a-f]{%d}" % (2 * MASTER_BYTES), text):
        raise InputError(f"{path}: not a master key that smc publish keys wrote; give that file")
    return bytes.fromhex(text.decode())


def make_keyring(path: Path, master: bytes) -> None:
    """Create a key file without keys of columns; never overwrite a file.

    Args:
        path: File to create; an existing file is refused.
        master: Master key, 32 bytes, that wraps the keys.
    """
    refuse_existing(path)
    files.create_private(path, b"")
    try:
        with connected(path) as file:
            for table in _TABLES:
                file.run(table)
            for name in ("records", "index"):
                wrapped = aes_key_wrap(master, secrets.token_bytes(MASTER_BYTES))
                file.run("INSERT INTO own VALUES (?, ?)", (name, wrapped))
            ring = Keyring(file, master)
            ring.record("keys made", by=user())
            ring.commit()
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def opened(path: Path, master: bytes) -> Iterator[Keyring]:
    """Open a file of keys for this command alone. Changes that the block does not commit are undone.

    Args:
        path: the file
        master: the master key

    Raises:
        InputError: the file is missing or not a key file, other users may read it, another command uses it, or its keys
            were wrapped by another master key
    """
    files.ensure_private(path)
    with connected(path) as file:
        yield Keyring(file, master)


def user() -> str:
    """Return the user who runs this process, for records."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"
