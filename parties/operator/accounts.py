"""Accounts of people with names, in the node's state directory: `operators.json`, for its owner alone.

Without any account no person has a name: the key of `api.json`, or a link made with it, permits everything.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import unicodedata
from functools import cache
from pathlib import Path
from typing import Annotated, Protocol

from cryptography.exceptions import InvalidKey, UnsupportedAlgorithm
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from parties.base import files
from parties.base.text import quoted
from parties.operator.interface import Role
from parties.operator.people import ROLES, UNNAMED, NotAllowedError, Person
from smc.errors import InputError

FILE_NAME = "operators.json"
SHORTEST, LONGEST = 12, 1024  # characters of a new password or passphrase
MEMORY, ITERATIONS, LANES = 19 * 1024, 2, 1  # KiB, passes, lanes: Argon2id as in OWASP's cheat sheet on passwords

NAME = re.compile(r"[a-z][a-z0-9._-]{0,31}")


class Account(BaseModel):
    """One person's account; `hash` is Argon2id of the password with `salt`, in hexadecimal; empty if there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    unix: str = ""  # the Unix user whose commands act as this person
    oidc: Annotated[str, Field(max_length=256)] = ""  # the person's identity at the log-in provider
    salt: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    hash: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]

    def person(self, name: str) -> Person:
        """Return the account's person, with the present roles."""
        return Person(name, frozenset(self.roles), f"{self.salt} {self.oidc}")


_FILE: TypeAdapter[dict[str, Account]] = TypeAdapter(dict[Annotated[str, Field(pattern=f"^{NAME.pattern}$")], Account])


class AccountStorage(Protocol):
    """Reads and writes the accounts file, which may be encrypted. All errors are InputError."""

    def read(self, path: Path) -> bytes:
        """Return the file's content."""

    def write(self, path: Path, data: bytes) -> None:
        """Replace the file in one step, for its owner only.

        Args:
            path: The file.
            data: Content of the file.
        """

    def check_absent(self, path: Path) -> None:
        """Raise InputError if `path` is missing although the records show that it existed."""


class Plain:
    """Storage of an accounts file that is not encrypted."""

    def check_absent(self, path: Path) -> None:
        """Accept a missing file: there are no records to contradict it."""

    def read(self, path: Path) -> bytes:
        """Return the file's content."""
        return files.read_bytes(path)

    def write(self, path: Path, data: bytes) -> None:
        """Replace the file in one step, for its owner only.

        Args:
            path: The file.
            data: Content of the file.
        """
        files.write_bytes(path, data, private=True)


