"""The files beside a node's database, encrypted if that is: archives, the accounts of people, the log's marker.

Each is encrypted as a whole, by AES-256-GCM under a fresh nonce and a key by scrypt, as for a private key's file
(`keyfile`), of the database's passphrase, with the salt that SQLCipher has given the database. Its name and what it is
for are authenticated with it, so none can stand in another's place. The salt stands in it: who has the passphrase that
it was encrypted with can read it without the database.
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

MARKER, ARCHIVES = "log.json", "archive"  # in the state directory, where the database is; the latter a folder

_START = b"smc encrypted file 1\n"
_SALT_BYTES, _CHECK_BYTES, _NONCE_BYTES, _KEY_BYTES = 16, 8, 12, 32
_HEAD_BYTES = len(_START) + _SALT_BYTES + _CHECK_BYTES + _NONCE_BYTES
_TEMPORARY = ".smc-*.tmp*"  # of `files`, of `sealed`, and SQLite's journals of the latter

Purpose: TypeAlias = Literal["accounts", "marker", "archive"]
_PURPOSES: dict[str, Purpose] = {ACCOUNTS: "accounts", MARKER: "marker"}


class _Key(NamedTuple):
    salt: bytes
    check: bytes  # tells that a file is of another passphrase; nothing of this one
    cipher: AESGCM


@dataclass(frozen=True)
class Beside:
    """The files beside this database. What stands in the way is an `InputError`."""

    database: Path

    def read(self, path: Path) -> bytes:
        """Return the accounts or the marker. `InputError` if encrypted is one of file and database, and one is not."""
        data = files.read_bytes(path)
        if is_encrypted(data) and sealed.is_sealed(self.database):
            try:
                return _opened(path, data, _PURPOSES[path.name], [sealed.passphrase(self.database)])
            except InputError:
                sealed.forget(self.database)  # it may have been typed wrongly
                raise
        if is_encrypted(data):
            raise InputError(f"{path} is encrypted, and {self.database.name} is not: {_PLAIN}")
        if sealed.is_sealed(self.database):
            raise InputError(
                f"{path} is not encrypted, and {self.database.name} is: somebody has put it there, or an earlier "
                f"release; {_SEALED[_PURPOSES[path.name]]}"
            )
        return data

    def write(self, path: Path, data: bytes) -> None:
        """Replace the accounts or the marker in one step, for its owner only."""
        files.write_bytes(path, self._encrypted(path, data, _PURPOSES[path.name]), private=True)

    def write_archive(self, path: Path, data: bytes) -> None:
        """Write a new archive, for its owner only."""
        files.create_private(path, self._encrypted(path, data, "archive"))

    def _encrypted(self, path: Path, data: bytes, purpose: Purpose) -> bytes:
        if not sealed.is_sealed(self.database):
            return data
        return _encrypted(path, data, purpose, sealed.passphrase(self.database)[0], sealed.salt(self.database))


_PLAIN = (
    "another one may stand in its place, or smc audit seal was cut off; put the encrypted one back, or run smc audit "
    "seal (--remove) again"
)

_SEALED = {
    "accounts": "put the encrypted one back, or take it away and write it anew by smc operator add",
    "marker": "take it away, or encrypt it by smc audit seal",
}


def read_archive(path: Path, database: Path | None = None) -> bytes:
    """Return an archive's content, wherever it is: of one that is not encrypted, too, for the log vouches for it.

    Its passphrase may be another than the database's, if there is one, and is looked for as that of a key's file then.
    """
    data = files.read_bytes(path)
    if not is_encrypted(data):
        return data
    if database is not None and sealed.is_sealed(database):
        known = sealed.passphrase(database)
        if _key(known[0], _salt(data)).check == _check(data):
            return _opened(path, data, "archive", [known])
    return _opened(path, data, "archive", [keyfile.sought(path)])


def is_encrypted(data: bytes) -> bool:
    """Return whether a file is one that was encrypted here."""
    return data.startswith(_START)


def refuse_plain(database: Path) -> None:
    """Raise `InputError` if a database is not encrypted though its passphrase is here, or the files beside it are.

    Another may stand in its place: what is written would be readable, and nobody would notice.
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
    """Raise `InputError` if a database is not encrypted, or not there, where that `is_asked`: by party.toml."""
    if is_asked and not sealed.is_sealed(database):
        raise InputError(
            f"node.sealed: {database} is not encrypted, or not there: put the encrypted one back, or make it so by "
            "smc audit seal"
        )


def seal(database: Path, word: str) -> list[Path]:
    """Encrypt a database and what is beside it with a passphrase, or with another one; with an empty one no more.

    Nobody may be using it: the caller holds the lock of its node. Everything is written anew before anything is
    replaced, so what fails changes nothing; a run that is killed between is ended by the next one. Returns which files
    were rewritten. `InputError`.
    """
    rewritten: list[Path] = []

    def content() -> Iterator[tuple[Path, bytes]]:
        for path, purpose in _files(database):
            if is_encrypted(data := files.read_bytes(path)):
                data = _opened(path, data, purpose, _known(database, path, word))
            rewritten.append(path)
            yield path, _encrypted(path, data, purpose, word, salt) if word else data

    with sealed.sealing(database, word) as (salt, replace), _written(content()) as replace_files:
        # Cut off between the two either leaves a database that is not encrypted and files that are.
        for step in (replace_files, replace) if word else (replace, replace_files):
            step()
    return rewritten


