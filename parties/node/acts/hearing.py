"""Statements about jobs to and from the peer: each one from the peer becomes events, or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from parties.link.identity import fingerprint
from parties.node.acts import limits, relaying
from parties.node.acts.limits import ExcessError, Refusals, Tally
from parties.node.acts.parts import Parts
from parties.node.acts.runs import DIFFERENT
from parties.node.log.job_events import Event, Unlogged, both_signed, decided, failed, heard, proposed, withdrawn
from parties.node.log.statement import BY_NODE, Statement, takes_back
from parties.node.log.store import Record, is_held
from parties.node.peers import PeerIdentity
from parties.node.proposal import Proposal
from parties.node.records import Evidence, Signed
from parties.node.records.sealed import errors
from smc.errors import InputError, ProtocolError, SmcError

ENDED = "it ended before it was heard of here"


class Hearing:
    """Both directions of statements: `hear` handles the peer's, `statement` returns ours."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._jobs, self._log, self._gate = parts, parts.jobs, parts.jobs.log, parts.gate
        self._tally = Tally(parts.jobs.log.connection)
        self._refusals = Refusals(parts.jobs.log.peers.identity)

    def statement(self, identifier: str, peer: str = "") -> bytes:
        """Return our present statement about a job; empty if there is none.

        Args:
            identifier: The job.
            peer: Name of the participant that it is for, in a job with holders.
        """
        with self._log.lock:
            record = self._jobs.store.get(identifier)
            if record is None:
                return self._refusals.take(identifier)
            statement = b"" if is_held(record) else relaying.statement(record, self._log.peers, peer).to_bytes()
        self._log.settle()  # a sent statement must not be lost
        return statement

    def hear(self, peer: str, data: bytes, head: Evidence | None = None) -> None:
        """Handle a statement from this peer.

        A new proposal that meets an unexpected error of this node is refused and not kept.

        Args:
            peer: Name of the peer.
            data: The statement as sent.
            head: The head of the peer's log that came with it.

        Raises:
            ProtocolError: The statement is invalid, or exceeds the limits for a peer. Or a holder contradicts itself in
                what the peer passes on; then all else that the peer states is kept.
        """
        theirs, who = Statement.from_bytes(data), self._log.peers.named(peer)
        theirs, passed_on = relaying.opened(theirs, who)
        forked: list[str] = []
        if theirs.signed is not None and who.signer(theirs.signed.is_signed_by) is None:
            raise ProtocolError("the peer's signature under a job's result is wrong")
        if theirs.withdrawn is not None and not _is_right(theirs, who):
            raise ProtocolError("the peer's signature under a withdrawal is wrong")
        try:
            with self._log.writing(), self._counted(peer, theirs.proposal.id):
                if head is not None:  # in this transaction: a transaction of its own waits for the disk once more
                    self._parts.heads.keep(who, head)
                known = self._jobs.store.get(theirs.proposal.id)
                record, answer = self._meet(theirs, who) if known is None else self._heard(known, theirs, who)
                if record is None and passed_on:
                    record = self._jobs.store.get(theirs.proposal.id)
                if record is not None:
                    news, forked = relaying.news(record, passed_on)
                    record, answer = (self._jobs.apply(record, *news), True) if news else (record, answer)
        except ExcessError as error:
            if self._jobs.store.get(theirs.proposal.id) is not None:
                raise  # the peer repeats the statement on the next link
            self._refusals.put(theirs, str(error))
            record, answer = None, True
        except errors(SmcError):
            raise
        except Exception:
            if self._jobs.store.get(theirs.proposal.id) is None and not theirs.settled:
                self._refusals.put(theirs, "internal error")
                self._jobs.speak(peer, theirs.proposal.id)
            raise
        if record is not None:
            self._jobs.tell(record, say=answer)
        elif answer:
            self._jobs.speak(peer, theirs.proposal.id)
        if forked:
            raise ProtocolError(f"holder {forked[0][:23]} has signed two statements that contradict each other")

    def _heard(self, record: Record, theirs: Statement, who: PeerIdentity) -> tuple[Record | None, bool]:
        """Handle a statement about a known job; return the job if it changes, and whether to answer the peer."""
        if (side := record.side_of(who.peer_name)) is None:
            raise ProtocolError("the peer's statement is about a job with another peer")
        if record.proposal != theirs.proposal:
            raise ProtocolError("the peer has changed a job after it was proposed")
        done, former = self._jobs.state(record) == "done", record.participants[side].statement
        if former is not None and relaying.is_old(theirs, former):
            theirs = former
        if former is not None and takes_back(_unsettled(former) if done else former, theirs):
            raise ProtocolError("the peer contradicts its earlier statement about a job")
        if theirs.signed is not None and not record.sessions:
            raise ProtocolError("the peer has signed the result of a job that had no session here")
        if side == "peer" and relaying.passes_on(record) and theirs.end == "computed" and theirs.signed is None:
            raise ProtocolError("the peer has computed a job and does not sign the result")
        settled = record.ours.settled
        if theirs != former and not done:
            # a withdrawal counts once the job is done: `_hear_withdrawal` logs it
            before_withdrawal = theirs.model_copy(update=_of_withdrawal(record.said_by(side)))
            news, ours = list(heard(record, before_withdrawal, side)), record.ours.signed
            if theirs.signed is not None:
                others = [one.signed for one in record.statements if one is not None and one.signed is not None]
                if any(theirs.signed.result != other.result for other in others):
                    news += failed(record, DIFFERENT, ProtocolError(DIFFERENT))
                elif ours is not None:
                    news.append(both_signed(who, ours, theirs.signed))
                    self._parts.heads.keep(
                        who, theirs.signed.evidence(who.signer(theirs.signed.is_signed_by) or who.peer)
                    )
            record = self._jobs.apply(record, *news)
        elif former is not None and theirs.settled and not former.settled:  # the peer knows that the job is done
            record = self._jobs.apply(record, Unlogged({}, {"settled": True}, side))
        if (
            self._jobs.state(record) == "done"
            and former is not None
            and _of_withdrawal(theirs) != _of_withdrawal(former)
        ):
            record = self._hear_withdrawal(record, theirs, former)
        if settled and not self._jobs.has_ended(record):
            raise ProtocolError("the peer contradicts its statement that a job has ended")
        # The peer does not know of the end, or not that we know of it.
        answer = theirs.unheard or (record.ours.settled and not (settled and theirs.settled))
        answer = answer or (theirs != former and relaying.passes_on(record))
        return (None, False) if theirs == former and not answer else (record, answer)

    def _meet(self, theirs: Statement, who: PeerIdentity) -> tuple[Record | None, bool]:
        """Handle a statement about a job that is not kept here: decide by our rules, or leave it to the operator.

        Return no job if it is archived, exceeds the limits, or the node refuses it by itself. Then only an answer is
        kept, and the records count it. A job with holders that the node refuses is kept, for the other participants.
        """
        job, moment, name = theirs.proposal, datetime.now(UTC), who.peer_name
        if job.id in self._parts.spendings.past.jobs:
            self._hear_of_archived(theirs, who)
            return None, not theirs.settled
        has_ended = theirs.settled and theirs.verdict != "refused" and theirs.end != "cancelled"
        if has_ended and job.holding is None:
            return None, True  # the peer has heard our refusal
        if why := limits.excess(theirs, self._tally.of(name, moment), moment, self._gate.limits):
            return self._turn_away(theirs, who, why, why)
        self._tally.add(name, moment, 1, 0, self._gate.limits)
        if theirs.signed is not None:
            why = "it has had no session here"
            return self._turn_away(theirs, who, why, why)
        if job.holding is not None and who.listed(job.holding.nodes) is None:
            raise ProtocolError("a peer that does not compute a job announces it before the nodes that compute it do")
        try:
            draft = self._jobs.draft(job, "peer", name)
        except InputError as error:
            return self._turn_away(theirs, who, str(error), str(error))
        side, who = draft.side_of(name) or "peer", self._jobs.who(draft)
        judgement = self._gate.judge(job, who, "peer", self._parts.around(draft))
        if judgement.by == BY_NODE and job.holding is None:
            return self._turn_away(theirs, who, judgement.reason, judgement.public)
        begun = proposed(draft, who, self._parts.address(draft.peer))
        ours = decided("refused", BY_NODE, ENDED) if has_ended else self._gate.decided(draft, judgement)
        return self._jobs.apply(draft, begun, *heard(draft, theirs, side), *ours), True

    def _hear_of_archived(self, theirs: Statement, who: PeerIdentity) -> None:
        """Handle a statement about an archived job: the only news can be the withdrawal of its result."""
        job, archived = theirs.proposal, self._parts.spendings.past.jobs[theirs.proposal.id]
        if job.holding is None and archived.peer != who.peer_name:  # the digest covers those of a job with holders
            raise ProtocolError("the peer's statement is about a job with another peer")
        if archived.digest != job.digest:
            raise ProtocolError("the peer has changed a job after it was proposed")
        if theirs.withdrawn is not None and not (archived.done and _is_of(theirs.signed, job)):
            raise ProtocolError("the peer withdraws a result that the job does not have")
        if not theirs.settled:
            self._refusals.put(theirs, "the job has ended here, and is archived: propose it anew")
        entries = self._log.audit.of_kind("withdrawn")
        if theirs.withdrawn is not None and not any(
            entry.job == job.id and entry.fields.get("by") == "peer" for entry in entries
        ):
            self._log.audit.add(withdrawn(who, "peer", job.digest, theirs.withdrawn), job.id)

    def _turn_away(self, theirs: Statement, who: PeerIdentity, why: str, public: str) -> tuple[None, bool]:
        """Refuse a proposal that is not kept, and return that the peer gets an answer."""
        self._refusals.put(theirs, public)
        fields = {"peer_fingerprint": fingerprint(who.peer), "why": why}
        self._log.add_folded("turned away", who.peer_name, fields)
        return None, True

    @contextmanager
    def _counted(self, peer: str, identifier: str) -> Iterator[None]:
        """Add the bytes that the block writes to the peer's amount of today. Raise ExcessError beyond the limit."""
        row, log = self._jobs.store.size(identifier), self._log.audit.bytes
        yield
        if size := self._jobs.store.size(identifier) - row + self._log.audit.bytes - log:
            self._tally.add(peer, datetime.now(UTC), 0, size, self._gate.limits)

    def _hear_withdrawal(self, record: Record, theirs: Statement, known: Statement) -> Record:
        """Handle news of a result that both parties have: the peer's withdrawal, or its receipt of our withdrawal."""
        events: list[Event] = []
        if theirs.withdrawn is not None and known.withdrawn is None:
            digest = theirs.proposal.digest
            events.append(withdrawn(self._jobs.who(record), "peer", digest, theirs.withdrawn))
        answer = {"heard": theirs.withdrawn is not None, "unheard": record.ours.unheard and not theirs.heard}
        events += [Unlogged({}, _of_withdrawal(theirs), "peer"), Unlogged({}, answer)]
        return self._jobs.apply(record, *events)


def _unsettled(side: Statement) -> Statement:
    """Return a statement with `settled` False, to compare two statements about a done job without this field."""
    return side.model_copy(update={"settled": False})


def _of_withdrawal(side: Statement) -> dict[str, Any]:
    return {name: getattr(side, name) for name in ("withdrawn", "unheard", "heard")}


def _is_of(signed: Signed | None, job: Proposal) -> bool:
    """Return whether a signed result names this job: all that can be checked once the result is archived."""
    return signed is not None and signed.result.get("digest") == job.digest


def _is_right(theirs: Statement, who: PeerIdentity) -> bool:
    """Return whether the withdrawal is signed by the peer, and names the result that the peer has signed."""
    word, signed, job = theirs.withdrawn, theirs.signed, theirs.proposal
    assert word is not None
    assert signed is not None
    signer = who.signer(lambda certificate: word.is_signed_by(certificate, job.digest))
    return word.result == signed.result.get(job.task.about.noun) and signer is not None
