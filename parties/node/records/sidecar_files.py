"""Files beside a node's database, encrypted if the database is: archives, accounts of people, marker, own results.

Each file is encrypted as a whole, by AES-256-GCM with a fresh nonce. The key is derived by scrypt, as for a private
key's file (`keyfile`), from the database's passphrase and the salt of the SQLCipher database. The file's name and
purpose are authenticated with it, so files cannot be swapped. The file contains the salt, so the passphrase in use at
the time suffices to read it without the database.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from parties.base import files, keyfile
from parties.node.records import sealed
from parties.operator.accounts import FILE_NAME as ACCOUNTS
from smc.errors import InputError

# in the state directory, beside the database; the last two are folders
MARKER, ARCHIVES, OWN_RESULTS = "log.json", "archive", "aligned"
MOVE = "move it to another folder"  # remedy if a file is too large

_START = b"smc encrypted file 1\n"
_SALT_BYTES, _CHECK_BYTES, _NONCE_BYTES, _KEY_BYTES = 16, 8, 12, 32
_HEAD_BYTES = len(_START) + _SALT_BYTES + _CHECK_BYTES + _NONCE_BYTES
_TEMPORARY = ".smc-*.tmp*"  # made by `files`, by `sealed`, and SQLite's journals of the latter's

Purpose: TypeAlias = Literal["accounts", "marker", "archive", "backup"]
_PURPOSES: dict[str, Purpose] = {ACCOUNTS: "accounts", MARKER: "marker"}


class _Key(NamedTuple):
    salt: bytes
    check: bytes  # shows that a file has another passphrase; reveals nothing of this one
    cipher: AESGCM


@dataclass(frozen=True)
class SidecarFiles:
    """The files beside this database. Errors are InputError."""

    database: Path

    def read(self, path: Path) -> bytes:
        """Return the accounts or the marker. Raise InputError if only one of file and database is encrypted."""
        data = files.read_bytes(path)
        if is_encrypted(data) and sealed.is_sealed(self.database):
            try:
                return _decrypted(path, data, _PURPOSES[path.name], [sealed.passphrase(self.database)])
            except InputError:
                sealed.forget(self.database)  # it may have been mistyped
                raise
        if is_encrypted(data):
            raise InputError(f"{path} is encrypted, and {self.database.name} is not: {_PLAIN}")
        if sealed.is_sealed(self.database):
            raise InputError(
                f"{path} is not encrypted, and {self.database.name} is: it was put there, or left by an earlier "
                f"release; {_SEALED[_PURPOSES[path.name]]}"
            )
        return data

    def write(self, path: Path, data: bytes) -> None:
        """Replace the accounts or the marker in one step, for its owner only.

        Args:
            path: The file.
            data: Content of the file.
        """
        files.write_bytes(path, self._encrypted(path, data, _PURPOSES[path.name]), private=True)

    def write_archive(self, path: Path, data: bytes) -> None:
        """Write a new archive, for its owner only.

        Args:
            path: The file.
            data: Content of the file.
        """
        fewer = "archive fewer jobs at once, with more --days or retention_days"
        files.create_private(path, self._encrypted(path, data, "archive", fewer))

    def own_result(self, job: str) -> Path:
        """Return the file with this party's own part of a job's result."""
        return self.database.with_name(OWN_RESULTS) / f"{job}.csv"

    def write_own_result(self, job: str, data: bytes) -> None:
        """Replace this party's own part of a job's result, for its owner only.

        Args:
            job: Identifier of the job.
            data: Content of the file.
        """
        path = self.own_result(job)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        files.write_bytes(path, self._encrypted(path, data, "archive"), private=True)

    def remove_own_result(self, job: str) -> None:
        """Remove this party's own part of a job's result, if there is one."""
        self.own_result(job).unlink(missing_ok=True)

    def _encrypted(self, path: Path, data: bytes, purpose: Purpose, remedy: str = MOVE) -> bytes:
        if not sealed.is_sealed(self.database):
            return data
        word, salt = sealed.passphrase(self.database)[0], sealed.salt(self.database)
        return _encrypted(path, data, purpose, word, salt, remedy)


_PLAIN = (
    "another one may stand in its place, or smc audit seal was cut off; put the encrypted one back, or run smc audit "
    "seal (--remove) again"
)

_SEALED = {
    "accounts": "put the encrypted one back, or take it away and write it anew by smc operator add",
    "marker": "take it away, or encrypt it by smc audit seal",
}


def read_archive(path: Path, database: Path | None = None) -> bytes:
    """Return an archive's content. An unencrypted one is accepted, too, since the log proves its content.

    Args:
        path: The archive, in any folder.
        database: The database whose passphrase is tried first. An archive with another one is read like a key file.
    """
    data = files.read_bytes(path)
    if not is_encrypted(data):
        return data
    if database is not None and sealed.is_sealed(database):
        passphrase = sealed.passphrase(database)
        if _key(passphrase[0], _salt(data)).check == _check(data):
            return _decrypted(path, data, "archive", [passphrase])
    return _decrypted(path, data, "archive", [keyfile.sought(path)])


def write_backup(path: Path, data: bytes, word: str) -> None:
    """Write a backup in one step, for its owner only.

    Args:
        path: The file.
        data: Content of the file.
        word: The passphrase that encrypts it; empty for none.
    """
    sealed_data = _encrypted(path, data, "backup", word, secrets.token_bytes(_SALT_BYTES)) if word else data
    files.write_bytes(path, sealed_data, private=True)


def read_backup(path: Path, word: str = "") -> bytes:
    """Return a backup's content. Raise InputError if it was changed, or the passphrase does not open it.

    Args:
        path: The file.
        word: The passphrase; empty: it is looked up like that of a key file.
    """
    data = files.read_bytes(path)
    if not is_encrypted(data):
        return data
    return _decrypted(path, data, "backup", [(word, "that was given") if word else keyfile.sought(path)])


def is_encrypted(data: bytes) -> bool:
    """Return whether a file was encrypted here."""
    return data.startswith(_START)


def refuse_plain(database: Path) -> None:
    """Raise InputError if a database is unencrypted although its passphrase exists or a file beside it is encrypted.

    Such a database may have replaced the encrypted one: new content would be readable, without a sign of it.
    """
    if sealed.is_sealed(database):
        return
    if (line := keyfile.first_line(database.with_suffix(keyfile.ENDING))) is not None:
        raise InputError(
            f"{database} is not encrypted, but its passphrase is there, {line[1]}: put the encrypted one back, or "
            "encrypt it by smc audit seal, or take the passphrase away"
        )
    for name in _PURPOSES:
        if (path := database.with_name(name)).is_file() and is_encrypted(files.read_bytes(path, len(_START))):
            raise InputError(f"{database} is not encrypted, but {name} beside it is: {_PLAIN}")


def require_sealed(database: Path, is_asked: bool) -> None:
    """Raise InputError if a database must be encrypted and is not, or is missing.

    Args:
        database: The database.
        is_asked: Whether party.toml requires encryption.
    """
    if is_asked and not sealed.is_sealed(database):
        raise InputError(
            f"node.sealed: {database} is not encrypted, or not there: put the encrypted one back, or encrypt this one "
            "with smc audit seal"
        )


def seal(database: Path, word: str) -> list[Path]:
    """Encrypt a database and the files beside it with a passphrase, change the passphrase, or decrypt them.

    The caller holds the lock of the node, so no other process uses the database. All files are written before any is
    replaced, so a failure changes nothing. A run that is killed in between is completed by the next one.

    Args:
        database: The database.
        word: The new passphrase; empty to decrypt. The present one is looked up.

    Returns:
        The files that were rewritten.

    Raises:
        InputError: A file cannot be read or written.
    """
    rewritten: list[Path] = []

    def content() -> Iterator[tuple[Path, bytes]]:
        for path, purpose in _files(database):
            if is_encrypted(data := files.read_bytes(path)):
                data = _decrypted(path, data, purpose, _passphrases(database, path, word))
            rewritten.append(path)
            yield path, _encrypted(path, data, purpose, word, salt) if word else data

    with sealed.sealing(database, word) as (salt, replace), _written(content()) as replace_files:
        # A crash between the two leaves an unencrypted database with encrypted files.
        for step in (replace_files, replace) if word else (replace, replace_files):
            step()
    return rewritten


def bring_forward(database: Path) -> None:
    """Encrypt files that an earlier release left unencrypted beside an encrypted database, in an open transaction."""
    word, salt = sealed.passphrase(database)[0], sealed.salt(database)
    old = ((path, purpose, files.read_bytes(path)) for path, purpose in _files(database))
    new = ((path, _encrypted(path, data, purpose, word, salt)) for path, purpose, data in old if not is_encrypted(data))
    with _written(new) as replace:
        replace()


def sweep(database: Path, connection: sqlite3.Connection) -> list[Path]:
    """Remove temporary files that killed runs have left, some perhaps unencrypted; return their paths.

    The caller holds the lock of the node; commands that write beside it do so in a transaction.

    Args:
        database: The database.
        connection: A connection to it.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        leftovers = [
            path
            for folder in (".", ARCHIVES, OWN_RESULTS)
            for path in sorted((database.parent / folder).glob(_TEMPORARY))
        ]
        for path in leftovers:
            with suppress(OSError):
                path.unlink()
    return leftovers


