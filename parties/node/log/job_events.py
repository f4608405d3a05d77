"""The events of a job, and what a job is after each.

An event that is logged is its entry (`records.kinds`): its fields are those of the entry. What no entry has, such as a
note for our operator, is `Unlogged`. `fold` is pure: it reads no clock, table or setting. So a job's
entries, folded again, say what its record must be (`consistency`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
class Unlogged:
    """What no entry has of a job: the new values of fields of its record, and of our statement."""

    record: Mapping[str, Any]
    ours: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = self.record.keys() - Record.model_fields.keys() | self.ours.keys() - Statement.model_fields.keys()
        if unknown:
            raise TypeError(f"a job has no {unknown}")


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
        case Unlogged():
            return _changed(_ours(record, **event.ours), **event.record)
        case kinds.Started():
            spent, started = outcome.added(record.spent, record.current), record.started_at or at
            record = _changed(record, sessions=record.sessions + 1, started_at=started, spent=spent, current={})
            return _changed(record, depth=event.depth, profile=event.profile or record.profile, note="")
        case kinds.BothCommitted():
            return _changed(record, fingerprint=event.ours.rows, peer_rows=event.theirs.rows)
        case kinds.Charge():
            return _changed(record, charged=Charge.read(record.id, event.model_dump()))
        case kinds.BitsCharge():
            return _changed(record, bits=(*record.bits, BitsCharge.read(record.id, event.model_dump())))
        case kinds.Finished():
            return _changed(_ours(record, end="computed"), repeats=event.repeats)
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
    return record  # such as what was opened: the checkpoint has it


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
    yield Unlogged({"theirs": theirs})
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
    """Return the events that we consent or decline.

    Args:
        verdict: the decision.
        by: the rule or the person that has decided.
        why: the reason for the peer.
        reason: the reason for the log and our operator, if it is another one.
        person: the name of the person who acts.
    """
    logged = reason or why[:MAX_LINE]
    entry = kinds.Decided(party="us", verdict=verdict, by=by, reason=logged, person=person)
    return entry, Unlogged({"reason": reason or why}, {"why": why[:MAX_LINE]})


def failed(record: Record, told: str, error: BaseException) -> tuple[Event, Event]:
    """Return the events that a job fails here; `told` is what the peer hears of the error."""
    return kinds.Failed.model_validate({**failure(error), **sizes(record)}), Unlogged({}, {"why": told[:MAX_LINE]})


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
        **({"exact": job.task.disclosure.exact} if job.task.disclosure.exact else {}),
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
