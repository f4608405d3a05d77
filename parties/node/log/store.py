"""Jobs on disk: one SQLite database for jobs and audit log, so that a change and its entry are written together."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parties.base.settings import explained
from parties.base.text import quoted
from parties.jobs import kinds
from parties.jobs.kind import Kind
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.exchanges.openings import Leaving, Stored, Written
from parties.node.log.statement import Statement
from parties.node.proposal import Proposal
from parties.node.records import Withdrawal
from parties.node.records.kinds import Side
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


class Further(BaseModel):
    """A participant of a job with holders, beyond us and the peer. `name` is local, empty without a link to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    statement: Statement | None = None

    @property
    def rows(self) -> str:
        """The participant's commitment to its rows, in hexadecimal; empty before it has made one."""
        return self.statement.rows.rows if self.statement is not None and self.statement.rows is not None else ""

    def saying(self, statement: Statement) -> Further:
        """Return the participant with this as its latest statement."""
        return self.model_copy(update={"statement": statement})


class Record(BaseModel):
    """A job, as a node keeps it.

    `tree` is the checkpoint, the state as its kind encodes it (for ID3 a tree of indices). `version` is the version of
    our table's rows in party.toml when the first session began; empty if not stated. `fingerprint` is our commitment to
    our rows; it also shows whether they have changed since. `note` is for this party's operator only.

    The fields of a participant are its statement and its commitment to its rows: `ours` and `fingerprint`, `theirs` and
    `peer_rows`. The fold, the state and the index of jobs see them as `participants`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    proposed_by: Literal["us", "peer"]
    peer: str = ""  # local name
    ours: Statement
    theirs: Statement | None = None
    reason: str = ""  # of our verdict, in full
    unasked: bool = False  # our rules permit the job, and the decision point has not answered yet
    note: str = ""
    tree: Any = None
    fingerprint: str = ""
    peer_rows: str = ""  # the peer's commitment to its rows
    sessions: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    profile: str = ""  # of the first session; later ones use the same
    tries: int = 0  # sessions since the last one with progress
    depth: int = 0  # levels decided in the present or last session
    spent: dict[str, int] = {}  # by the sessions before the present or last one; `current` is that one's
    current: dict[str, int] = {}
    cost: dict[str, Any] | None = None  # the report of the last session
    charged: Charge | None = None
    bits: tuple[BitsCharge, ...] = ()  # of exact answers, by the steps that opened them
    version: str = ""
    repeats: str = ""  # the earlier job on the same versions of both tables whose result this job shares
    people: tuple[str, ...] = ()  # names of our people who proposed and approved it, in order, or who refused it
    number: int | None = None  # ours, if we are a holder of rows in the job
    keys: dict[str, str] = Field(
        default={}, repr=False
    )  # our secret ones, see `exchanges.commitment`; until the job ends
    further: dict[Side, Further] = {}  # the participants beyond us and the peer, in the order of the job

    @property
    def names(self) -> list[str]:
        """The local names of all participants that this node has a link with."""
        return [self.peer, *(one.name for one in self.further.values() if one.name)]

    @property
    def titles(self) -> dict[Side, str]:
        """The names of all participants for our people; ours is empty, and one without a link has its fingerprint."""
        further = {side: one.name or f"holder {side[:23]}" for side, one in self.further.items()}
        return {"us": "", "peer": self.peer, **further}

    def side_of(self, name: str) -> Side | None:
        """Return the participant with this local name; None if it takes no part."""
        if name == self.peer:
            return "peer"
        return next((side for side, one in self.further.items() if one.name == name), None)

    @property
    def proposal(self) -> Proposal:
        """The job in public terms."""
        return self.ours.proposal

    @property
    def task(self) -> Kind:
        """The task of the job."""
        return self.proposal.task

    @property
    def id(self) -> str:
        """The job's identifier."""
        return self.proposal.id

    @property
    def party(self) -> int:
        """Our number in the job."""
        proposer = self.proposal.proposer
        if self.number is not None:
            return self.number
        return proposer if self.proposed_by == "us" else 1 - proposer

    @property
    def table(self) -> str:
        """Our table; empty if the job needs none."""
        return self.proposal.tables[self.party]

    @property
    def gives(self) -> bool:
        """True if we give rows."""
        return self.proposal.gives(self.party)

    @property
    def peer_table(self) -> str:
        """The peer's table; for a holder, that of computing party 0."""
        return self.proposal.tables[1 - self.party if self.party < 2 else 0]

    @property
    def participants(self) -> dict[Side, Participant]:
        """All participants, by the names that the log has for them; ours comes first."""
        two = {
            side: Participant(getattr(self, statement), getattr(self, rows))
            for side, (statement, rows) in _FIELDS.items()
        }
        return two | {side: Participant(one.statement, one.rows) for side, one in self.further.items()}

    @property
    def statements(self) -> list[Statement | None]:
        """The statement of each participant; None if it has made none yet."""
        return [one.statement for one in self.participants.values()]

    @property
    def others(self) -> list[Statement | None]:
        """The statements of all participants but us."""
        return self.statements[1:]

    def said_by(self, side: Side) -> Statement:
        """Return the statement of a participant; an empty one if it has made none yet."""
        return self.participants[side].statement or Statement.model_construct(proposal=self.proposal)  # is valid

    def with_statement(self, side: Side, **changes: Any) -> Self:
        """Return the job after a participant has changed its statement.

        Args:
            side: The participant.
            changes: New values of fields of its statement.
        """
        if not changes:
            return self
        said = self.said_by(side).model_copy(update=changes)
        if side in self.further:
            return self.model_copy(update={"further": self.further | {side: self.further[side].saying(said)}})
        return self.model_copy(update={_FIELDS[side][0]: said})

    def with_rows(self, side: Side, rows: str) -> Self:
        """Return the job after a participant has committed to its rows.

        Args:
            side: The participant.
            rows: The commitment, in hexadecimal.
        """
        return self.model_copy(update={_FIELDS[side][1]: rows})

    @property
    def peer_waits(self) -> bool:
        """True if another participant has stated that the job waits for that participant's table."""
        return any(other is not None and other.waits != "" for other in self.others)


