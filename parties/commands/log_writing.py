"""Audit log of a party, for commands that read it or write to it under the name of their user.

The node may be running.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from parties.base import console, files
from parties.base.text import printable
from parties.commands.options import node_config, required_party_file
from parties.commands.publish_log import log_of
from parties.node import settings
from parties.node.records import audit, database
from parties.node.records.kinds import EntryKind
from parties.node.records.sidecar_files import SidecarFiles
from parties.node.settings import NodeFile
from parties.operator.accounts import Accounts, content, unix_user
from parties.operator.interface import AuditEntry
from smc.errors import InputError


class Append(Protocol):
    """Function that writes a log entry of a kind, with fields and, if the entry is about a job, the job."""

    def __call__(self, kind: EntryKind, fields: dict[str, Any], job: str | None = None) -> AuditEntry:
        """Write an entry, and return it."""


def file_of(config_file: Path | None = node_config) -> NodeFile:
    """Return the content of the given party.toml, or of ./party.toml; raise InputError if there is none."""
    return settings.load(required_party_file(config_file))


@dataclass(frozen=True)
class _Seen:
    """Cache of a log's entries about people: the log by its inode, the number of its last entry, the entries."""

    log: int
    last: int
    entries: tuple[AuditEntry, ...]


@dataclass(frozen=True)
class _Logged(SidecarFiles):
    """Access to the file of operators' accounts, whose digest must be in the log's last entry about accounts."""

    is_strict: bool
    _unmissed: list[object] = field(default_factory=list)  # stamp of the log when no person was missing
    _seen: list[_Seen] = field(default_factory=list)  # at most one element

    def read(self, path: Path) -> bytes:
        """Return the file's content; if the log has another digest, raise InputError, or print a line if not
        `is_strict`.
        """
        data = super().read(path)
        known = self._entries()
        digest = known[-1].fields.get("digest") if known else None  # earlier releases wrote none
        if digest not in (None, _digest(data)):
            why = f"{path} is not what entry {known[-1].number} of the log says: an older copy, or changed by hand"
            self._complain(why, "put the right one back, or check the people in it and write it anew with smc operator")
        return data

    def check_absent(self, path: Path) -> None:
        """Raise InputError, or print a line once, if the file is missing but the log has people who were not removed.

        The log is read again after each change, because people may be added while a process runs.
        """
        now = self._stamp() if self.is_strict else None
        if now in self._unmissed:
            return
        known = self._entries()
        named: set[str] = set()
        for entry in known:
            (named.discard if entry.fields["what"] == "removed" else named.add)(entry.fields["name"])
        if named and known[-1].fields.get("digest") != _digest(content({})):  # else all accounts were removed
            missing = f"{path} is not there, and people have names by entry {known[-1].number} of the log"
            self._complain(missing, "put it back, or write it anew by smc operator add")
        self._unmissed[:] = [now]

    def _stamp(self) -> object:
        """Return a value that changes when any process writes to the log's database or its write-ahead file."""
        stamps = []
        for name in (self.database.name, f"{self.database.name}-wal"):
            with suppress(FileNotFoundError):
                stamps.append(files.stamp(self.database.with_name(name)))
        return stamps

    def _entries(self) -> tuple[AuditEntry, ...]:
        """Return the log's entries about people; only entries after the cached ones are read."""
        if not self.database.exists():
            return ()
        with database.reading(self.database) as connection:
            log, last = self.database.stat().st_ino, database.last_number(connection)
            known = next((seen for seen in self._seen if seen.log == log and seen.last <= last), _Seen(log, 0, ()))
            new = map(audit.entry, database.rows_of(connection, "operators", after=known.last))
            seen = _Seen(log, last, (*known.entries, *new))
        self._seen[:] = [seen]  # in one step, because several threads call it
        return seen.entries

    def _complain(self, why: str, advice: str) -> None:
        if self.is_strict:
            raise InputError(f"{why}; {advice}")
        console.err.print(printable(why))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def accounts_of(state: Path, is_strict: bool = True) -> Accounts:
    """Return the accounts of operators in a state directory.

    Args:
        state: The directory.
        is_strict: True: accounts that differ from the digest in the log raise InputError. False: they print a line.
    """
    return Accounts(state, _Logged(state / database.FILE_NAME, is_strict))


def entries_of(file: NodeFile, *kinds: EntryKind) -> list[AuditEntry]:
    """Return entries of the log, the oldest first; none if there is no log yet.

    Args:
        file: The settings of the node that keeps the log.
        kinds: Kinds of the entries; without kinds, all entries are returned.
    """
    place = file.node.state / database.FILE_NAME
    if not place.exists():
        return []
    with database.reading(place) as connection:
        rows = database.rows_of(connection, *kinds) if kinds else database.rows(connection)
        return [audit.entry(row) for row in rows]


@contextmanager
def appending(file: NodeFile) -> Iterator[Append]:
    """Yield a function that adds log entries; all are written at the end of the block, none if it raises."""
    with log_of(file) as (connection, log), connection:  # first, because it reports errors of the state as a whole
        person = accounts_of(file.node.state).of_unix(unix_user())

        def append(kind: EntryKind, fields: dict[str, Any], job: str | None = None) -> AuditEntry:
            return log.append(kind, job, {**fields, "person": person.name if person else ""})

        yield append
