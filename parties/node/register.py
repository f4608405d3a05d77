"""The jobs of a node as they are kept: found, listed, and changed together with their entries in the audit log."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from parties.base.text import quoted
from parties.link.identity import fingerprint
from parties.node import integrity
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.folding import Folding, Repeats
from parties.node.heads import ROLLED_BACK, Found, Heads, Shown
from parties.node.job_index import JobIndex, Queue, base_state
from parties.node.journal import Journal, Released
from parties.node.limits import Refusals, Tally
from parties.node.openings import Stored
from parties.node.peers import MisnamedError, Peers, Who, misnamed
from parties.node.records import Head, audit, database, shipped
from parties.node.records.beside import Beside
from parties.node.records.chain import NO_ENTRY, Checked, Row
from parties.node.records.kinds import EntryKind, Repeated
from parties.node.records.later import Later
from parties.node.records.seal import Seal
from parties.node.records.sealed import errors
from parties.node.records.shipped import Shipped
from parties.node.retention import Archived, Days, due, new_file
from parties.node.statement import End, state
from parties.node.store import Record, Store, is_held
from parties.operator.interface import ENDED, AuditEntry, AuditState, State
from smc.errors import InputError

FREE, WINDOW_SECONDS = 10, 60.0  # entries of a kind about a peer before repeats are folded
SHORTEST_NAME = 4  # of a job: so many digits of its identifier at least
ENDED_STATES = frozenset(ENDED)


class ClosedError(InputError):
    """The node has stopped: nothing is written any more."""


class Register:
    """All jobs of a node, and its audit log. Calls come from any thread.

    `speakers`, by peer, are told of which job the peer should hear our statement, `changed` of every job that has
    changed, both after it is written.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        peers: Peers,
        speakers: Mapping[str, Callable[[str], None]],
        changed: Callable[[str], None],
    ) -> None:
        self._connection, self._peers = connection, peers
        self._speakers, self._changed = speakers, changed
        self._lock = threading.RLock()
        self._later = Later(connection)
        self._store = Store(connection)
        self._index = JobIndex(self._store)
        self._journal = Journal(connection, peers)
        self._past = self._journal.past()
        self.revoked = self._journal.revoked()
        self._is_behind = bool(self._journal.lacking())  # our log an entry that it had
        self._heads = Heads(connection, self._journal)
        self._tally = Tally(connection)
        self._refusals = Refusals()
        self._folding = Folding(self._note_repeats, FREE, WINDOW_SECONDS)
        self._running: set[str] = set()
        self._unsigned = Counter[str]()  # sessions since the job was computed here, by job
        self._closed = False
        self._whole: int | None = None  # the version of the database when all was whole
        self.overwritten = True  # else what was archived may be in the write-ahead log until `archive` is called again
        self.entered: list[Callable[[], None]] = []  # called after entries were written
        with connection:
            connection.execute(shipped.TABLE)
        self._seal = Seal(connection, peers.identity)

    # What there is.

    def all(self) -> list[Record]:
        """Return all jobs, the newest first."""
        with self._lock:
            return self._store.all()[::-1]

    def last(self, most: int, before: str | None = None, states: Collection[State] = ()) -> list[Record]:
        """Return the last jobs (proposed before the given one, in one of these states), the newest first."""
        with self._lock:
            number = None if before is None else self._store.number(self.find(before).id)
            jobs = self._store.newest(number)
            if states and not ENDED_STATES.intersection(states):
                open_jobs = (one for one in reversed(self._index.open()) if number is None or one < number)
                jobs = map(self._store.at, open_jobs)
            return list(islice((job for job in jobs if not states or self.state(job) in states), most))

    def counts(self) -> Counter[State]:
        """Return how many jobs are in each state."""
        with self._lock:
            counts = self._index.counts.copy()
            for record in filter(None, map(self._store.get, self._running)):
                counts[base_state(record)] -= 1
                counts[self.state(record)] += 1
            return counts

    def known(self, identifier: str) -> Record | None:
        """Return a job by its full identifier; None if there is none (any more)."""
        with self._lock:
            return self._store.get(identifier)

    def find(self, beginning: str, states: tuple[State, ...] = ()) -> Record:
        """Return a job by an unambiguous beginning of its identifier, or `latest`, the newest (in one of these states).

        `InputError`: there is none, or several.
        """
        if beginning == "latest":
            newest = next(iter(self.last(1, states=states)), None)
            if newest is None:
                raise InputError(f"there is no job yet{' that is ' if states else ''}{' or '.join(states)}")
            return newest
        if len(beginning) < SHORTEST_NAME:
            raise InputError(f"name the job {quoted(beginning)} by {SHORTEST_NAME} digits at least")
        with self._lock:
            if (record := self._store.get(beginning.lower())) is not None:
                return record
            matches = [record for record in self._store.all() if record.id.startswith(beginning.lower())]
            if len(matches) != 1:
                many = "no job begins" if not matches else f"{len(matches)} jobs begin"
                raise InputError(f"{many} with {quoted(beginning)}; smc jobs lists all")
            return matches[0]

    def state(self, record: Record) -> State:
        """Return what has become of a job."""
        return state(record.ours, record.theirs, record.id in self._running, record.sessions > 0)

    def changes(self) -> str:
        """Return a text that is another one whenever a job may have changed, or is under way that was not."""
        with self._lock:
            return " ".join([str(self._store.changes), *sorted(self._running)])

    def to_greet(self, peer: str) -> list[str]:
        """Return the jobs to speak of on a new link to a peer: without an end, or whose end it may not know."""
        with self._lock:
            return [self._store.at(number).id for number in self._index.news[peer]]

    def statement(self, identifier: str) -> bytes:
        """Return what we have to say of a job, now; empty if that is nothing."""
        with self._lock:
            record = self._store.get(identifier)
            if record is None:
                return self._refusals.take(identifier)
            said = b"" if is_held(record) else record.ours.to_bytes()
        self._later.settle()  # what is said must not be taken back
        return said

    def released(self) -> list[Released]:
        """Return what every job has spent of our tables, archived ones too, the oldest first."""
        with self._lock:
            numbers = self._index.since(self._index.charged, self._index.charged, None)
            return [*self._past.released, *map(_released, map(self._store.at, numbers))]

    def charges(self, tables: Collection[str], since: datetime | None = None) -> list[Charge]:
        """Return what jobs have spent of our tables, archived ones too, the oldest first.

        Args:
            tables: the names that stand for the tables.
            since: charges that count from a moment before may be left out; None for all of them.
        """
        with self._lock:
            past = (one.charge for one in self._past.released)
            own = (self._store.at(number).charged for number in self._index.since(self._index.charged, tables, since))
            return [charge for charge in (*past, *own) if charge is not None and charge.table in tables]

    def bits(self, tables: Collection[str], since: datetime | None = None) -> list[BitsCharge]:
        """Return the bits that exact answers of jobs have opened; the arguments are those of `charges`."""
        with self._lock:
            jobs = map(self._store.at, self._index.since(self._index.exact, tables, since))
            own = (charge for record in jobs for charge in record.bits)
            return [charge for charge in (*self._past.bits, *own) if charge.table in tables]

    def charged_tables(self) -> set[str]:
        """Return the names of tables under which anything was charged."""
        with self._lock:
            past = {one.charge.table for one in self._past.released} | {charge.table for charge in self._past.bits}
            present = (*self._index.charged.items(), *self._index.exact.items())
            return past | {table for table, jobs in present if jobs}

    def withdrawn(self) -> list[Record]:
        """Return the jobs whose result was withdrawn."""
        with self._lock:
            return list(self._index.withdrawn.values())

    def answers(self, record: Record, version: str) -> list[Record]:
        """Return the done jobs that asked the same peer the same of this version of our rows, the newest first."""
        with self._lock:
            return list(map(self._store.at, reversed(self._index.answers(record, version))))

    def starts(self) -> list[Mapping[str, Any]]:
        """Return what the log says of each start of the node."""
        with self._lock:
            return self._journal.starts()

    def lacks_word(self, identifier: str) -> bool:
        """Return whether a job has our consent, and the peer has not decided as far as is known here."""
        record = self.known(identifier)
        return record is not None and record.ours.verdict == "approved" and self.state(record) == "waiting"

    def openings(self, identifier: str) -> Stored:
        """Return what sessions of a job have opened, or are about to open, of the step under way."""
        with self._open():
            return self._store.openings(identifier)

    def ready(self, peer: str) -> list[Record]:
        """Return jobs with a peer that could begin or go on now, the oldest first."""
        return self._agreed(peer, "ready")

    def waiting_for_table(self, peer: str) -> list[Record]:
        """Return jobs with a peer that could begin or go on if our table were there, the oldest first."""
        return self._agreed(peer, "table")

    def entries(self, last: int, before: int | None) -> list[AuditEntry]:
        """Return the last entries of the audit log, the newest first."""
        with self._open():
            return self._journal.entries(last, before)

    def verify(self) -> AuditState:
        """Check that all that is kept is whole, see `integrity`.

        What was found whole before is not read again, unless somebody else has written to the database since.
        """
        with self._open():
            (*_, path), *_ = self._connection.execute("PRAGMA database_list")
            return audit.state(self._checked(Path(path).parent))

    def _checked(self, directory: Path) -> Checked:
        checked, version = self._journal.verify(), database.version(self._connection)
        if checked.problems or self._whole != version:
            owner = self._peers.identity.certificate
            problems = integrity.beside_the_log(self._connection, owner, checked.hashes, directory)
            self._whole = None if checked.problems or problems else version
            checked = replace(checked, problems=[*checked.problems, *problems])
        return checked

    def check(self, marker: Path) -> None:
        """Raise `InputError` if what is kept is not whole, or with a peer that was named otherwise.

        To go on with changed records would cover the change up. `marker` is the log's file beside the database.
        """
        with self._open():
            self._whole = None  # all of it
            problems = self._checked(marker.parent).problems
            if problems and (problems != [NO_ENTRY] or integrity.is_begun(self._connection, marker.parent)):
                raise InputError(f"{problems[0]}; smc audit verify shows all")
            for who in self._peers:
                if problem := misnamed(who, self._peers, self._journal.names()):
                    raise MisnamedError(problem)
        self._name_peers()

    def remember(self, marker: Path) -> None:
        """Write down, outside the database, how far the log has come."""
        with self._open():
            self._later.settle()
            self._journal.remember(marker)

    def archive(
        self, days: Days, folder: Path, out: Path | None = None, emergency: Collection[str] = ()
    ) -> Archived | None:
        """Let the jobs leave that have been kept for so many days, for a new file in the folder (or `out`).

        Those for a purpose of `emergency` that have begun stay until they were reviewed. None if none is to leave.
        `InputError` if it cannot be written: then all stay. The file is on the disk before anything leaves; a crash
        between the two leaves a copy.
        """
        moment = datetime.now(UTC)
        with self._open():
            reviewed = self._journal.reviewed() if emergency else frozenset()
            begun = (job for job in self._store.all() if job.sessions and job.ours.proposal.purpose in emergency)
            if not (jobs := due(self._store.all(), days, moment, {job.id for job in begun} - reviewed)):
                self._overwrite()
                return None
            path, is_there = out or new_file(folder, moment), False
            try:
                with self._writing():
                    self._connection.execute("BEGIN IMMEDIATE")  # what a command writes of them comes before, or after
                    texts = {record.id: self._journal.archive_lines(record) for record in jobs}
                    Beside(folder.parent / database.FILE_NAME).write_archive(path, "".join(texts.values()).encode())
                    is_there = True
                    for record in jobs:
                        self._journal.archived(record, texts[record.id])
                        self._store.remove(record.id)
            except Exception:  # not when interrupted, which may be once it is written
                if is_there:
                    path.unlink(missing_ok=True)
                raise
            self._past = self._journal.past()
            self._overwrite()
        return Archived(path, len(jobs))

    def _overwrite(self) -> None:
        """Empty the write-ahead log, which else has what was overwritten in the database; a reader is in the way."""
        (busy, _, _) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self.overwritten = not busy

    def revoke(self, peer: str, why: str) -> None:
        """Trust a peer's present certificate no more. `InputError`: no such peer, or it is revoked already."""
        with self._writing():
            who = self._peers.named(peer)
            if fingerprint(who.peer) in self.revoked:
                raise InputError(f"the certificate of {quoted(peer)} is revoked already")
            self._journal.revoke(who, why)
        self.revoked |= {fingerprint(who.peer)}

    def succeed(self, who: Who) -> Who:
        """Let a peer's new certificate take the place of the former one, once; return the peer as it is known then."""
        with self._writing():
            if not self._journal.is_replaced(who):
                self._journal.replaced(who)
                self._heads.succeed(who)
        self._peers.replace(who.succeeded)
        return who.succeeded

    def is_succeeded(self, who: Who) -> bool:
        """Return whether a peer has come with its new certificate before."""
        with self._open():
            return self._journal.is_replaced(who)

    def rows_after(self, number: int, most: int) -> list[Row]:
        """Return the next entries of the log after this one, as they are kept."""
        with self._open():
            self._later.settle()
            return list(islice(database.rows(self._connection, number), most))

    def shipped(self, target: str) -> Shipped:
        """Return how far a target of shipping is; the beginning, if it has an entry that the log does not have."""
        with self._open():
            at = shipped.of(self._connection, target)
            known = not at.hash or self._journal.has(Head(number=at.number, hash=at.hash))
            return at if known else Shipped()

    def note_shipped(self, target: str, at: Shipped) -> None:
        """Write down how far a target of shipping is."""
        with self._writing():
            shipped.put(self._connection, target, at)

    def shown(self, peer: str) -> Shown:
        """Return what a peer is shown of both logs."""
        with self._open():
            self._later.settle()
            return self._heads.shown(self._peers.named(peer))

    def lost(self, peer: str, theirs: Shown) -> Found:
        """Return what our log lacks of what the peer shows: see `Heads.lost`."""
        with self._writing():
            lost = self._heads.lost(self._peers.named(peer), theirs)
            self._is_behind |= lost.lost is not None
        if lost.accepted:  # by a command, which has charged what the lost jobs may have spent
            with self._open():
                self._past = self._journal.past()
        return lost

    def rolled_back(self) -> str:
        """Return why no job runs with anybody: our log lacks what it had, and nobody here has accepted that."""
        with self._open():
            peer = self._journal.lacking() if self._is_behind else ""
        self._is_behind = bool(peer)
        return ROLLED_BACK.format(peer=peer) if peer else ""

    def lost_by_peer(self, peer: str, theirs: Shown, reported: Found) -> Found:
        """Return what the peer's log lacks: see `Heads.lost_by_peer`."""
        with self._writing():
            return self._heads.lost_by_peer(self._peers.named(peer), theirs, reported)

    def hold(self, peer: str, theirs: Shown) -> None:
        """Hold this head of the peer's log from now on."""
        with self._writing():
            self._heads.keep(self._peers.named(peer), theirs.own, newer=False)

    def note(self, kind: EntryKind, **fields: Any) -> None:
        """Record what concerns no job."""
        with self._writing():
            self._journal.note(kind, fields)

    def note_folded(self, kind: Repeated, peer: str, **fields: Any) -> None:
        """Record what others may cause as often as they like: repeats about a peer, or about none, are one entry."""
        with self._writing():
            self._note_folded(kind, peer, **fields)

    def _note_folded(self, kind: Repeated, peer: str, **fields: Any) -> None:
        if self._folding.add((kind, peer), fields):
            self._journal.note(kind, {**({"peer": peer} if peer else {}), **fields})

    def note_repeats(self) -> None:
        """Record now what is counted of repeats."""
        self._folding.flush()

    def _note_repeats(self, key: tuple[str, str], repeats: Repeats) -> None:
        what, peer = key
        why = str(repeats.fields.get("why") or "")
        with suppress(*errors(ClosedError)):  # the node ends, or cannot write now
            self.note(
                "repeated", what=what, peer=peer, times=repeats.times, first=repeats.first, last=repeats.last, why=why
            )

    def close(self) -> None:
        """Close the database, when nobody is using it."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _agreed(self, peer: str, queue: Queue) -> list[Record]:
        with self._lock:
            jobs = map(self._store.at, self._index.queue(peer, queue))
            return [record for record in jobs if record.id not in self._running]

    # How it is written.

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Keep everything as it is meanwhile. `ClosedError` if there is no database any more."""
        with self._lock:
            if self._closed:
                raise ClosedError("the node has stopped")
            yield

    @contextmanager
    def _writing(self, later: bool = False) -> Iterator[None]:
        """Keep everything as it is meanwhile, and write what is written inside together, or not at all.

        `later`: a power cut may take it back until something of it is told outside, or another change is written.
        """
        with self._open():
            mark, changes, size = self._store.begin(), self._store.changes, self._journal.bytes
            try:
                with self._later.commit(later):
                    yield
                    if self._seal.is_behind or self._journal.bytes != size:
                        self._seal.write(self._journal.head())
            except BaseException:
                self._seal.go_back()
                if self._store.changes != changes:
                    self._store.go_back(mark)
                raise
            self._store.done(mark)
            if self._journal.bytes != size:
                for wake in self.entered:
                    wake()

    def _name_peers(self) -> None:
        """Name the peers of jobs from before a node could have several: the log says with whom they are."""
        if nameless := [record for record in self._store.all() if not record.peer]:
            with self._writing():
                names = self._journal.peers_of_jobs()
                for record in nameless:
                    self._store.put(record.model_copy(update={"peer": names[record.id]}))

    def _who(self, record: Record) -> Who:
        """Return the peer of a job. `InputError` if it has gone from party.toml."""
        if (who := self._peers.get(record.peer)) is None:
            raise InputError(f"its peer {quoted(record.peer)} is not in party.toml any more")
        return who

    def _get(self, identifier: str) -> Record:
        record = self._store.get(identifier)
        if record is None:
            raise InputError("there is no such job here")
        return record

    def _put(self, record: Record) -> Record:
        if self.state(record) in ENDED and record.ended_at is None:
            ours = record.ours.model_copy(update={"settled": True})
            record = record.model_copy(update={"ours": ours, "ended_at": now()})
            self._store.forget_openings(record.id)
        self._store.put(record)
        return record

    def _end(self, record: Record, end: End, why: str, error: BaseException | None = None) -> Record:
        ours = record.ours.model_copy(update={"end": end, "why": why[:500], "signed": None})
        self._journal.ended(record, "us", ours, error)
        return self._put(record.model_copy(update={"ours": ours}))

    def _tell(self, record: Record, say: bool = True) -> Record:
        if say and not is_held(record) and (speak := self._speakers.get(record.peer)) is not None:
            speak(record.id)
        self._changed(record.id)
        return record


def _released(record: Record) -> Released:
    job = record.ours.proposal
    assert record.charged is not None
    return Released(job.task.name, job.digest, record.charged)


def now() -> str:
    """Return the time as it is kept."""
    return datetime.now(UTC).isoformat(timespec="seconds")