@dataclass(frozen=True)
class Participant:
    """A participant's statement about a job and its commitment to its rows; None and empty until they are made."""

    statement: Statement | None
    rows: str


_FIELDS: dict[Side, tuple[str, str]] = {"us": ("ours", "fingerprint"), "peer": ("theirs", "peer_rows")}


def is_held(record: Record) -> bool:
    """Return whether a job of ours still needs approvals of our people; until then no other participant gets it."""
    return record.proposed_by == "us" and not any(record.others) and record.ours.verdict != "approved"


def lacks_signature(record: Record, state: State) -> bool:
    """Return whether a job is computed here and only the peer's signature is missing.

    Args:
        record: The job.
        state: State of the job.
    """
    return state == "interrupted" and record.ours.end == "computed"


def has_news(record: Record) -> bool:
    """Return whether another participant must still hear of a job: the job has no end, or some may not know it."""
    linked = [record.ours, record.theirs, *(one.statement for one in record.further.values() if one.name)]
    settled = all(side is not None and side.settled for side in linked)
    return not is_held(record) and (record.ours.unheard or not settled)


def withdrawals(record: Record) -> list[tuple[Side, Withdrawal]]:
    """Return the withdrawals of a job's result, each with its party."""
    words = [(side, record.said_by(side).withdrawn) for side in record.participants]
    return [(side, word) for side, word in words if word is not None]