def _files(database: Path) -> Iterator[tuple[Path, Purpose]]:
    yield from ((path, purpose) for name, purpose in _PURPOSES.items() if (path := database.with_name(name)).is_file())
    for folder, pattern in ((ARCHIVES, "*.jsonl"), (OWN_RESULTS, "*.csv")):
        yield from ((path, "archive") for path in sorted(database.with_name(folder).glob(pattern)) if path.is_file())


def _passphrases(database: Path, path: Path, given: str) -> Iterator[tuple[str, str]]:
    """Yield the passphrases that a file may have during a change; the former one is looked up only if needed."""
    if given:
        yield given, "that was given"
    if sealed.is_sealed(database):
        yield sealed.passphrase(database)
    else:  # an earlier run was interrupted
        yield keyfile.first_line(database.with_suffix(keyfile.ENDING)) or keyfile.sought(path)


@contextmanager
def _written(contents: Iterable[tuple[Path, bytes]]) -> Iterator[Callable[[], None]]:
    """Write files under temporary names; the yielded function then replaces the existing files."""
    new: dict[Path, Path] = {}

    def replace() -> None:
        for path, temporary in new.items():
            os.replace(temporary, path)
        for folder in {path.parent for path in new}:
            with suppress(OSError):  # some file systems cannot
                files.settle(folder)

    try:
        for path, data in contents:
            new[path] = path.with_name(f".smc-{secrets.token_hex(8)}.tmp")
            files.create_private(new[path], data)
        yield replace
    finally:
        for temporary in new.values():
            temporary.unlink(missing_ok=True)


