"""The events of a job, and the job after each of them.

An event that is logged is its entry (`records.kinds`): it has the fields of the entry. Changes without an entry, such
as a note for our operator, are `Unlogged`. `fold` is pure: it reads no clock, table or setting. So a job's entries,
folded again, give the record that must be on disk (`consistency`).
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
from parties.node.log.store import Further, Record
from parties.node.peers import PeerIdentity
from parties.node.proposal import Holding
from parties.node.records import Signed, Withdrawal, failure, kinds
from parties.node.records.kinds import PEER_FAILED, Side
from parties.operator.interface import ENDED, AuditEntry, State


@dataclass(frozen=True)
class Unlogged:
    """Changes of a job that have no entry: new values of fields of its record, and of a participant's statement."""

    record: Mapping[str, Any]
    statement: Mapping[str, Any] = field(default_factory=dict)
    of: Side = "us"

    def __post_init__(self) -> None:
        known = (
            (self.record.keys() - Record.model_fields.keys()),
            (self.statement.keys() - Statement.model_fields.keys()),
        )
        if unknown := set().union(*known):
            raise TypeError(f"a job has no {unknown}")


Event: TypeAlias = kinds.Fields | Unlogged


def fold(record: Record, event: Event, at: str) -> Record:
    """Return the job after an event.

    Args:
        record: The job before.
        event: The event.
        at: Time of the event, ISO 8601 in UTC.
    """
    match event:
        case kinds.Proposed() | kinds.Approved():
            return _with_person(record, event.person)
        case kinds.Decided(party="us"):
            if (event.verdict, event.by) == ("refused", OPERATOR):
                record = _changed(record, people=())  # a refusal is one person's
            by = BY_NODE if event.by == BY_POINT else event.by  # no peer learns that there is a decision point
            record = _changed(_with_person(record, event.person), reason=event.reason, unasked=False)
            return record.with_statement("us", verdict=event.verdict, by=by, at=at)
        case kinds.Decided():
            return record.with_statement(event.party, verdict=event.verdict)
        case Unlogged():
            return _changed(record.with_statement(event.of, **event.statement), **event.record)
        case kinds.Started():
            spent, started = outcome.added(record.spent, record.current), record.started_at or at
            record = _changed(record, sessions=record.sessions + 1, started_at=started, spent=spent, current={})
            return _changed(record, depth=event.depth, profile=event.profile or record.profile, note="")
        case kinds.Declared():
            said = Statement.model_validate({"proposal": record.proposal, **event.said})
            record = record.with_statement(event.party, **{name: getattr(said, name) for name in event.said})
            return record.with_rows("us", said.rows.rows) if event.party == "us" and said.rows else record
        case kinds.BothCommitted():
            return record.with_rows("us", event.ours.rows).with_rows("peer", event.theirs.rows)
        case kinds.Charge():
            return _changed(record, charged=Charge.read(record.id, event.model_dump()))
        case kinds.BitsCharge():
            return _changed(record, bits=(*record.bits, BitsCharge.read(record.id, event.model_dump())))
        case kinds.Finished():
            return _changed(record.with_statement("us", end="computed"), repeats=event.repeats)
        case kinds.BothSigned():
            return record.with_statement("us", signed=event.ours).with_statement("peer", signed=event.theirs)
        case kinds.Cancelled():
            own = {"why": event.why, "signed": None} if event.by == "us" else {}
            return record.with_statement(event.by, end="cancelled", **own)
        case kinds.Failed():
            if event.error == PEER_FAILED:
                return record.with_statement("peer", end="failed")
            return record.with_statement("us", end="failed", why="", signed=None)
        case kinds.Withdrawn():
            record = record.with_statement(event.by, withdrawn=event.word)
            return record.with_statement("us", unheard=True) if event.by == "us" else record
    return record  # such as opened values: the checkpoint has them


def settled(record: Record, at: str) -> Record:
    """Return a job that has ended with our statement `settled` and without its keys, and any other job unchanged.

    Args:
        record: The job.
        at: Time of the end, ISO 8601 in UTC.
    """
    if base_state(record) in ENDED and record.ended_at is None:
        return _changed(record.with_statement("us", settled=True), ended_at=at, keys={})
    return record


def replayed(record: Record, entries: Iterable[AuditEntry]) -> Record:
    """Return the job that the log describes: its proposal, changed by all its entries.

    Args:
        record: The job on disk, for its proposal.
        entries: Log entries of the job.
    """
    further = {side: Further(name=one.name) for side, one in record.further.items()}
    ours = Statement(proposal=record.proposal)
    logged = Record(proposed_by=record.proposed_by, ours=ours, number=record.number, further=further)
    for entry in entries:
        logged = fold(logged, kinds.FIELDS[entry.kind].model_validate(entry.fields), entry.at)
    return logged