class Accounts:
    """The present accounts in a state directory, reread after each change; none without a directory.

    Every call may raise InputError if the file cannot be read, or is missing although it existed. Then no person is let
    in.
    """

    def __init__(self, state: Path | None = None, keeping: AccountStorage | None = None) -> None:
        self._path = None if state is None else state / FILE_NAME
        self._keeping = keeping or Plain()
        self._seen: tuple[object, dict[str, Account]] = (None, {})

    def check_present(self) -> bool:
        """Return whether there is a file. Raise InputError if it is missing although it existed."""
        if self._path is None or self._path.exists():
            return self._path is not None
        self._keeping.check_absent(self._path)
        return False

    def all(self) -> dict[str, Account]:
        """Return all accounts, by name. Raise InputError if the file cannot be read."""
        if not self.check_present():
            return {}
        assert self._path is not None
        try:
            stamp = files.stamp(self._path)
            if self._seen[0] != stamp:
                self._seen = stamp, _FILE.validate_json(self._keeping.read(self._path))
        except (OSError, ValidationError):
            raise InputError(f"{self._path} cannot be read, or is not of smc operator; restore a backup") from None
        return self._seen[1]

    def write(self, accounts: dict[str, Account]) -> None:
        """Replace all accounts, in one step. Raise InputError if that fails, or two accounts share an identity."""
        assert self._path is not None
        for option, what in (("unix", "Unix user"), ("oidc", "provider's person")):
            names = [name for account in accounts.values() if (name := getattr(account, option))]
            if twice := [name for name in names if names.count(name) > 1]:
                raise InputError(
                    f"--{option}: the {what} {quoted(twice[0])} is another operator's already; give another one"
                )
        self._keeping.write(self._path, content(accounts))

    def now(self, person: Person) -> Person | None:
        """Return a person with the present roles; None if the account was removed or its log-in data changed."""
        accounts = self.all()
        if not accounts and person == UNNAMED:
            return UNNAMED
        if (account := accounts.get(person.name)) is None:
            return None
        present = account.person(person.name)
        return present if present.stamp == person.stamp else None

    def of_unix(self, user: str) -> Person | None:
        """Return the person with this Unix user; None if there is none."""
        return next((account.person(name) for name, account in self.all().items() if account.unix == user), None)

    def of_oidc(self, identity: str) -> Person | None:
        """Return the person with this identity at the log-in provider; None if there is none."""
        matches = ((name, account) for name, account in self.all().items() if account.oidc and account.oidc == identity)
        return next((account.person(name) for name, account in matches), None)

    def on_terminal(self, user: str) -> Person:
        """Return a Unix user's person; `UNNAMED` if nobody has an account. Raise NotAllowedError if others do."""
        if not self.all():
            return UNNAMED
        if (person := self.of_unix(user)) is None:
            raise NotAllowedError(
                f"the operators of this node have names, and none of them is the Unix user {user}: "
                f"smc operator add NAME --unix {user}, or sign in on the page"
            )
        return person

    def signed_in(self, name: str, password: str) -> Person | None:
        """Return the person of this name and password, None if there is none; both cases take one password hash.

        Args:
            name: The name.
            password: The password.
        """
        account = self.all().get(name)
        usable = account if account is not None and account.hash else None
        is_right = verified(password, usable or _nobody())
        return usable.person(name) if usable is not None and is_right else None


def content(accounts: dict[str, Account]) -> bytes:
    """Return the content of the accounts file for these accounts."""
    return _FILE.dump_json(accounts, indent=2) + b"\n"


def is_unix_user(name: str) -> bool:
    """Return whether this machine has a Unix user of this name, or of this number as `unix_user` returns it."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return name == unix_user()
    return True


def unix_user() -> str:
    """Return the name of this process's Unix user; the number, if it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def check_length(what: str, secret: str) -> None:
    """Raise InputError if a new password or passphrase is too short or too long.

    Args:
        what: Name of the secret in the message.
        secret: The password or passphrase.
    """
    if not SHORTEST <= len(secret) <= LONGEST:
        raise InputError(f"a {what} must have from {SHORTEST} to {LONGEST:,} characters")


def protected(password: str) -> tuple[str, str]:
    """Return a fresh salt and the hash of a password. Raise InputError for a wrong length, or without Argon2id here."""
    check_length("password", password)
    salt = secrets.token_bytes(16)
    try:
        return salt.hex(), _argon2id(salt).derive(_bytes(password)).hex()
    except UnsupportedAlgorithm:
        raise InputError(
            "passwords need Argon2id, which this machine's OpenSSL (below 3.2) does not have; use --oidc, "
            "or a newer OpenSSL"
        ) from None


def verified(password: str, account: Account) -> bool:
    """Return whether this is an account's password, in constant time.

    Args:
        password: The password.
        account: The account.
    """
    try:
        _argon2id(bytes.fromhex(account.salt)).verify(_bytes(password), bytes.fromhex(account.hash))
    except InvalidKey:
        return False
    return True


@cache
def _nobody() -> Account:
    return Account(roles=ROLES, salt=secrets.token_hex(16), hash=secrets.token_hex(32))


def _argon2id(salt: bytes) -> Argon2id:
    return Argon2id(salt=salt, length=32, iterations=ITERATIONS, lanes=LANES, memory_cost=MEMORY)


def _bytes(password: str) -> bytes:
    return unicodedata.normalize("NFC", password).encode(errors="replace")