class Store:
    """The table of jobs. The caller holds the node's lock, and a transaction around changes that belong together.

    This process alone writes it, so all jobs are kept in memory, too: the page's view every second reads no disk. After
    a failed transaction, `go_back` restores the jobs in memory. Jobs are numbered in order of arrival. A damaged row
    raises InputError.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        with connection:
            for table in _TABLES.split(";"):
                connection.execute(table)
        # Overwrites deleted shares in the database itself; the write-ahead log keeps them until SQLite overwrites it.
        connection.execute("PRAGMA secure_delete = ON")
        self._records = {record.id: record for record in read(connection)}
        self._numbers = {identifier: number for number, identifier in enumerate(self._records)}
        self._ids = {number: identifier for identifier, number in self._numbers.items()}
        self._order = list(self._ids)  # ascending
        self._next = len(self._order)
        self._undo: list[tuple[int, str, Record | None]] = []  # former versions of the jobs changed in this transaction
        self.watchers: list[Callable[[int, Record | None, Record | None], None]] = []  # called after each change
        self.changes = 0  # number of changes, those taken back included

    def begin(self) -> int:
        """Begin a transaction. Return a mark of this moment, with which `go_back` undoes all later changes."""
        return len(self._undo)

    def done(self, mark: int) -> None:
        """End a transaction that was committed; the outermost one forgets the former versions of jobs."""
        if not mark:  # otherwise an outer transaction may fail yet
            self._undo.clear()

    def go_back(self, mark: int) -> None:
        """Restore the jobs as they were at the mark: the transaction has failed."""
        while len(self._undo) > mark:
            self._set(*self._undo.pop())
        self.changes += 1

    def _set(self, number: int, identifier: str, record: Record | None) -> None:
        before = self._records.get(identifier)
        if record is None:
            del self._records[identifier], self._numbers[identifier], self._ids[number]
            del self._order[bisect_left(self._order, number)]
        else:
            self._records[identifier] = record
            if before is None:
                self._numbers[identifier], self._ids[number] = number, identifier
                insort(self._order, number)
        for watch in self.watchers:
            watch(number, before, record)

    def _change(self, identifier: str, record: Record | None) -> None:
        number = self._numbers.get(identifier, self._next)
        self._next = max(self._next, number + 1)
        self._undo.append((number, identifier, self._records.get(identifier)))
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
        """Remove a job and overwrite its content."""
        self._connection.execute("DELETE FROM jobs WHERE id = ?", (identifier,))
        self.forget_openings(identifier)
        self._change(identifier, None)

    def size(self, identifier: str) -> int:
        """Return the bytes of a job's row; 0 if there is none."""
        query = "SELECT length(CAST(record AS BLOB)) FROM jobs WHERE id = ?"
        row = self._connection.execute(query, (identifier,)).fetchone()
        return 0 if row is None else int(row[0])

    def get(self, identifier: str) -> Record | None:
        """Return a job by its full identifier; None if there is none."""
        return self._records.get(identifier)

    def all(self) -> list[Record]:
        """Return all jobs, oldest first."""
        return [record for _, record in self.numbered()]

    def numbered(self) -> Iterator[tuple[int, Record]]:
        """Yield all jobs with their numbers, oldest first."""
        return ((number, self.at(number)) for number in self._order)

    def at(self, number: int) -> Record:
        """Return the job with this number; the numbers are those of `numbered`."""
        return self._records[self._ids[number]]

    def number(self, identifier: str) -> int:
        """Return the number that the store has given a job, in order of arrival."""
        return self._numbers[identifier]

    def newest(self, before: int | None = None) -> Iterator[Record]:
        """Yield the jobs, newest first, optionally those before a number; the store must not change meanwhile."""
        last = len(self._order) if before is None else bisect_left(self._order, before)
        return (self.at(self._order[position]) for position in range(last - 1, -1, -1))

    def write_opening(self, job: str, opening: Written) -> None:
        """Store a share before it leaves. Drop those of other steps and of later openings of the step.

        Args:
            job: The job.
            opening: The opening with its share.
        """
        self._connection.execute(
            "DELETE FROM openings WHERE job = ? AND (step != ? OR place >= ?)", (job, opening.step, opening.place)
        )
        values = (job, opening.step, opening.place, opening.share, opening.seed)
        self._connection.execute("INSERT INTO openings VALUES (?, ?, ?, ?, ?, 0)", values)

    def opening_leaves(self, job: str, opening: Leaving) -> None:
        """Record that a stored share leaves.

        Args:
            job: The job.
            opening: The opening.
        """
        done = self._connection.execute(
            "UPDATE openings SET left = 1 WHERE job = ? AND step = ? AND place = ?", (job, opening.step, opening.place)
        )
        assert done.rowcount == 1, "a share leaves that was not written"

    def openings(self, job: str) -> Stored:
        """Return the stored openings of a job's last step that has any."""
        rows = self._connection.execute(
            "SELECT step, share, seed, left FROM openings WHERE job = ? ORDER BY place", (job,)
        ).fetchall()
        if not rows:
            return Stored()
        steps, shares, seeds, left = zip(*rows, strict=True)
        return Stored(steps[0], sum(left), shares, seeds[0])

    def forget_openings(self, job: str) -> None:
        """Delete the openings of a job that has ended."""
        self._connection.execute("DELETE FROM openings WHERE job = ?", (job,))


def has_jobs(connection: sqlite3.Connection) -> bool:
    """Return whether a database has the table of jobs."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'jobs'").fetchone() is not None


def read(connection: sqlite3.Connection) -> Iterator[Record]:
    """Yield the jobs in a database, oldest first; none if it has no such table. Raise InputError for a damaged row."""
    if has_jobs(connection):
        for identifier, record in connection.execute("SELECT id, record FROM jobs ORDER BY number"):
            yield _read(identifier, record)


def _read(identifier: str, text: str) -> Record:
    """Read a row. Raise InputError with the job and the field if it is damaged."""
    damage = f"the row of job {identifier[:8]} is damaged"
    try:
        record = Record.model_validate_json(text)
    except ValidationError as error:
        if kind := _missing_kind(text):
            raise InputError(
                f"the row of job {identifier[:8]} names the kind {quoted(kind)}, which no package here offers: "
                "install the package, or use a machine that has it"
            ) from None
        raise InputError(f"{damage}: {explained(error, Record)}") from None
    if record.id != identifier:
        raise InputError(f"{damage}: it is that of job {record.id[:8]}")
    return _lean(record)


def _missing_kind(text: str) -> str:
    """Return the kind that a row names if no package offers it; otherwise an empty string."""
    try:
        name = json.loads(text)["ours"]["proposal"]["specification"]["protocol"]
    except (ValueError, LookupError, TypeError):
        return ""
    return "" if not isinstance(name, str) or kinds.is_known(name) else name


def _lean(record: Record) -> Record:
    """Return a job whose statements share one proposal object, which saves a quarter of the memory."""
    for side, participant in record.participants.items():
        other = participant.statement
        if other is not None and other.proposal is not record.proposal and other.proposal == record.proposal:
            record = record.with_statement(side, proposal=record.proposal)
    return record
