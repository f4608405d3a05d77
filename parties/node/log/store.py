"""Jobs on disk: one SQLite database for jobs and audit log, so that a change and its record are written together."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from parties.base.settings import explained
from parties.base.text import quoted
from parties.jobs import kinds
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.log.statement import Statement
from parties.node.openings import Leaving, Stored, Written
from parties.node.records import Withdrawal
from parties.operator.interface import State
from smc.errors import InputError

_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS openings (
    job TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    share BLOB NOT NULL,
    seed BLOB NOT NULL,
    left INTEGER NOT NULL,
    PRIMARY KEY (job, place)
) STRICT
"""


class Record(BaseModel):
    """A job, as a node keeps it.

    `tree` is the checkpoint, the state as its kind writes it (of ID3 a tree of indices).
    `version` is what party.toml said of our table's rows when the first session began; empty if nothing.
    `fingerprint` is our commitment to our rows: it tells whether they have changed since, too.
    `note` is for this party's operator only; the statements are what the peer has been told and has said.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    proposed_by: Literal["us", "peer"]
    peer: str = ""  # its name here
    ours: Statement
    theirs: Statement | None = None
    reason: str = ""  # of our verdict, in full
    unasked: bool = False  # our rules permit it, and the decision point has not said yet whether it does
    note: str = ""
    tree: Any = None
    fingerprint: str = ""
    peer_rows: str = ""  # the peer's commitment to its rows
    sessions: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    profile: str = ""  # of the first session; those that go on take the same
    tries: int = 0  # sessions since one got further than all before it
    depth: int = 0  # what the present or last session has decided, in levels
    spent: dict[str, int] = {}  # by the sessions before the present or last one, and by that one
    current: dict[str, int] = {}
    cost: dict[str, Any] | None = None  # the report of the last session
    charged: Charge | None = None
    bits: tuple[BitsCharge, ...] = ()  # of exact answers, by the steps that opened them
    version: str = ""
    repeats: str = ""  # the earlier job on the same versions of both tables, whose result this is too
    people: tuple[str, ...] = ()  # ours by name: who has proposed and approved it, in order, or who has refused it

    @property
    def id(self) -> str:
        """The job's identifier."""
        return self.ours.proposal.id

    @property
    def party(self) -> int:
        """Our number in the job."""
        proposer = self.ours.proposal.proposer
        return proposer if self.proposed_by == "us" else 1 - proposer

    @property
    def table(self) -> str:
        """Our table; empty if the job needs none."""
        return self.ours.proposal.tables[self.party]

    @property
    def peer_waits(self) -> bool:
        """True if the peer has said that the job waits for something of its own."""
        return self.theirs is not None and self.theirs.waits != ""


def is_held(record: Record) -> bool:
    """Return whether more of our people must approve a job of ours: until then the peer hears nothing of it."""
    return record.proposed_by == "us" and record.theirs is None and record.ours.verdict != "approved"


def lacks_signature(record: Record, state: State) -> bool:
    """Return whether a job in this state is computed here, and only the peer's signature is missing."""
    return state == "interrupted" and record.ours.end == "computed"


def has_news(record: Record) -> bool:
    """Return whether the peer has still to hear something of a job: it has no end, or one that it may not know."""
    settled = record.ours.settled and record.theirs is not None and record.theirs.settled
    return not is_held(record) and (record.ours.unheard or not settled)


def withdrawals(record: Record) -> list[tuple[Literal["us", "peer"], Withdrawal]]:
    """Return who has withdrawn a job's result, and with which word."""
    ours, theirs = record.ours.withdrawn, None if record.theirs is None else record.theirs.withdrawn
    words: list[tuple[Literal["us", "peer"], Withdrawal | None]] = [("us", ours), ("peer", theirs)]
    return [(side, word) for side, word in words if word is not None]