def heard(record: Record, theirs: Statement, side: Side = "peer") -> Iterator[Event]:
    """Yield the events of a new statement: one stores it, the others log its changes since the earlier one.

    Args:
        record: The job.
        theirs: The new statement.
        side: The participant that makes the statement.
    """
    before = record.said_by(side)
    if theirs.signature and not (before.signature and theirs.declared() == before.declared()):
        yield kinds.Declared(party=side, digest=record.proposal.digest, said=theirs.said())
    yield Unlogged({}, dict(theirs), side)
    if theirs.verdict != "waiting" and theirs.verdict != before.verdict:
        yield kinds.Decided(party=side, verdict=theirs.verdict, by=theirs.by, reason=theirs.why)
    if before.end not in ("", "computed"):
        return
    if theirs.end == "cancelled":
        yield kinds.Cancelled.model_validate({"by": side, "why": theirs.why, **sizes(record)})
    elif theirs.end == "failed" and side == "peer":
        yield kinds.Failed.model_validate({"error": PEER_FAILED, "why": theirs.why, **sizes(record)})


def proposed(record: Record, who: PeerIdentity, address: str | None, person: str = "") -> kinds.Proposed:
    """Return the event of a new job, with all its public fields.

    Args:
        record: The job.
        who: The link with the peer.
        address: Address of the peer, if known.
        person: Name of the person who proposes it here.
    """
    peer_fields = {"peer": record.peer, "peer_fingerprint": fingerprint(who.peer), "address": address}
    return kinds.Proposed.model_validate({**peer_fields, "person": person, **public(record)})


def decided(
    verdict: Literal["approved", "refused"], by: str, why: str = "", reason: str = "", person: str = ""
) -> tuple[Event, Event]:
    """Return the log entry of our approval or refusal, and the changes of the job's fields.

    Args:
        verdict: The decision.
        by: The rule or person that has decided.
        why: Reason for the peer.
        reason: Reason for the log and our operator, if different.
        person: Name of the acting person.
    """
    logged = reason or why[:MAX_LINE]
    entry = kinds.Decided(party="us", verdict=verdict, by=by, reason=logged, person=person)
    return entry, Unlogged({"reason": reason or why}, {"why": why[:MAX_LINE]})


def failed(record: Record, reason: str, error: BaseException) -> tuple[Event, Event]:
    """Return the log entry of a job's failure here, and the changes of the job's fields.

    Args:
        record: The job.
        reason: Reason for the peer.
        error: The error.
    """
    return kinds.Failed.model_validate({**failure(error), **sizes(record)}), Unlogged({}, {"why": reason[:MAX_LINE]})


def both_signed(who: PeerIdentity, ours: Signed, theirs: Signed) -> kinds.BothSigned:
    """Return the event that both signatures under a result are here.

    Args:
        who: The link with the peer.
        ours: Our signed result.
        theirs: The peer's signed result.
    """
    signer = who.signer(theirs.is_signed_by) or who.peer
    return kinds.BothSigned(ours=ours, theirs=theirs, peer_fingerprint=fingerprint(signer))


def withdrawn(who: PeerIdentity, by: Side, digest: str, word: Withdrawal, person: str = "") -> kinds.Withdrawn:
    """Return the event that a party withdraws a result.

    Args:
        who: The link with the peer.
        by: The party that withdraws.
        digest: Digest of the job.
        word: The signed withdrawal.
        person: Name of the acting person here.
    """
    signer = who.identity.certificate
    if by == "peer":
        signer = who.signer(lambda certificate: word.is_signed_by(certificate, digest)) or who.peer
    return kinds.Withdrawn(by=by, signer=fingerprint(signer), digest=digest, word=word, person=person)


def sizes(record: Record) -> dict[str, int]:
    """Return the bytes that all sessions of a job have sent and received."""
    spent = outcome.added(record.spent, record.current)
    return {name: spent[name] for name in ("bytes_sent", "bytes_received")}


def base_state(record: Record) -> State:
    """Return the state of a job as if no session were under way."""
    return state(record.statements, False, record.sessions > 0)


def public(record: Record) -> dict[str, Any]:
    """Return the public fields of a job and its proposer: the content of its entry `proposed`."""
    job = record.proposal
    parameters = job.task.parameters() | job.bounds
    return {
        "by": record.proposed_by,
        "protocol": job.task.name,
        "purpose": job.purpose,
        "table": record.table,
        "peer_table": record.peer_table,
        "target": job.task.disclosure.subject,
        "columns": list(job.task.columns_read),
        "parameters": {name: parameters[name] if name in job.specification else None for name in parameters},
        "digest": job.digest,
        **({} if job.permit is None else {"permit": job.permit.key}),
        **({"exact": job.task.disclosure.exact} if job.task.disclosure.exact else {}),
        **({} if job.holding is None else _of_holders(job.holding)),
    }


def _of_holders(holding: Holding) -> dict[str, list[str]]:
    return {
        "computes": list(holding.nodes),
        "gives": [*(holding.nodes if holding.nodes_give else ()), *holding.holders],
        "learns": [*holding.nodes, *holding.to],
    }


def _changed(record: Record, **changes: Any) -> Record:
    return record.model_copy(update=changes)


def _with_person(record: Record, person: str) -> Record:
    return record if not person or person in record.people else _changed(record, people=(*record.people, person))
