"""The ledger of jobs: what is proposed, said and decided; each change is written together with its record.

No session begins but for a job that both parties' statements approve, and ours is approved by the operator or by a
rule, never otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from parties.jobs.kind import asked
from parties.link.identity import fingerprint
from parties.node import limits, proposal
from parties.node.gate import BY_NODE, BY_POINT, AskFirstError, Judgement
from parties.node.limits import ExcessError
from parties.node.peers import Who
from parties.node.point.xacml import Word, said
from parties.node.proposal import JobFile, Proposal
from parties.node.records import Signed, withdrawal
from parties.node.records.sealed import errors
from parties.node.register import now
from parties.node.runs import DIFFERENT, Runs
from parties.node.statement import Statement, takes_back
from parties.node.store import Record
from parties.operator.budget import Simulation
from parties.operator.interface import ENDED
from parties.operator.people import acting
from smc.errors import InputError, ProtocolError, SmcError


class Ledger(Runs):
    """The jobs as operator and peer change them, beside sessions."""

    # What the operator does.

    def propose(self, fields: dict[str, Any]) -> Record:
        """Propose a job of ours. `InputError` if it is wrong, or if a rule of ours denies it."""
        job, who, draft = self._drafted(fields)
        self._check_typed(draft, job.typed)
        return self._proposed(draft, who, job.typed)

    def repeat(self, beginning: str) -> Record:
        """Propose the same job anew, as one of ours: the same specification, tables and purpose. `InputError` as of
        `propose`, and if it asks for something to be typed."""
        record = self.find(beginning)
        terms, who = record.ours.proposal, self._who(record)
        if asked(terms.task):
            raise InputError(f"job {record.id[:8]} asks for something to be typed: propose it by smc submit")
        if misfit := self._gate.misfit(terms, record.party):
            raise InputError(f"job {record.id[:8]} cannot be proposed as it was: {misfit}")
        again = proposal.repeated(terms, record.party)
        return self._proposed(Record(proposed_by="us", peer=who.peer_name, ours=Statement(proposal=again)), who, {})

    def _proposed(self, draft: Record, who: Who, typed: Mapping[str, Any]) -> Record:
        return self.asking(partial(self._proposed_with, draft, who, typed))

    def _proposed_with(self, draft: Record, who: Who, typed: Mapping[str, Any], word: Word | None) -> Record:
        terms = draft.ours.proposal
        with self._writing():
            judgement = self._gate.judge(terms, who, "us", self._around(draft), word)
            if judgement.ask is not None and (word is None or word.decision is not None):
                raise AskFirstError(judgement.ask)
            if judgement.verdict != "approved":
                raise InputError(f"this cannot be proposed: {judgement.reason}")
            record = draft.model_copy(update={"people": self._people(draft)})
            if not self._lacks(record):
                ours = Statement(proposal=terms, verdict="approved", by=judgement.by, at=now())
                record = record.model_copy(update={"ours": ours, "reason": "" if word is None else said(word)})
            self._journal.proposed(record, who, self.addresses.get(record.peer))
            record = self._put(record)
            self._inputs.put(terms.id, typed)
        return self._tell(record)

    def simulate(self, fields: dict[str, Any]) -> Simulation:
        """Return what a job of ours would do to our table's budget, changing nothing. `InputError` if it is wrong."""
        _, who, draft = self._drafted(fields)
        judgement = self._gate.judge(draft.ours.proposal, who, "us", self._around(draft))
        return self.accounts.simulated(draft, judgement.reason if judgement.verdict == "refused" else "")

    def _drafted(self, fields: dict[str, Any]) -> tuple[JobFile, Who, Record]:
        """Return a job file's content, whom it is meant for, and the job, of which nothing has been decided yet."""
        job = proposal.read_job(fields)
        who = self._peers.named(job.peer)
        if fingerprint(who.peer) in self.revoked:
            raise InputError(f"the certificate of {who.peer_name} is revoked here: no job with it can run")
        terms = proposal.propose(job, self._offers.inputs(who.party, job.table or ""))
        return job, who, Record(proposed_by="us", peer=who.peer_name, ours=Statement(proposal=terms))

    def decide(
        self,
        beginning: str,
        verdict: Literal["approved", "refused"],
        why: str = "",
        typed: Mapping[str, Any] | None = None,
    ) -> Record:
        """Record the operator's verdict on a job that waits for it, with what the job asks the operator to type.

        What was typed is forgotten when the node ends: then it is typed again, by approving once more. Where there is a
        decision point, it has to permit what becomes our consent. `InputError` if it does not: the job goes on waiting.
        """
        record, say = self.asking(partial(self._decided, beginning, verdict, why, typed))
        return self._tell(record, say)

    def _decided(
        self,
        beginning: str,
        verdict: Literal["approved", "refused"],
        why: str,
        typed: Mapping[str, Any] | None,
        word: Word | None,
    ) -> tuple[Record, bool]:
        """Return the job as it is then, and whether the peer is to hear of it."""
        with self._writing():
            record = self.find(beginning)
            if verdict == "approved" and self._needs(record):
                self._check_typed(record, typed or {})
                if record.ours.verdict == "approved":
                    return self._typed_again(record, typed or {}), True
            elif typed:
                raise InputError(f"job {record.id[:8]} asks for nothing to be typed")
            if self.state(record) != "waiting" or record.ours.verdict != "waiting":
                raise InputError(f"job {record.id[:8]} does not wait for our consent: it is {self._described(record)}")
            misfit = self._gate.misfit(record.ours.proposal, record.party) or ""
            if verdict == "approved" and misfit:
                misfit += self._gate.remedy(record.ours.proposal, record.party)
                raise InputError(f"this cannot run here: {misfit}; smc refuse {record.id[:8]} tells {record.peer} so")
            if verdict == "approved" and (refusal := self.accounts.too_much(record)):
                raise InputError(refusal)
            proposed_by = record.proposed_by
            asked = record.ours.proposal, self._who(record), self._around(record), proposed_by
            decision = self._gate.allows_now(*asked)
            if verdict == "approved" and decision.is_past_consent:
                raise InputError(f"this cannot be approved: {decision.reason}")
            people = self._people(record if verdict == "approved" else None)
            record = record.model_copy(update={"people": people})
            last = verdict == "approved" and not self._lacks(record)
            if last and (objection := self._gate.objection(*asked, word)):
                raise InputError(f"this cannot be approved: {objection}")
            if verdict == "approved":
                self._inputs.put(record.id, typed or {})
            if verdict == "approved" and self._lacks(record):
                self._journal.approved(record, people[-1], self.approvals)
                return self._put(record), False
            why = why.strip() or misfit or "the operator gave no reason" if verdict == "refused" else why.strip()
            by = "proposer" if (verdict, proposed_by) == ("approved", "us") else "operator"
            ours = record.ours.model_copy(update={"verdict": verdict, "by": by, "at": now(), "why": why[:500]})
            reason = said(word) if word is not None and last else ""
            self._journal.verdict(record.id, "us", ours, reason)
            record = self._put(record.model_copy(update={"ours": ours, "reason": reason or why, "unasked": False}))
        return record, True

    # What the decision point says.

    def unasked(self) -> list[str]:
        """Return the jobs that our rules permit, and of which the decision point has not said whether it does."""
        with self._lock:
            jobs = sorted(self._index.unasked.values(), key=lambda record: self._store.number(record.id))
            return [record.id for record in jobs if self._is_unasked(record)]

    def settle(self, identifier: str) -> bool:
        """Ask the decision point about a job of the peer's that our rules permit, and do as it says.

        Return whether it has answered. Our rules are asked again, for they may know times. Holds no lock while it asks.
        """
        return self.asking(partial(self._settled, identifier))

    def _settled(self, identifier: str, word: Word | None) -> bool:
        with self._writing():
            record = self._get(identifier)
            if not self._is_unasked(record):
                return True
            terms, who = record.ours.proposal, self._who(record)
            around = replace(self._around(record), waiting=0)
            judgement = self._gate.judge(terms, who, record.proposed_by, around, word)
            if judgement.ask is not None and word is None:
                raise AskFirstError(judgement.ask)
            unasked = judgement.ask is not None
            if unasked and judgement.reason == record.reason:
                return False
            changed = self._judged(record, judgement)
            if judgement.verdict != "waiting":
                by = judgement.by if judgement.verdict == "refused" else ""
                self._journal.verdict(identifier, "us", changed.ours, judgement.reason, by)
            record = self._put(changed)
        self._tell(record, say=not unasked)
        return not unasked

    def _is_unasked(self, record: Record) -> bool:
        return record.unasked and record.ours.verdict == "waiting" and self.state(record) == "waiting"

    def _judged(self, record: Record, judgement: Judgement) -> Record:
        """Return a job of the peer's with our verdict. The peer is not told that there is a decision point."""
        reason, job = judgement.reason, record.ours.proposal
        if judgement.verdict == "waiting" and (misfit := self._gate.misfit(job, record.party)):
            reason += f"; it cannot run here: {misfit}{self._gate.remedy(job, record.party)}"
        by = BY_NODE if judgement.by == BY_POINT else judgement.by
        at = now() if judgement.verdict != "waiting" else None
        ours = Statement(proposal=job, verdict=judgement.verdict, by=by, at=at, why=judgement.public)
        return record.model_copy(update={"ours": ours, "reason": reason, "unasked": judgement.ask is not None})

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

    def withdraw(self, beginning: str, why: str) -> Record:
        """Withdraw a result, by a signed word that both parties keep. `InputError` if it is not here, or no reason."""
        if not why.strip():
            raise InputError("say why: a withdrawal is for good, and both parties' records keep its reason")
        with self._writing():
            record = self.find(beginning)
            if self.state(record) != "done" or record.ours.signed is None:
                raise InputError(f"job {record.id[:8]} has no result to be withdrawn: it is {self.state(record)}")
            if record.ours.withdrawn is not None:
                raise InputError(f"job {record.id[:8]}: its result is withdrawn already")
            job, signed, reason = record.ours.proposal, record.ours.signed, why.strip()
            result = signed.result[job.task.about.noun]
            word = withdrawal(self._peers.identity, job.digest, result, reason[:500], now())
            self._journal.withdrawn(job, self._who(record), "us", word)
            ours = record.ours.model_copy(update={"withdrawn": word, "unheard": True})
            record = self._put(record.model_copy(update={"ours": ours}))
        return self._tell(record)

    # What the peer says.

    def hear(self, peer: str, data: bytes) -> None:
        """Take a statement of this peer. `ProtocolError` if it is none, or more than is kept of a peer.

        A new proposal that meets any other error, which is ours, is refused, and nothing of it is kept.
        """
        theirs, who = Statement.from_bytes(data), self._peers.named(peer)
        if theirs.signed is not None and who.signer(theirs.signed.is_signed_by) is None:
            raise ProtocolError("the peer's signature under a job's result is wrong")
        if theirs.withdrawn is not None and not _is_right(theirs, who):
            raise ProtocolError("the peer's signature under a withdrawal is wrong")
        try:
            with self._writing(), self._counted(peer, theirs.proposal.id):
                record, answer = self._heard(theirs, who)
        except ExcessError as error:
            if self._store.get(theirs.proposal.id) is not None:
                raise  # it says so again with the next link
            self._refusals.put(theirs, str(error))
            record, answer = None, True
        except errors(SmcError):
            raise
        except Exception:
            if self._store.get(theirs.proposal.id) is None and not theirs.settled:
                self._refusals.put(theirs, "internal error")
                self._speakers[peer](theirs.proposal.id)
            raise
        if record is not None:
            self._tell(record, say=answer)
        elif answer:
            self._speakers[peer](theirs.proposal.id)

    def _heard(self, theirs: Statement, who: Who) -> tuple[Record | None, bool]:
        """Take a statement and return the job it changes, if there is one, and whether the peer is to be answered."""
        record = self._store.get(theirs.proposal.id)
        if record is None and theirs.proposal.id in self._past.jobs:
            self._hear_of_archived(theirs, who)
            return None, not theirs.settled
        if record is None:
            return self._meet(theirs, who), True
        if record.peer != who.peer_name:
            raise ProtocolError("the peer speaks of a job that is not with it")
        if record.ours.proposal != theirs.proposal:
            raise ProtocolError("the peer has changed a job after it was proposed")
        done = self.state(record) == "done"
        if record.theirs is not None and takes_back(_unsettled(record.theirs) if done else record.theirs, theirs):
            raise ProtocolError("the peer takes back what it has said of a job")
        if theirs.signed is not None and not record.sessions:
            raise ProtocolError("the peer says that a job is computed of which no session has begun here")
        settled, known = record.ours.settled, record.theirs
        if theirs != known and not done:
            record = self._hear_more(record, theirs)
        elif known is not None and theirs.settled and not known.settled:  # it knows that the job is done
            record = self._put(record.model_copy(update={"theirs": known.model_copy(update={"settled": True})}))
        if self.state(record) == "done" and _of_withdrawal(theirs) != _of_withdrawal(known):
            record = self._hear_withdrawal(record, theirs, known)
        if settled and self.state(record) not in ENDED:
            raise ProtocolError("the peer takes back that a job has ended")
        # The peer has not heard of the end, or not that we have.
        answer = theirs.unheard or (record.ours.settled and not (settled and theirs.settled))
        return (None, False) if theirs == known and not answer else (record, answer)

    def _meet(self, theirs: Statement, who: Who) -> Record | None:
        """Take a job that we did not know: decide on it by our rules, or leave it to the operator.

        None if it is more than anybody could want, or the node refuses it by itself: then only an answer is kept, and
        the records count it.
        """
        job, moment, name = theirs.proposal, datetime.now(UTC), who.peer_name
        if theirs.settled and theirs.verdict != "refused" and theirs.end != "cancelled":
            return None  # it has heard our refusal
        if why := limits.excess(theirs, self._tally.of(name, moment), moment, self._gate.limits):
            self._turn_away(theirs, who, why, why)
            return None
        self._tally.add(name, moment, 1, 0, self._gate.limits)
        if theirs.signed is not None:
            why = "no session of it has begun here"
            self._turn_away(theirs, who, why, why)
            return None
        draft = Record(proposed_by="peer", peer=name, ours=Statement(proposal=job), theirs=theirs)
        judgement = self._gate.judge(job, who, "peer", self._around(draft))
        if judgement.by == BY_NODE:
            self._turn_away(theirs, who, judgement.reason, judgement.public)
            return None
        record = self._judged(draft, judgement)
        self._journal.proposed(record, who, self.addresses.get(name))
        return self._put(record)

    def _hear_of_archived(self, theirs: Statement, who: Who) -> None:
        """Take what the peer says of a job that is archived: only that its result is withdrawn is news."""
        job, left = theirs.proposal, self._past.jobs[theirs.proposal.id]
        if left.peer != who.peer_name:
            raise ProtocolError("the peer speaks of a job that is not with it")
        if left.digest != job.digest:
            raise ProtocolError("the peer has changed a job after it was proposed")
        if theirs.withdrawn is not None and not (left.done and _is_of(theirs.signed, job)):
            raise ProtocolError("the peer withdraws a result that the job does not have")
        if not theirs.settled:
            self._refusals.put(theirs, "the job has ended here, and is archived: propose it anew")
        if theirs.withdrawn is not None and not self._journal.has_withdrawn(job.id):
            self._journal.withdrawn(job, who, "peer", theirs.withdrawn)

    def _turn_away(self, theirs: Statement, who: Who, why: str, public: str) -> None:
        """Refuse a proposal that is not kept."""
        self._refusals.put(theirs, public)
        self._note_folded("turned away", who.peer_name, peer_fingerprint=fingerprint(who.peer), why=why)

    @contextmanager
    def _counted(self, peer: str, identifier: str) -> Iterator[None]:
        """Count what is written inside as what the peer makes us keep. `ExcessError` if that is more than a day's."""
        row, log = self._store.size(identifier), self._journal.bytes
        yield
        if size := self._store.size(identifier) - row + self._journal.bytes - log:
            self._tally.add(peer, datetime.now(UTC), 0, size, self._gate.limits)

    def _hear_more(self, record: Record, theirs: Statement) -> Record:
        """Take news of a job that is not done."""
        before = record.theirs
        record = record.model_copy(update={"theirs": theirs})
        self._journal.heard(record, before)
        if theirs.signed is not None and record.ours.signed is not None:
            if theirs.signed.result != record.ours.signed.result:
                return self._end(record, "failed", DIFFERENT, ProtocolError(DIFFERENT))
            self._journal.signed(record, self._who(record))
            who = self._who(record)
            self._heads.keep(who, theirs.signed.evidence(who.signer(theirs.signed.is_signed_by) or who.peer))
        return self._put(record)

    def _hear_withdrawal(self, record: Record, theirs: Statement, known: Statement | None) -> Record:
        """Take what the peer says of a result that both have: that it is withdrawn, or that it knows."""
        assert record.theirs is not None
        if theirs.withdrawn is not None and (known is None or known.withdrawn is None):
            self._journal.withdrawn(theirs.proposal, self._who(record), "peer", theirs.withdrawn)
        news = _of_withdrawal(theirs)
        heard = {"heard": theirs.withdrawn is not None, "unheard": record.ours.unheard and not theirs.heard}
        both = {"ours": record.ours.model_copy(update=heard), "theirs": record.theirs.model_copy(update=news)}
        return self._put(record.model_copy(update=both))

    # How it is written.

    def _people(self, record: Record | None) -> tuple[str, ...]:
        """Return who stands behind a job, with the one who acts; None stands for a refusal, which is one person's.

        `InputError` if that must be somebody else: each is counted once, and who proposed a job does not approve it.
        """
        name, before = acting.get(), () if record is None else record.people
        if record is not None and self.approvals > 1:
            if not name:
                raise InputError(f"approvals = {self.approvals}: that is for people with names; smc operator add")
            if name in before:
                first = record.proposed_by == "us" and name == before[0]
                done = "proposed" if first else "approved"
                raise InputError(f"{name} has {done} job {record.id[:8]}: somebody else must approve it now")
        return tuple(dict.fromkeys((*before, name) if name else before))

    def _typed_again(self, record: Record, typed: Mapping[str, Any]) -> Record:
        """Keep what was typed for a job that has our consent. `InputError` if that is for those behind the job."""
        name = acting.get()
        if self.approvals > 1:
            if name not in record.people:
                raise InputError(
                    f"job {record.id[:8]} was approved by {', '.join(record.people)}: one of them types it"
                )
            self._journal.approved(record, name, self.approvals)
        self._inputs.put(record.id, typed)
        return self._put(record.model_copy(update={"note": ""}))

    def _lacks(self, record: Record) -> bool:
        """Return whether more of our people must approve a job before we consent."""
        return self.approvals > 1 and len(record.people) < self.approvals

    def _needs(self, record: Record) -> bool:
        return self.state(record) not in ENDED and bool(self._missing(record))

    def _check_typed(self, record: Record, typed: Mapping[str, Any]) -> None:
        """Raise `InputError` unless what was typed is all that the job asks for, and fits."""
        job, inputs = record.ours.proposal, self._offers.inputs(record.party, record.table, typed)
        names = [parameter.key for parameter in asked(job.task)]
        if unknown := [name for name in typed if name not in names]:
            raise InputError(f"{unknown[0]}: the job does not ask for it")
        if missing := job.task.missing(inputs):
            raise InputError(f"{missing[0]}: the job asks for it, and nothing is typed: --input {missing[0]}=VALUE")
        if names:
            with job.task.open(inputs):
                pass

    def _described(self, record: Record) -> str:
        state = self.state(record)
        return "waiting for the peer's consent" if state == "waiting" else state


def _unsettled(side: Statement) -> Statement:
    """Return a statement about a job that is done as one who may not know that: it is told again, nothing changes."""
    return side.model_copy(update={"settled": False})


def _of_withdrawal(side: Statement | None) -> dict[str, Any]:
    """Return what a party says of the withdrawal of results."""
    names = ("withdrawn", "unheard", "heard")
    return {} if side is None else {name: getattr(side, name) for name in names}


def _is_of(signed: Signed | None, job: Proposal) -> bool:
    """Return whether what is signed says that it is of this job, as far as can be told when its result has left."""
    return signed is not None and signed.result.get("digest") == job.digest


def _is_right(theirs: Statement, who: Who) -> bool:
    """Return whether a withdrawal is signed by the peer, of the result that it has signed."""
    word, signed, job = theirs.withdrawn, theirs.signed, theirs.proposal
    assert word is not None
    assert signed is not None
    signer = who.signer(lambda certificate: word.is_signed_by(certificate, job.digest))
    return word.result == signed.result.get(job.task.about.noun) and signer is not None
