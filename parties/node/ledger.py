"""The ledger of jobs: what is proposed, said and decided; each change is written together with its record.

No session begins but for a job that both parties' statements approve, and ours is approved by the operator or by a
rule, never otherwise.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from parties.jobs.means import Means
from parties.node import commitment, limits, outcome, proposal
from parties.node.commitment import Commitments
from parties.node.gate import Gate, Surroundings, Who
from parties.node.inputs import Inputs
from parties.node.journal import Journal
from parties.node.limits import Refusals
from parties.node.offers import Offers
from parties.node.proposal import Proposal
from parties.node.statement import End, Statement, state
from parties.node.store import Record, Store
from parties.operator.interface import ENDED, AuditEntry, AuditState, State
from parties.records.kinds import Kind
from parties.tables.unfit import without_cells
from parties.text import quoted
from smc.errors import InputError, LinkError, ProtocolError
from smc.meter import Cost

DIFFERENT = "the two parties have signed different results"
SHORTEST_NAME = 4  # of a job: so many digits of its identifier at least


class ClosedError(InputError):
    """The node has stopped: nothing is written any more."""


class Ledger:
    """All jobs of a node. Calls come from any thread.

    `said` is told of every job of which the peer should hear our statement, `changed` of every job that has changed,
    both after it is written. `address` is the peer's, when it is known.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        who: Who,
        gate: Gate,
        offers: Offers,
        inputs: Inputs,
        said: Callable[[str], None],
        changed: Callable[[str], None],
    ) -> None:
        self._connection, self._who, self._gate, self._offers = connection, who, gate, offers
        self._inputs = inputs
        self._said, self._changed = said, changed
        self._lock = threading.RLock()
        self._store = Store(connection)
        self._journal = Journal(connection, who)
        self._refusals = Refusals()
        self._running: set[str] = set()
        self._closed = False
        self.address: str | None = None

    # What there is.

    def all(self) -> list[Record]:
        """All jobs, the newest first."""
        with self._lock:
            return self._store.all()[::-1]

    def last(self, most: int, before: str | None = None, states: Collection[State] = ()) -> list[Record]:
        """The last jobs (proposed before the given one, in one of these states), the newest first."""
        with self._lock:
            jobs = self.all()
            if before is not None:
                jobs = jobs[jobs.index(self.find(before)) + 1 :]
            return list(islice((job for job in jobs if not states or self.state(job) in states), most))

    def find(self, beginning: str) -> Record:
        """A job by an unambiguous beginning of its identifier, or `latest`. `InputError`: there is none, or several."""
        if beginning == "latest":
            newest = next(iter(self.all()), None)
            if newest is None:
                raise InputError("there is no job yet")
            return newest
        if len(beginning) < SHORTEST_NAME:
            raise InputError(f"name the job {quoted(beginning)} by {SHORTEST_NAME} digits at least")
        with self._lock:
            found = [record for record in self._store.all() if record.id.startswith(beginning.lower())]
            if len(found) != 1:
                many = "no job begins" if not found else f"{len(found)} jobs begin"
                raise InputError(f"{many} with {quoted(beginning)}; smc jobs lists all")
            return found[0]

    def state(self, record: Record) -> State:
        """What has become of a job."""
        return state(record.ours, record.theirs, record.id in self._running, record.sessions > 0)

    def statement(self, identifier: str) -> bytes:
        """What we have to say of a job, now; empty if that is nothing."""
        with self._lock:
            record = self._store.get(identifier)
            return record.ours.to_bytes() if record is not None else self._refusals.take(identifier)

    def to_greet(self) -> list[str]:
        """The jobs to speak of on a new link: those that have not ended, or whose end the peer may not know."""
        jobs = reversed(self.all())
        return [record.id for record in jobs if not (record.ours.settled and _is_settled(record.theirs))]

    def ready(self) -> list[Record]:
        """Jobs that could begin or go on now, the oldest first."""
        return [record for record in reversed(self.all()) if self.state(record) in ("queued", "interrupted")]

    def entries(self, last: int, before: int | None) -> list[AuditEntry]:
        """The last entries of the audit log, the newest first."""
        with self._open():
            return self._journal.entries(last, before)

    def verify(self) -> AuditState:
        """Whether the audit log is whole."""
        with self._open():
            return self._journal.verify()

    def check(self, marker: Path) -> None:
        """`InputError` if the log is not whole, not the one that was here before, or says other things than the jobs.

        To go on with changed records would cover the change up. `marker` is the log's file beside the database.
        """
        with self._open():
            self._journal.check(marker)
            if self._journal.entries(1, None) and not (found := self._journal.verify()).ok:
                raise InputError(f"the audit log is not whole: {found.problems[0]}; smc audit verify shows all")
            if problem := self._journal.disagreement(self._store.all()):
                raise InputError(f"{problem}: one of the two was changed")

    def remember(self, marker: Path) -> None:
        """Write down, outside the database, how far the log has come."""
        with self._open():
            self._journal.remember(marker)

    def note(self, kind: Kind, **fields: Any) -> None:
        """Record what concerns no job."""
        with self._writing():
            self._journal.note(kind, fields)

    # What the operator does.

    def propose(self, fields: dict[str, Any]) -> Record:
        """A job of ours. `InputError` if it is wrong, or if a rule of ours denies it."""
        job = proposal.read_job(fields)
        made = proposal.propose(job, self._offers.means(job.table or ""))
        self._check_typed(made, job.typed)
        with self._writing():
            judgement = self._gate.judge(made, "us", self._around(made))
            if judgement.verdict != "approved":
                raise InputError(f"this cannot be proposed: {judgement.reason}")
            ours = Statement(proposal=made, verdict="approved", by=judgement.by, at=_now())
            record = self._begin(Record(proposed_by="us", ours=ours))
            self._inputs.put(made.id, job.typed)
        return self._tell(record)

    def decide(
        self,
        beginning: str,
        verdict: Literal["approved", "refused"],
        why: str = "",
        typed: Mapping[str, Any] | None = None,
    ) -> Record:
        """The operator's verdict on a job that waits for it, with what the job asks the operator to type.

        What was typed is forgotten when the node ends: then it is typed again, by approving once more.
        """
        with self._writing():
            record = self.find(beginning)
            if verdict == "approved" and self._needs(record):
                self._check_typed(record.ours.proposal, typed or {})
                self._inputs.put(record.id, typed or {})
                if record.ours.verdict == "approved":
                    return self._tell(self._put(record.model_copy(update={"note": ""})))
            elif typed:
                raise InputError(f"job {record.id[:8]} asks for nothing to be typed")
            if self.state(record) != "waiting" or record.ours.verdict != "waiting":
                raise InputError(f"job {record.id[:8]} does not wait for our consent: it is {self._described(record)}")
            ours = record.ours.model_copy(
                update={"verdict": verdict, "by": "operator", "at": _now(), "why": why.strip()[:500]}
            )
            self._journal.verdict(record.id, "us", ours)
            record = self._put(record.model_copy(update={"ours": ours, "reason": why.strip()}))
        return self._tell(record)

    def cancel(self, beginning: str, why: str = "") -> Record:
        """End a job that has not ended."""
        with self._writing():
            record = self.find(beginning)
            if self.state(record) in ENDED:
                raise InputError(f"job {record.id[:8]} has ended already: it is {self.state(record)}")
            if record.ours.end == "computed":
                raise InputError(f"job {record.id[:8]} is computed here: only the peer's signature is missing")
            record = self._end(record, "cancelled", why.strip() or "the operator cancelled it")
        return self._tell(record)

    # What the peer says.

    def hear(self, data: bytes) -> None:
        """A statement of the peer. `ProtocolError` if it is none."""
        theirs = Statement.from_bytes(data)
        if theirs.signed is not None and not theirs.signed.is_signed_by(self._who.peer):
            raise ProtocolError("the peer's signature under a job's result is wrong")
        with self._writing():
            record = self._store.get(theirs.proposal.id)
            if record is None:
                record, answer = self._meet(theirs, len(data)), True
            elif record.ours.proposal != theirs.proposal:
                raise ProtocolError("the peer has changed a job after it was proposed")
            else:
                settled, known = record.ours.settled, record.theirs
                if theirs != known and self.state(record) != "done":
                    record = self._hear_more(record, theirs)
                if settled and self.state(record) not in ENDED:
                    raise ProtocolError("the peer takes back that a job has ended")
                # The peer has not heard of the end, or not that we have.
                answer = record.ours.settled and not (settled and theirs.settled)
                if theirs == known and not answer:
                    return
        if record is None:
            self._said(theirs.proposal.id)
        else:
            self._tell(record, say=answer)

    def _meet(self, theirs: Statement, size: int) -> Record | None:
        """A job that we did not know: decide on it by our rules, or leave it to the operator.

        None if it is more than anybody could want, or does not fit what is offered here: then only an answer is kept.
        """
        job, now = theirs.proposal, datetime.now(UTC)
        if theirs.settled and theirs.verdict != "refused" and theirs.end != "cancelled":
            return None  # it has heard our refusal
        heard = (record for record in self._store.all() if record.proposed_by == "peer")
        if why := limits.excess(theirs, size, heard, now):
            self._refusals.put(theirs, why)
            return None
        found = self._gate.judge(job, "peer", self._around(job))
        if found.by == "node":
            self._refusals.put(theirs, found.public)
            return None
        at = _now() if found.verdict != "waiting" else None
        ours = Statement(proposal=job, verdict=found.verdict, by=found.by, at=at, why=found.public)
        record = Record(proposed_by="peer", ours=ours, theirs=theirs, reason=found.reason)
        return self._begin(record.model_copy(update={"heard_at": now.isoformat(), "heard_bytes": size}))

    def _hear_more(self, record: Record, theirs: Statement) -> Record:
        """News of a job that is not done."""
        before = record.theirs
        record = record.model_copy(update={"theirs": theirs})
        self._journal.heard(record, before)
        if theirs.signed is not None and record.ours.signed is not None:
            if theirs.signed.result != record.ours.signed.result:
                return self._end(record, "failed", DIFFERENT, ProtocolError(DIFFERENT))
            self._journal.signed(record)
        return self._put(record)

    # What a session does.

    def begin(self, identifier: str) -> Record | None:
        """A session of this job is about to start; until `over` no other can. `InputError` if it must not run.

        None if it must not run now: what a rule has approved is put to the rules again, which may know times.
        """
        with self._writing():
            record = self._get(identifier)
            if self.state(record) not in ("queued", "interrupted"):
                raise InputError(f"the job is {self.state(record)}")
            if record.ours.by not in ("operator", "proposer"):
                decision = self._gate.allows_now(record.ours.proposal, self._around(record.ours.proposal))
                if decision.effect != "permit":
                    self._not_now(record, decision.reason)
                    return None
            if missing := self._missing(record):
                how = f"smc approve {record.id[:8]} --input {missing[0]}=VALUE"
                self._not_now(record, f"needs {', '.join(missing)} to be typed: {how}")
                return None
            self._running.add(identifier)
        self._changed(identifier)
        return record

    def means(self, record: Record) -> Means:
        """What this party brings to a job. `InputError` if its table is not there any more."""
        job = record.ours.proposal
        return self._offers.means(job.tables[self._who.party], self._inputs.of(record.id))

    def met(self, identifier: str, depth: int, profile: str, both: Commitments | None = None) -> None:
        """The session has begun: the peer is there, and both go on from this depth, with these commitments to rows.

        `ProtocolError` if the peer's is not what it was, or if too many sessions have got no further than those before:
        what a level opens could be opened with other rows each time.
        """
        with self._writing():
            record = self._get_running(identifier)
            most = self._offers.tries(record.ours.proposal.tables[self._who.party])
            if profile and record.tries >= most:
                raise ProtocolError(f"{most} sessions were cut short and got no further: it does not go on by itself")
            self._journal.started(record, depth, profile, self.address)
            changes: dict[str, Any] = {}
            if both is not None:
                commitment.check(both, record.peer_rows, record.ours.proposal, self._who.peer)
                if not record.peer_rows:
                    self._journal.committed(record, both)
                changes = {"fingerprint": both.ours.rows, "peer_rows": both.theirs.rows}
            spent = outcome.added(record.spent, record.current)
            changes |= {"sessions": record.sessions + 1, "spent": spent, "current": {}, "depth": depth}
            changes |= {"tries": record.tries + bool(profile), "profile": profile or record.profile}
            self._put(record.model_copy(update={"started_at": record.started_at or _now(), "note": "", **changes}))

    def reached(self, identifier: str, state: Any, total: Cost) -> None:
        """The checkpoint, as JSON: all steps in it are decided. `total` is the session's cost so far.

        `ProtocolError` if it is not what sessions before have found: then rows have changed somewhere.
        """
        with self._writing():
            self._checkpoint(self._get_running(identifier), state, total)

    def computed(self, identifier: str, state: Any, total: Cost, report: dict[str, Any]) -> None:
        """The session has ended well: keep the result, and sign what it says."""
        with self._writing():
            record = self._get(identifier)
            if self.state(record) in ENDED:
                return
            record = self._checkpoint(record, state, total).model_copy(update={"cost": report})
            found = outcome.result(record.ours.proposal, record.ours.proposal.task.decode(state))
            self._journal.finished(record, found)
            signed = self._journal.sign(found)
            record = record.model_copy(
                update={"ours": record.ours.model_copy(update={"end": "computed", "signed": signed})}
            )
            if record.theirs is not None and record.theirs.signed is not None:
                if record.theirs.signed.result == found:
                    self._journal.signed(record)
                else:
                    record = self._end(record, "failed", DIFFERENT, ProtocolError(DIFFERENT))
            record = self._put(record)
        self._tell(record)

    def broke(self, identifier: str, why: str, total: Cost) -> None:
        """The session was cut short; the job goes on when the peer is back."""
        with self._writing():
            record = self._get(identifier).model_copy(update={"note": why, "current": outcome.traffic(total)})
            self._journal.interrupted(record, why)
            self._put(record)

    def remark(self, identifier: str, note: str) -> None:
        """Why the job does not go on now, for our operator."""
        with self._writing():
            record = self._get(identifier)
            if record.note != note:
                self._put(record.model_copy(update={"note": note}))

    def failed(self, identifier: str, error: BaseException, public: str) -> None:
        """The job cannot go on; the error is for our operator, `public` is what the peer is told."""
        with self._writing():
            record = self._get(identifier).model_copy(update={"note": without_cells(error)})
            if self.state(record) in ENDED:
                return
            record = self._end(record, "failed", public, error)
        self._tell(record)

    def over(self, identifier: str) -> None:
        """No session of this job is under way any more."""
        with self._lock:
            self._running.discard(identifier)
        self._changed(identifier)

    def close(self) -> None:
        """Close the database, when nobody is using it."""
        with self._lock:
            self._closed = True
            self._connection.close()

    # How it is written.

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Nothing changes meanwhile. `ClosedError` if there is no database any more."""
        with self._lock:
            if self._closed:
                raise ClosedError("the node has stopped")
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Nothing changes meanwhile, and what is written inside is written together, or not at all."""
        with self._open():
            before = self._store.kept()
            try:
                with self._connection:
                    yield
            except BaseException:
                self._store.go_back(before)
                raise

    def _get(self, identifier: str) -> Record:
        record = self._store.get(identifier)
        if record is None:
            raise InputError("there is no such job here")
        return record

    def _get_running(self, identifier: str) -> Record:
        """The job of a session. `LinkError` if it was ended meanwhile: then nothing of it may go on."""
        record = self._get(identifier)
        if self.state(record) in ENDED:
            raise LinkError(f"the job was ended: it is {self.state(record)}")
        return record

    def _begin(self, record: Record) -> Record:
        """Write a new job."""
        self._journal.proposed(record, self.address)
        return self._put(record)

    def _checkpoint(self, record: Record, found: Any, total: Cost) -> Record:
        """Keep the state if it goes further than the one there is, and record what this session has opened of it."""
        task = record.ours.proposal.task
        known, state = task.decode(record.tree), task.decode(found)
        steps = task.steps(state)
        common = min(task.steps(known), steps)
        if task.cut(known, common) != task.cut(state, common):
            raise ProtocolError(f"another {task.noun} than before: a party's rows have changed since the job began")
        self._journal.opened(record, state, range(record.depth, steps))
        changes = {"current": outcome.traffic(total), "depth": steps}
        if steps > task.steps(known):  # this session has got further: of the next level it is the first
            changes |= {"tree": task.encode(state), "tries": 1}
        return self._put(record.model_copy(update=changes))

    def _missing(self, record: Record) -> list[str]:
        """What the operator has still to type."""
        try:
            return record.ours.proposal.task.missing(self.means(record))
        except InputError:  # the table or circuit has gone: the session will say so
            return []

    def _needs(self, record: Record) -> bool:
        return self.state(record) not in ENDED and bool(self._missing(record))

    def _check_typed(self, job: Proposal, typed: Mapping[str, Any]) -> None:
        """`InputError` unless what was typed is all that the job asks for, and fits."""
        means = self._offers.means(job.tables[self._who.party], typed)
        names = [one.key for one in job.task.asked()]
        if unknown := [name for name in typed if name not in names]:
            raise InputError(f"{unknown[0]}: the job does not ask for it")
        if missing := job.task.missing(means):
            raise InputError(f"{missing[0]}: the job asks for it, and nothing is typed: --input {missing[0]}=VALUE")
        if names:
            with job.task.open(means):
                pass

    def _not_now(self, record: Record, why: str) -> None:
        """Why a job must not run now, for our operator."""
        if record.note != why:
            self._put(record.model_copy(update={"note": why}))

    def _end(self, record: Record, end: End, why: str, error: BaseException | None = None) -> Record:
        ours = record.ours.model_copy(update={"end": end, "why": why[:500], "signed": None})
        self._journal.ended(record, "us", ours, error)
        return self._put(record.model_copy(update={"ours": ours}))

    def _put(self, record: Record) -> Record:
        if self.state(record) in ENDED and record.ended_at is None:
            ours = record.ours.model_copy(update={"settled": True})
            record = record.model_copy(update={"ours": ours, "ended_at": _now()})
        self._store.put(record)
        return record

    def _tell(self, record: Record, say: bool = True) -> Record:
        if say:
            self._said(record.id)
        self._changed(record.id)
        return record

    def _around(self, job: Proposal) -> Surroundings:
        """What counts beside the job when it is judged."""
        at = datetime.now().astimezone()
        own = self._who.party
        same = [
            other.ours.at
            for other in self.all()
            if other.ours.verdict == "approved"
            and other.ours.proposal.tables[own] == job.tables[own]
            and other.id != job.id
            and other.ours.at
        ]
        today = sum(datetime.fromisoformat(moment).astimezone().date() == at.date() for moment in same)
        waiting = sum(self.state(other) == "waiting" for other in self.all())
        return Surroundings(today, waiting, at, self.address)

    def _described(self, record: Record) -> str:
        found = self.state(record)
        return "waiting for the peer's consent" if found == "waiting" else found


def _is_settled(side: Statement | None) -> bool:
    return side is not None and side.settled


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
