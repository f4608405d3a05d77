"""A party's audit log, for commands that read it, or write to it under the name of who types them.

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
from parties.commands.options import find_party_file, node_config
from parties.commands.publish_log import log_of
from parties.node import settings
from parties.node.records import audit, database
from parties.node.records.beside import Beside
from parties.node.records.kinds import EntryKind
from parties.node.settings import NodeFile
from parties.operator.accounts import Accounts, content, unix_user
from parties.operator.interface import AuditEntry
from smc.errors import InputError


class Append(Protocol):
    """What writes an entry: of its kind, with its fields, and of a job if it is about one."""

    def __call__(self, kind: EntryKind, fields: dict[str, Any], job: str | None = None) -> AuditEntry:
        """Write it, and return it as it stands."""


def file_of(config_file: Path | None = node_config) -> NodeFile:
    """Return the party.toml that is named, or is here. `InputError` if there is none."""
    path = find_party_file(config_file)
    if path is None:
        raise InputError("--config: there is no party.toml here; give --config party.toml")
    return settings.load(path)


@dataclass(frozen=True)
class _Seen:
    """The entries about people up to the last entry of a log, which is a file's inode."""

    log: int
    last: int
    entries: tuple[AuditEntry, ...]


@dataclass(frozen=True)
class _Logged(Beside):
    """The file of accounts beside a log whose last entry about them has its digest."""

    is_strict: bool
    _unmissed: list[object] = field(default_factory=list)  # how the log was when last nobody was missed
    _seen: list[_Seen] = field(default_factory=list)  # at most one

    def read(self, path: Path) -> bytes:
        """Return its content. `InputError`, or one line, if that is not what the log has: `smc operator` mends it."""
        data = super().read(path)
        known = self._entries()
        digest = known[-1].fields.get("digest") if known else None  # earlier releases wrote none
        if digest not in (None, _digest(data)):
            why = f"{path} is not what entry {known[-1].number} of the log says: an older copy, or changed by hand"
            self._complain(why, "put the right one back, or look at it and write it anew by smc operator")
        return data

    def check_absent(self, path: Path) -> None:
        """Raise `InputError`, or say a line once, if the log has people with names who were not all taken out again.

        The log is read again when it has changed: whoever runs long may have read it before people had names.
        """
        now = self._stamp() if self.is_strict else None
        if now in self._unmissed:
            return
        known = self._entries()
        named: set[str] = set()
        for entry in known:
            (named.discard if entry.fields["what"] == "removed" else named.add)(entry.fields["name"])
        if named and known[-1].fields.get("digest") != _digest(content({})):  # whoever wrote it anew left some out
            missing = f"{path} is not there, and people have names by entry {known[-1].number} of the log"
            self._complain(missing, "put it back, or write it anew by smc operator add")
        self._unmissed[:] = [now]

    def _stamp(self) -> object:
        """Return what differs after the log was written to, by any process: of the database, and of what is ahead."""
        stamps = []
        for name in (self.database.name, f"{self.database.name}-wal"):
            with suppress(FileNotFoundError):
                stamps.append(files.stamp(self.database.with_name(name)))
        return stamps

    def _entries(self) -> tuple[AuditEntry, ...]:
        """Return the log's entries about people: those read before, and what the log has gained since."""
        if not self.database.exists():
            return ()
        with database.reading(self.database) as connection:
            log, last = self.database.stat().st_ino, database.last_number(connection)
            known = next((seen for seen in self._seen if seen.log == log and seen.last <= last), _Seen(log, 0, ()))
            new = map(audit.entry, database.rows_of(connection, "operators", after=known.last))
            seen = _Seen(log, last, (*known.entries, *new))
        self._seen[:] = [seen]  # in one step: several threads ask
        return seen.entries

    def _complain(self, why: str, advice: str) -> None:
        if self.is_strict:
            raise InputError(f"{why}; {advice}")
        console.err.print(printable(why))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def accounts_of(state: Path, is_strict: bool = True) -> Accounts:
    """Return the accounts of people in a state directory; not strictly, they may be others than the log has."""
    return Accounts(state, _Logged(state / database.FILE_NAME, is_strict))


def entries_of(file: NodeFile, *kinds: EntryKind) -> list[AuditEntry]:
    """Return all entries of the log, or those of these kinds, the oldest first; none if there is no log yet."""
    place = file.node.state / database.FILE_NAME
    if not place.exists():
        return []
    with database.reading(place) as connection:
        rows = database.rows_of(connection, *kinds) if kinds else database.rows(connection)
        return [audit.entry(row) for row in rows]


@contextmanager
def appending(file: NodeFile) -> Iterator[Append]:
    """Give what writes an entry; all of a block are written at its end, or none if it raises."""
    with log_of(file) as (connection, log), connection:  # first: it says what is wrong with the state as a whole
        person = accounts_of(file.node.state).of_unix(unix_user())

        def append(kind: EntryKind, fields: dict[str, Any], job: str | None = None) -> AuditEntry:
            return log.append(kind, job, {**fields, "person": person.name if person else ""})

        yield append