def _encrypted(path: Path, data: bytes, purpose: Purpose, word: str, salt: bytes, remedy: str = MOVE) -> bytes:
    key, nonce = _key(word, salt), secrets.token_bytes(_NONCE_BYTES)
    head = _START + key.salt + key.check + nonce
    try:
        return head + key.cipher.encrypt(nonce, data, head + _bound(path, purpose))
    except OverflowError:
        raise InputError(f"{path} is too large to be encrypted: at most 2 GB fit; {remedy}") from None


def _decrypted(path: Path, data: bytes, purpose: Purpose, words: Iterable[tuple[str, str]]) -> bytes:
    """Return the content of an encrypted file. Raise InputError if none of the passphrases opens it."""
    head, nonce, source = data[:_HEAD_BYTES], data[_HEAD_BYTES - _NONCE_BYTES : _HEAD_BYTES], ""
    for word, source in words:  # noqa: B007 (the last one is named)
        if (key := _key(word, _salt(data))).check != _check(data):
            continue
        with suppress(InvalidTag, ValueError):  # too short
            return key.cipher.decrypt(nonce, data[_HEAD_BYTES:], head + _bound(path, purpose))
        raise InputError(
            f"{path} was changed or cut, or is another file under this name: put a backup in its place, or the right "
            "name"
        )
    raise InputError(f"{path}: the passphrase {source} does not open it, or it is damaged")


def _salt(data: bytes) -> bytes:
    return data[len(_START) :][:_SALT_BYTES]


def _check(data: bytes) -> bytes:
    return data[len(_START) + _SALT_BYTES :][:_CHECK_BYTES]


def _bound(path: Path, purpose: Purpose) -> bytes:
    return purpose.encode() + b"\0" + (b"" if purpose == "backup" else os.fsencode(path.name))  # it may be renamed


@lru_cache(maxsize=16)
def _key(word: str, salt: bytes) -> _Key:
    """Return the key from a passphrase; cached, since it takes a tenth of a second."""
    derivation = Scrypt(salt, _KEY_BYTES + _CHECK_BYTES, keyfile.COST, keyfile.BLOCK, keyfile.PARALLEL)
    derived = derivation.derive(word.encode())
    return _Key(salt, derived[_KEY_BYTES:], AESGCM(derived[:_KEY_BYTES]))
