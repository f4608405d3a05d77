"""The events of a job, and what a job is after each.

An event that is logged is its entry (`records.kinds`): its fields are those of the entry. What no entry has, such as a
note for our operator, are events of this module. `fold` is pure: it reads no clock, table or setting. So a job's
entries, folded again, say what its record must be (`consistency`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from parties.link.identity import fingerprint
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.log import outcome
from parties.node.log.statement import BY_NODE, BY_POINT, MAX_LINE, OPERATOR, Statement, state
from parties.node.log.store import Record
from parties.node.peers import Who
from parties.node.records import Signed, Withdrawal, failure, kinds
from parties.node.records.kinds import PEER_FAILED, Side
from parties.operator.interface import ENDED, AuditEntry, State


@dataclass(frozen=True)
class Told:
    """The peer hears this reason of what we have just said; our operator reads `reason`, if it is another."""

    why: str
    reason: str | None = None


@dataclass(frozen=True)
class LeftOpen:
    """Neither our rules nor the decision point decide: the operator does, or the point when it is asked."""

    reason: str
    unasked: bool


@dataclass(frozen=True)
class Heard:
    """The peer's statement is another one; `answer` is what ours says of a withdrawal then."""

    theirs: Statement
    answer: Mapping[str, bool] | None = None


@dataclass(frozen=True)
class Began:
    """The session that has begun is one of so many tries; `version` is that of our rows, `repeats` the earlier job."""

    tries: int
    version: str
    repeats: str


@dataclass(frozen=True)
class Reached:
    """Steps are decided: `tree` is the new checkpoint, None if sessions before have got as far."""

    depth: int
    current: dict[str, int]
    tree: Any = None


@dataclass(frozen=True)
class Booked:
    """What the last entry has charged, to the microsecond."""

    charge: Charge | BitsCharge


@dataclass(frozen=True)
class Noted:
    """Our operator is to know something; `current` and `tries` are what a session that ended has cost, and its try."""

    note: str
    current: dict[str, int] | None = None
    tries: int | None = None


@dataclass(frozen=True)
class Waits:
    """The job waits for something of ours, or no more; the peer is told what, our operator why."""

    waits: Literal["", "table"]
    note: str


@dataclass(frozen=True)
class Computed:
    """We have signed the result, unless the peer has signed another; `cost` is the report of the last session."""

    cost: dict[str, Any]
    current: dict[str, int]
    signed: Signed | None


@dataclass(frozen=True)
class Named:
    """The peer of a job has a name: the job is from before a node could have several."""

    peer: str


Unlogged: TypeAlias = Told | LeftOpen | Heard | Began | Reached | Booked | Noted | Waits | Computed | Named
Event: TypeAlias = kinds.Fields | Unlogged


def fold(record: Record, event: Event, at: str) -> Record:
    """Return the job after an event at this moment, ISO 8601 in UTC."""
    match event:
        case kinds.Proposed() | kinds.Approved():
            return _with_person(record, event.person)
        case kinds.Decided(party="peer"):
            return _theirs(record, verdict=event.verdict)
        case kinds.Decided():
            if (event.verdict, event.by) == ("refused", OPERATOR):
                record = _changed(record, people=())  # one person's word
            by = BY_NODE if event.by == BY_POINT else event.by  # the peer is not told that there is a decision point
            record = _changed(_with_person(record, event.person), reason=event.reason, unasked=False)
            return _ours(record, verdict=event.verdict, by=by, at=at)
        case Told():
            reason = record.reason if event.reason is None else event.reason
            return _changed(_ours(record, why=event.why[:MAX_LINE]), reason=reason)
        case Heard():
            return _ours(_changed(record, theirs=event.theirs), **(event.answer or {}))
        case kinds.Started():
            spent, started = outcome.added(record.spent, record.current), record.started_at or at
            record = _changed(record, sessions=record.sessions + 1, started_at=started, spent=spent, current={})
            return _changed(record, depth=event.depth, profile=event.profile or record.profile, note="")
        case Began():
            same = record.sessions == 1 or record.version == event.version  # else its answer is of no version
            repeats, version = event.repeats or record.repeats, event.version if same else ""
            return _changed(record, tries=event.tries, repeats=repeats, version=version)
        case kinds.BothCommitted():
            return _changed(record, fingerprint=event.ours.rows, peer_rows=event.theirs.rows)
        case kinds.Charge():
            return _changed(record, charged=Charge.read(record.id, event.model_dump()))
        case kinds.BitsCharge():
            return _changed(record, bits=(*record.bits, BitsCharge.read(record.id, event.model_dump())))
        case Booked(Charge() as charge):
            return _changed(record, charged=charge)
        case Booked():
            return _changed(record, bits=(*record.bits[:-1], event.charge))
        case Reached():
            further = {} if event.tree is None else {"tree": event.tree, "tries": 1}  # of the next step the first
            return _changed(record, depth=event.depth, current=event.current, **further)
        case LeftOpen() | Noted() | Named():
            return _changed(record, **{name: value for name, value in vars(event).items() if value is not None})
        case Waits():
            return _changed(_ours(record, waits=event.waits), note=event.note)
        case kinds.Finished():
            return _changed(_ours(record, end="computed"), repeats=event.repeats)
        case Computed():
            return _changed(_ours(record, signed=event.signed), cost=event.cost, current=event.current)
        case kinds.BothSigned():
            return _theirs(_ours(record, signed=event.ours), signed=event.theirs)
        case kinds.Cancelled(by="peer"):
            return _theirs(record, end="cancelled")
        case kinds.Cancelled():
            return _ours(record, end="cancelled", why=event.why, signed=None)
        case kinds.Failed(error=name) if name == PEER_FAILED:
            return _theirs(record, end="failed")
        case kinds.Failed():
            return _ours(record, end="failed", why="", signed=None)
        case kinds.Withdrawn(by="peer"):
            return _theirs(record, withdrawn=event.word)
        case kinds.Withdrawn():
            return _ours(record, withdrawn=event.word, unheard=True)
    return record  # such as what was opened: `Reached` keeps it


