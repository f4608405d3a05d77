"""The log of a node: the audit log, and the transaction that writes it together with everything a node keeps.

Calls come from any thread. One lock is held during each read or write; it also protects the jobs in memory.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from parties.link.identity import fingerprint
from parties.node import records
from parties.node.folding import Folding, Repeats
from parties.node.log import integrity
from parties.node.log.store import Store
from parties.node.peers import MisnamedError, Peers, misnamed
from parties.node.records import Head, Signed, audit, database, marker, shipped
from parties.node.records.chain import NO_ENTRY, Checked, Row
from parties.node.records.deferred_sync import DeferredSync
from parties.node.records.kinds import EntryKind, Repeated
from parties.node.records.seal import Seal
from parties.node.records.sealed import errors
from parties.node.records.shipped import Shipped
from parties.operator.interface import AuditEntry, AuditState
from smc.errors import InputError

FREE, WINDOW_SECONDS = 10, 60.0  # entries of a kind about a peer before repeats are folded
HEARD = """
CREATE TABLE IF NOT EXISTS heard (
    peer      TEXT PRIMARY KEY,
    day       TEXT NOT NULL,
    proposals INTEGER NOT NULL,
    bytes     INTEGER NOT NULL
) STRICT
"""
HEADS = """
CREATE TABLE IF NOT EXISTS heads (
    fingerprint TEXT PRIMARY KEY,
    evidence    TEXT NOT NULL
) STRICT
"""


class ClosedError(InputError):
    """The node has stopped: nothing is written any more."""


class NodeLog:
    """The audit log of a node with its database, and the jobs there; `peers` are those whose signatures count."""

    def __init__(self, connection: sqlite3.Connection, peers: Peers) -> None:
        self.connection, self.peers = connection, peers
        self.store = Store(connection)
        self.lock = threading.RLock()
        self.audit = records.AuditLog(connection, peers.identity)
        self.entered: list[Callable[[], None]] = []  # called after entries were written
        self._later = DeferredSync(connection)
        self._folding = Folding(self._note_repeats, FREE, WINDOW_SECONDS)
        self._closed = False
        self._whole: int | None = None  # the version of the database when all was intact
        with connection:
            for table in (HEADS, HEARD, shipped.TABLE):  # all tables under the seal
                connection.execute(table)
        self._seal = Seal(connection, peers.identity)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock, so that nothing changes meanwhile. Raise ClosedError if the database is closed."""
        with self.lock:
            if self._closed:
                raise ClosedError("the node has stopped")
            yield

    @contextmanager
    def writing(self, later: bool = False) -> Iterator[None]:
        """Hold the lock, and write everything inside in one transaction, or nothing.

        With `later`, a power cut may take the transaction back until `settle` is called or another change is written.
        """
        with self.reading():
            mark, changes, size = self.store.begin(), self.store.changes, self.audit.bytes
            try:
                with self._later.commit(later):
                    yield
                    if self._seal.is_behind or self.audit.bytes != size:
                        self._seal.write(self.audit.head())
            except BaseException:
                self._seal.go_back()
                if self.store.changes != changes:
                    self.store.go_back(mark)
                raise
            self.store.done(mark)
            if self.audit.bytes != size:
                for wake in self.entered:
                    wake()

    def settle(self) -> None:
        """Return once everything written is on the disk: information sent outside must not be taken back."""
        self._later.settle()

    def note(self, kind: EntryKind, **fields: Any) -> None:
        """Record an event that concerns no job.

        Args:
            kind: Kind of the log entry.
            fields: Fields of the entry, as the kind defines them.
        """
        with self.writing():
            self.audit.append(kind, None, fields)

    def note_folded(self, kind: Repeated, peer: str, **fields: Any) -> None:
        """Record an event that others may cause at will: repeats with the same peer, or with none, are folded.

        Args:
            kind: Kind of entry.
            peer: Name of the peer; empty if there is none.
            fields: Fields of the entry.
        """
        with self.writing():
            self.add_folded(kind, peer, fields)

    def add_folded(self, kind: Repeated, peer: str, fields: Mapping[str, Any]) -> None:
        """Record an event as `note_folded` does, but in the caller's transaction.

        Args:
            kind: Kind of entry.
            peer: Name of the peer; empty if there is none.
            fields: Fields of the entry.
        """
        if self._folding.add((kind, peer), fields):
            self.audit.append(kind, None, {**({"peer": peer} if peer else {}), **fields})

    def note_repeats(self) -> None:
        """Record now the repeats that `note_folded` has only counted so far."""
        self._folding.flush()

    def _note_repeats(self, key: tuple[str, str], repeats: Repeats) -> None:
        what, peer = key
        why = str(repeats.fields.get("why") or "")
        with suppress(*errors(ClosedError)):  # the node is ending, or cannot write now
            self.note(
                "repeated", what=what, peer=peer, times=repeats.times, first=repeats.first, last=repeats.last, why=why
            )

    def own_fingerprints(self) -> list[str]:
        """Return the fingerprints of our present certificate and of the former ones that have signed this log."""
        renewals = self.audit.of_kind("renewed")
        return [fingerprint(self.peers.identity.certificate), *(one.fields["former_fingerprint"] for one in renewals)]

    def sign(self, result: dict[str, Any]) -> Signed:
        """Sign a result and the last entry of the log."""
        unsigned = Signed(result=result, head=self.audit.head(), signature="0" * 128)
        return unsigned.model_copy(update={"signature": records.sign(self.peers.identity, unsigned.document()).hex()})

    def entries(self, last: int, before: int | None) -> list[AuditEntry]:
        """Return the last entries, newest first.

        Args:
            last: Largest number of entries.
            before: Only entries before this number.
        """
        with self.reading():
            return self.audit.entries(last, before)

    def verify(self) -> AuditState:
        """Check that the log, the jobs and the files beside them are intact, and return the findings.

        What was intact before is not read again, unless another process has written to the database since.
        """
        with self.reading():
            return audit.state(self._checked(self.path.parent))

    @property
    def path(self) -> Path:
        """The file of the database."""
        (*_, path), *_ = self.connection.execute("PRAGMA database_list")
        return Path(path)

    def _checked(self, directory: Path) -> Checked:
        checked = self.audit.checked([who.peer for who in self.peers])
        version = database.version(self.connection)
        if checked.problems or self._whole != version:
            owner = self.peers.identity.certificate
            problems = integrity.beside_the_log(self.connection, owner, checked.hashes, directory)
            self._whole = None if checked.problems or problems else version
            checked = replace(checked, problems=[*checked.problems, *problems])
        return checked

    def check(self, path: Path) -> None:
        """Raise InputError if the records are damaged, MisnamedError if a peer's name does not fit its certificate.

        To go on with changed records would hide the change. `path` is that of the log's marker.
        """
        with self.reading():
            self._whole = None  # check all of it
            problems = self._checked(path.parent).problems
            if problems and (problems != [NO_ENTRY] or integrity.is_begun(self.connection, path.parent)):
                raise InputError(f"{problems[0]}; smc audit verify shows all")
            for who in self.peers:
                if problem := misnamed(who, self.peers, self._names()):
                    raise MisnamedError(problem)

    def _names(self) -> dict[str, str]:
        # not those of archived jobs
        entries = [entry.fields for entry in self.audit.of_kind("connected", "proposed") if entry.fields]
        prints = [fields.get("fingerprint") or fields.get("peer_fingerprint") for fields in entries]
        return {str(print_): str(fields["peer"]) for print_, fields in zip(prints, entries, strict=True)}

    def remember(self, path: Path) -> None:
        """Write the log's present length to its marker, outside the database."""
        with self.reading():
            self.settle()
            marker.remember(path, self.audit)

    def rows_after(self, number: int, most: int) -> list[Row]:
        """Return the next rows of the log, as stored.

        Args:
            number: Number of the entry before them.
            most: Largest number of rows.
        """
        with self.reading():
            self.settle()
            return list(islice(database.rows(self.connection, number), most))

    def shipped(self, target: str) -> Shipped:
        """Return the last entry that a shipping target has; number 0 if this log does not have that entry."""
        with self.reading():
            at = shipped.of(self.connection, target)
            is_here = not at.hash or self.audit.has(Head(number=at.number, hash=at.hash))
            return at if is_here else Shipped()

    def note_shipped(self, target: str, at: Shipped) -> None:
        """Record the progress of a shipping target.

        Args:
            target: The target.
            at: The last entry that it has.
        """
        with self.writing():
            shipped.put(self.connection, target, at)

    def close(self) -> None:
        """Close the database once no caller is using it."""
        with self.lock:
            self._closed = True
            self.connection.close()