class Store:
    """The table of jobs. The caller holds the node's lock, and a transaction around what belongs together.

    This process alone writes it, so all jobs are kept in memory too: what is shown every second is not read from disk.
    After a transaction that failed, `go_back` forgets what was not written. Jobs have numbers in the order in which
    they came. `InputError` if a row is damaged.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        with connection:
            for table in _TABLES.split(";"):
                connection.execute(table)
        # Overwrites deleted shares in the database itself; its write-ahead log has them until SQLite writes over that.
        connection.execute("PRAGMA secure_delete = ON")
        self._known = {record.id: record for record in read(connection)}
        self._numbers = {identifier: number for number, identifier in enumerate(self._known)}
        self._ids = {number: identifier for identifier, number in self._numbers.items()}
        self._order = list(self._ids)  # ascending
        self._next = len(self._order)
        self._undo: list[tuple[int, str, Record | None]] = []  # jobs as they were, since the transaction began
        self.watchers: list[Callable[[int, Record | None, Record | None], None]] = []  # told of each change
        self.changes = 0  # since then, those among them that were taken back

    def begin(self) -> int:
        """Begin a transaction; return what `go_back` takes, and `done`."""
        return len(self._undo)

    def done(self, mark: int) -> None:
        """End a transaction that is written."""
        if not mark:  # else it is within another, which may fail yet
            self._undo.clear()

    def go_back(self, mark: int) -> None:
        """Forget what was not written: the transaction has failed."""
        while len(self._undo) > mark:
            self._set(*self._undo.pop())
        self.changes += 1

    def _set(self, number: int, identifier: str, record: Record | None) -> None:
        before = self._known.get(identifier)
        if record is None:
            del self._known[identifier], self._numbers[identifier], self._ids[number]
            del self._order[bisect_left(self._order, number)]
        else:
            self._known[identifier] = record
            if before is None:
                self._numbers[identifier], self._ids[number] = number, identifier
                insort(self._order, number)
        for watch in self.watchers:
            watch(number, before, record)

    def _change(self, identifier: str, record: Record | None) -> None:
        number = self._numbers.get(identifier, self._next)
        self._next = max(self._next, number + 1)
        self._undo.append((number, identifier, self._known.get(identifier)))
        self._set(number, identifier, record)
        self.changes += 1

    def put(self, record: Record) -> None:
        """Insert or replace a job."""
        self._connection.execute(
            "INSERT INTO jobs (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record",
            (record.id, record.model_dump_json()),
        )
        self._change(record.id, _lean(record))

    def remove(self, identifier: str) -> None:
        """Remove a job; what it held is overwritten."""
        self._connection.execute("DELETE FROM jobs WHERE id = ?", (identifier,))
        self.forget_openings(identifier)
        self._change(identifier, None)

    def size(self, identifier: str) -> int:
        """Return the bytes of a job's row; 0 if there is none."""
        query = "SELECT length(CAST(record AS BLOB)) FROM jobs WHERE id = ?"
        row = self._connection.execute(query, (identifier,)).fetchone()
        return 0 if row is None else int(row[0])

    def get(self, identifier: str) -> Record | None:
        """Return a job by its full identifier."""
        return self._known.get(identifier)

    def all(self) -> list[Record]:
        """Return all jobs, the oldest first."""
        return [record for _, record in self.numbered()]

    def numbered(self) -> Iterator[tuple[int, Record]]:
        """Yield all jobs with their numbers, the oldest first."""
        return ((number, self.at(number)) for number in self._order)

    def at(self, number: int) -> Record:
        """Return the job with a number."""
        return self._known[self._ids[number]]

    def number(self, identifier: str) -> int:
        """Return the number of a job."""
        return self._numbers[identifier]

    def newest(self, before: int | None = None) -> Iterator[Record]:
        """Yield the jobs (before this number), the newest first; nothing may change meanwhile."""
        last = len(self._order) if before is None else bisect_left(self._order, before)
        return (self.at(self._order[place]) for place in range(last - 1, -1, -1))

    def write_opening(self, job: str, opening: Written) -> None:
        """Put down a share before it leaves, in the place of those of other steps and later ones of this step."""
        self._connection.execute(
            "DELETE FROM openings WHERE job = ? AND (step != ? OR place >= ?)", (job, opening.step, opening.place)
        )
        values = (job, opening.step, opening.place, opening.share, opening.seed)
        self._connection.execute("INSERT INTO openings VALUES (?, ?, ?, ?, ?, 0)", values)

    def opening_leaves(self, job: str, opening: Leaving) -> None:
        """Put down that a share that was written leaves."""
        done = self._connection.execute(
            "UPDATE openings SET left = 1 WHERE job = ? AND step = ? AND place = ?", (job, opening.step, opening.place)
        )
        assert done.rowcount == 1, "a share leaves that was not written"

    def openings(self, job: str) -> Stored:
        """Return what a job has on the disk of the last step that has openings."""
        rows = self._connection.execute(
            "SELECT step, share, seed, left FROM openings WHERE job = ? ORDER BY place", (job,)
        ).fetchall()
        if not rows:
            return Stored()
        steps, shares, seeds, left = zip(*rows, strict=True)
        return Stored(steps[0], sum(left), shares, seeds[0])

    def forget_openings(self, job: str) -> None:
        """Forget the openings of a job that has ended."""
        self._connection.execute("DELETE FROM openings WHERE job = ?", (job,))


def has_jobs(connection: sqlite3.Connection) -> bool:
    """Return whether a database has the table of jobs."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'jobs'").fetchone() is not None


def read(connection: sqlite3.Connection) -> Iterator[Record]:
    """Return the jobs in a database, the oldest first; none if it has no such table. `InputError` as of `_read`."""
    if has_jobs(connection):
        for identifier, record in connection.execute("SELECT id, record FROM jobs ORDER BY number"):
            yield _read(identifier, record)


def _read(identifier: str, text: str) -> Record:
    """Read a row. `InputError` names the job and the field if it is damaged."""
    place = f"the row of job {identifier[:8]} is damaged"
    try:
        record = Record.model_validate_json(text)
    except ValidationError as error:
        if kind := _missing_kind(text):
            raise InputError(
                f"the row of job {identifier[:8]} names the kind {quoted(kind)}, which no package here offers: "
                "install the package, or do this where it is"
            ) from None
        raise InputError(f"{place}: {explained(error, Record)}") from None
    if record.id != identifier:
        raise InputError(f"{place}: it is that of job {record.id[:8]}")
    return _lean(record)


def _missing_kind(text: str) -> str:
    """Return the kind that a row names, if no package offers it; else nothing."""
    try:
        name = json.loads(text)["ours"]["proposal"]["specification"]["protocol"]
    except (ValueError, LookupError, TypeError):
        return ""
    return "" if not isinstance(name, str) or kinds.is_known(name) else name


def _lean(record: Record) -> Record:
    """Return a job with one proposal in both statements: what is kept of jobs in memory is a quarter less."""
    ours, theirs = record.ours.proposal, record.theirs
    if theirs is None or theirs.proposal is ours or theirs.proposal != ours:
        return record
    return record.model_copy(update={"theirs": theirs.model_copy(update={"proposal": ours})})