def bring_forward(database: Path) -> None:
    """Encrypt what an earlier release has left beside a database that is encrypted, in its transaction."""
    word, salt = sealed.passphrase(database)[0], sealed.salt(database)
    found = ((path, purpose, files.read_bytes(path)) for path, purpose in _files(database))
    new = (
        (path, _encrypted(path, data, purpose, word, salt)) for path, purpose, data in found if not is_encrypted(data)
    )
    with _written(new) as replace:
        replace()


def sweep(database: Path, connection: sqlite3.Connection) -> list[Path]:
    """Remove temporary files that killed runs have left, some perhaps not encrypted; return which those were.

    The caller holds the lock of the node; commands that write beside it do so in a transaction.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        found = [path for folder in (".", ARCHIVES) for path in sorted((database.parent / folder).glob(_TEMPORARY))]
        for path in found:
            with suppress(OSError):
                path.unlink()
    return found


def _files(database: Path) -> Iterator[tuple[Path, Purpose]]:
    """Yield the files that are there, and what each is for."""
    yield from ((path, purpose) for name, purpose in _PURPOSES.items() if (path := database.with_name(name)).is_file())
    yield from ((path, "archive") for path in sorted(database.with_name(ARCHIVES).glob("*.jsonl")) if path.is_file())


def _known(database: Path, path: Path, given: str) -> Iterator[tuple[str, str]]:
    """Yield the passphrases that a file may have when they change; the former one is looked for only if need be."""
    if given:
        yield given, "that was given"
    if sealed.is_sealed(database):
        yield sealed.passphrase(database)
    else:  # a run was cut off
        yield keyfile.first_line(database.with_suffix(keyfile.ENDING)) or keyfile.sought(path)


@contextmanager
def _written(contents: Iterable[tuple[Path, bytes]]) -> Iterator[Callable[[], None]]:
    """Write files anew under other names; what is given lets all take the place of those that are there."""
    new: dict[Path, Path] = {}

    def replace() -> None:
        for path, temporary in new.items():
            os.replace(temporary, path)
        for folder in {path.parent for path in new}:
            with suppress(OSError):  # not every file system can
                files.settle(folder)

    try:
        for path, data in contents:
            new[path] = path.with_name(f".smc-{secrets.token_hex(8)}.tmp")
            files.create_private(new[path], data)
        yield replace
    finally:
        for temporary in new.values():
            temporary.unlink(missing_ok=True)


def _encrypted(path: Path, data: bytes, purpose: Purpose, word: str, salt: bytes) -> bytes:
    key, nonce = _key(word, salt), secrets.token_bytes(_NONCE_BYTES)
    head = _START + key.salt + key.check + nonce
    try:
        return head + key.cipher.encrypt(nonce, data, head + _bound(path, purpose))
    except OverflowError:
        raise InputError(f"{path} is too large to be encrypted: 2 GB is the most") from None


def _opened(path: Path, data: bytes, purpose: Purpose, words: Iterable[tuple[str, str]]) -> bytes:
    """Return the content of an encrypted file. `InputError` if none of the passphrases, from where, opens it."""
    head, nonce, place = data[:_HEAD_BYTES], data[_HEAD_BYTES - _NONCE_BYTES : _HEAD_BYTES], ""
    for word, place in words:  # noqa: B007 (the last one is named)
        if (key := _key(word, _salt(data))).check != _check(data):
            continue
        with suppress(InvalidTag, ValueError):  # too short
            return key.cipher.decrypt(nonce, data[_HEAD_BYTES:], head + _bound(path, purpose))
        raise InputError(
            f"{path} was changed or cut, or is another file under this name: put a backup in its place, or the right "
            "name"
        )
    raise InputError(f"{path}: the passphrase {place} does not open it, or it is damaged")


def _salt(data: bytes) -> bytes:
    return data[len(_START) :][:_SALT_BYTES]


def _check(data: bytes) -> bytes:
    return data[len(_START) + _SALT_BYTES :][:_CHECK_BYTES]


def _bound(path: Path, purpose: Purpose) -> bytes:
    return purpose.encode() + b"\0" + os.fsencode(path.name)


@lru_cache(maxsize=16)
def _key(word: str, salt: bytes) -> _Key:
    """Return the key from a passphrase: of a second's tenth, so once a process."""
    derivation = Scrypt(salt, _KEY_BYTES + _CHECK_BYTES, keyfile.COST, keyfile.BLOCK, keyfile.PARALLEL)
    derived = derivation.derive(word.encode())
    return _Key(salt, derived[_KEY_BYTES:], AESGCM(derived[:_KEY_BYTES]))