def settled(record: Record, at: str) -> Record:
    """Return a job that has ended as one of which nothing more needs to be said to us; any other as it is."""
    if base_state(record) in ENDED and record.ended_at is None:
        return _changed(_ours(record, settled=True), ended_at=at)
    return record


def replayed(record: Record, entries: Iterable[AuditEntry]) -> Record:
    """Return what the log makes of a job: its proposal, and then all that its entries say."""
    logged = Record(proposed_by=record.proposed_by, ours=Statement(proposal=record.ours.proposal))
    for entry in entries:
        logged = fold(logged, kinds.FIELDS[entry.kind].model_validate(entry.fields), entry.at)
    return logged


def heard(record: Record, theirs: Statement) -> Iterator[Event]:
    """Yield what happens when the peer says this: its statement, and the news in it that are logged."""
    before = record.theirs
    yield Heard(theirs)
    if theirs.verdict != "waiting" and (before is None or before.verdict != theirs.verdict):
        yield kinds.Decided(party="peer", verdict=theirs.verdict, by=theirs.by, reason=theirs.why)
    if before is not None and before.end not in ("", "computed"):
        return
    if theirs.end == "cancelled":
        yield kinds.Cancelled.model_validate({"by": "peer", "why": theirs.why, **sizes(record)})
    elif theirs.end == "failed":
        yield kinds.Failed.model_validate({"error": PEER_FAILED, "why": theirs.why, **sizes(record)})


def proposed(record: Record, who: Who, address: str | None, person: str = "") -> kinds.Proposed:
    """Return the event that a job is here that was not: all that is public of it."""
    whom = {"peer": record.peer, "peer_fingerprint": fingerprint(who.peer), "address": address}
    return kinds.Proposed.model_validate({**whom, "person": person, **public(record)})


def decided(
    verdict: Literal["approved", "refused"], by: str, why: str = "", reason: str = "", person: str = ""
) -> tuple[Event, Event]:
    """Return the events that we consent or decline; the arguments are those of the entry and of `Told`."""
    logged = reason or why[:MAX_LINE]
    entry = kinds.Decided(party="us", verdict=verdict, by=by, reason=logged, person=person)
    return entry, Told(why, reason or why)


def failed(record: Record, told: str, error: BaseException) -> tuple[Event, Event]:
    """Return the events that a job fails here; `told` is what the peer hears of the error."""
    return kinds.Failed.model_validate({**failure(error), **sizes(record)}), Told(told)


def both_signed(who: Who, ours: Signed, theirs: Signed) -> kinds.BothSigned:
    """Return the event that both signatures under a result are here."""
    signer = who.signer(theirs.is_signed_by) or who.peer
    return kinds.BothSigned(ours=ours, theirs=theirs, peer_fingerprint=fingerprint(signer))


def withdrawn(who: Who, by: Side, digest: str, word: Withdrawal, person: str = "") -> kinds.Withdrawn:
    """Return the event that a party withdraws the result of the job of this digest."""
    signer = who.identity.certificate
    if by == "peer":
        signer = who.signer(lambda certificate: word.is_signed_by(certificate, digest)) or who.peer
    return kinds.Withdrawn(by=by, signer=fingerprint(signer), digest=digest, word=word, person=person)


def sizes(record: Record) -> dict[str, int]:
    """Return the bytes that all sessions of a job have sent, and received."""
    spent = outcome.added(record.spent, record.current)
    return {name: spent[name] for name in ("bytes_sent", "bytes_received")}


def base_state(record: Record) -> State:
    """Return the state of a job of which no session is under way."""
    return state(record.ours, record.theirs, False, record.sessions > 0)


def public(record: Record) -> dict[str, Any]:
    """Return what is public of a job, and who proposed it: what its entry `proposed` says."""
    job, party = record.ours.proposal, record.party
    parameters = job.task.parameters()
    return {
        "by": record.proposed_by,
        "protocol": job.task.name,
        "purpose": job.purpose,
        "table": record.table,
        "peer_table": job.tables[1 - party],
        "target": job.task.subject,
        "columns": list(job.task.columns),
        "parameters": {name: parameters[name] if name in job.specification else None for name in parameters},
        "digest": job.digest,
        **({"exact": job.task.told_exactly} if job.task.exact else {}),
    }


def _changed(record: Record, **changes: Any) -> Record:
    return record.model_copy(update=changes)


def _ours(record: Record, **changes: Any) -> Record:
    return _changed(record, ours=record.ours.model_copy(update=changes)) if changes else record


def _theirs(record: Record, **changes: Any) -> Record:
    theirs = record.theirs or Statement(proposal=record.ours.proposal)
    return _changed(record, theirs=theirs.model_copy(update=changes))


def _with_person(record: Record, person: str) -> Record:
    return record if not person or person in record.people else _changed(record, people=(*record.people, person))
