"""Actions of our operator and the decision point on jobs: each method decides which events happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from parties.jobs.kind import asked
from parties.link.identity import fingerprint
from parties.node import proposal
from parties.node.acts.gate import AskFirstError
from parties.node.acts.parts import Parts
from parties.node.acts.runs import Runs
from parties.node.log.job_events import Event, Unlogged, decided, proposed, sizes, withdrawn
from parties.node.log.jobs import now
from parties.node.log.statement import MAX_LINE, OPERATOR, PROPOSER
from parties.node.log.store import Record
from parties.node.peers import PeerIdentity, holders_of
from parties.node.point.xacml import DecisionPointAnswer, said
from parties.node.proposal import JobFile
from parties.node.records import kinds, withdrawal
from parties.node.records.sidecar_files import SidecarFiles
from parties.operator.budget import Simulation
from parties.operator.people import acting
from smc.errors import InputError


class Decisions:
    """The decisions of this party about jobs, apart from those of its rules on the peer's proposals."""

    def __init__(self, parts: Parts, runs: Runs) -> None:
        self._parts, self._jobs, self._log, self._accounts = parts, parts.jobs, parts.jobs.log, parts.accounts
        self._gate, self._offers, self._inputs, self._runs = parts.gate, parts.offers, parts.inputs, runs

    def propose(self, job: dict[str, Any]) -> Record:
        """Propose a job of ours. Raise InputError if it is wrong, or if one of our rules denies it."""
        file, who, draft = self._drafted(job)
        self._check_typed(draft, file.typed)
        return self._proposed(draft, who, file.typed)

    def repeat(self, identifier: str) -> Record:
        """Propose the same job anew as one of ours: the same specification, tables and purpose.

        Raise InputError as `propose` does, and if the job requires typed inputs.
        """
        record = self._jobs.find(identifier)
        terms, who = record.proposal, self._jobs.who(record)
        if record.number is not None:
            raise InputError(f"job {record.id[:8]}: a holder proposes no job; ask the two that compute to propose it")
        if asked(terms.task):
            raise InputError(f"job {record.id[:8]} needs a typed input; propose it with smc submit")
        if misfit := self._gate.misfit(terms, record.party, record.peer):
            raise InputError(f"job {record.id[:8]} cannot be proposed again as it was: {misfit}")
        copy = proposal.repeated(terms, record.party)
        return self._proposed(self._jobs.draft(copy, "us", who.peer_name), who, {})

    def _proposed(self, draft: Record, who: PeerIdentity, typed: Mapping[str, Any]) -> Record:
        for attempt in self._gate.attempts():
            with attempt, self._log.writing():
                word = attempt.word
                judgement = self._gate.judge(draft.proposal, who, "us", self._parts.around(draft), word)
                if judgement.ask is not None and (word is None or word.decision is not None):
                    raise AskFirstError(judgement.ask)
                if judgement.verdict != "approved":
                    raise InputError(f"this cannot be proposed: {judgement.reason}")
                people, person = self._people(draft), acting.get()
                begun = proposed(draft, who, self._parts.address(draft.peer), person)
                reason = "" if word is None else said(word)
                consent = () if self._lacks(people) else decided("approved", judgement.by, reason=reason, person=person)
                record = self._jobs.apply(draft, begun, *consent)
                self._inputs.put(record.id, typed)
        return self._jobs.tell(record)

    def simulate(self, fields: dict[str, Any]) -> Simulation:
        """Return the effect of a job of ours on our table's budget; change nothing. Raise InputError if it is wrong."""
        _, who, draft = self._drafted(fields)
        judgement = self._gate.judge(draft.proposal, who, "us", self._parts.around(draft))
        return self._accounts.simulated(draft, judgement.reason if judgement.verdict == "refused" else "")

    def _drafted(self, fields: dict[str, Any]) -> tuple[JobFile, PeerIdentity, Record]:
        job = proposal.read_job(self._gate.expanded(fields))
        who = self._log.peers.named(job.peer)
        if self._parts.pins.is_revoked(who):
            raise InputError(f"the certificate of {who.peer_name} is revoked here: no job with it can run")
        ours, theirs = fingerprint(who.identity.certificate), fingerprint(who.peer)
        nodes = (ours, theirs) if who.party == 0 else (theirs, ours)
        own, named = who.identity.certificate, self._log.peers.named
        holders = holders_of(job.holders, who.peer_name, own, lambda name: named(name).peer)
        permit = None if job.permit is None else self._gate.permits.named(job.permit)
        inputs = self._gate.inputs(who.party, job.table or "", who.peer_name)
        terms = proposal.propose(job, inputs, nodes, holders, permit)
        return job, who, self._jobs.draft(terms, "us", who.peer_name)

    def decide(
        self,
        identifier: str,
        verdict: Literal["approved", "refused"],
        why: str = "",
        typed: Mapping[str, Any] | None = None,
    ) -> Record:
        """Record the operator's verdict on a waiting job, with the inputs that the job asks the operator to type.

        Typed inputs are forgotten when the node ends; then the operator types them again and approves once more. A
        decision point, if there is one, must permit the job before our consent counts.

        Args:
            identifier: Beginning of the job's identifier.
            verdict: The verdict.
            why: Reason for the peer.
            typed: The typed inputs, by name.

        Raises:
            InputError: The verdict is impossible, or the decision point objects; the job goes on waiting.
        """
        for attempt in self._gate.attempts():
            with attempt, self._log.writing():
                record, typed, say = self._jobs.find(identifier), typed or {}, True
                if typed and not (verdict == "approved" and self._needs(record)):
                    raise InputError(f"job {record.id[:8]} needs no typed input; remove it")
                if verdict == "refused":
                    events = self._refusal(record, why)
                else:
                    events, say = self._approval(record, why, typed, attempt.word)
                    self._inputs.put(record.id, typed)
                record = self._jobs.apply(record, *events)
        return self._jobs.tell(record, say)

    def _refusal(self, record: Record, why: str) -> Sequence[Event]:
        self._check_waits(record)
        misfit = self._gate.misfit(record.proposal, record.party, record.peer)
        why = why.strip() or misfit or "the operator gave no reason"
        return decided("refused", OPERATOR, why, person=acting.get())

    def _approval(
        self, record: Record, why: str, typed: Mapping[str, Any], word: DecisionPointAnswer | None
    ) -> tuple[Sequence[Event], bool]:
        """Return the events of the operator's approval of a job or typed inputs, and whether to inform the peer."""
        if self._needs(record):
            self._check_typed(record, typed)
            if record.ours.verdict == "approved":
                return self._typed_again(record), True
        self._check_waits(record)
        if misfit := self._gate.misfit(record.proposal, record.party, record.peer):
            misfit += self._gate.remedy(record.proposal, record.party)
            raise InputError(f"this cannot run here: {misfit}; smc refuse {record.id[:8]} informs {record.peer}")
        if refusal := self._accounts.too_much(record):
            raise InputError(refusal)
        question = self._parts.asked(record)
        decision = self._gate.allows_now(question)
        if decision.is_past_consent:
            raise InputError(f"this cannot be approved: {decision.reason}")
        people = self._people(record)
        if self._lacks(people):
            return [self._approved(people[-1], len(people))], False
        if objection := self._gate.objection(question, word):
            raise InputError(f"this cannot be approved: {objection}")
        by, reason = PROPOSER if record.proposed_by == "us" else OPERATOR, "" if word is None else said(word)
        return decided("approved", by, why.strip(), reason, acting.get()), True

    def _check_waits(self, record: Record) -> None:
        """Raise InputError unless a job waits for our consent."""
        if (state := self._jobs.state(record)) != "waiting" or record.ours.verdict != "waiting":
            described = "waiting for the peer's consent" if state == "waiting" else state
            raise InputError(f"job {record.id[:8]} does not wait for our consent: it is {described}")

    def unasked(self) -> list[str]:
        """Return the jobs that our rules permit and the decision point has not decided."""
        with self._log.lock:
            jobs = sorted(self._jobs.index.unasked.values(), key=lambda record: self._jobs.store.number(record.id))
            return [record.id for record in jobs if self._is_unasked(record)]

    def settle(self, identifier: str) -> bool:
        """Ask the decision point about a job of the peer's that our rules permit; return whether it has answered.

        Our rules are evaluated again, since they may depend on time. No lock is held during the request. Raise
        AskFirstError if the decision point must be asked first.
        """
        for attempt in self._gate.attempts():
            with attempt, self._log.writing():
                record = self._jobs.get(identifier)
                if not self._is_unasked(record):
                    return True
                terms, who = record.proposal, self._jobs.who(record)
                around = replace(self._parts.around(record), waiting=0)
                judgement = self._gate.judge(terms, who, record.proposed_by, around, attempt.word)
                if judgement.ask is not None and attempt.word is None:
                    raise AskFirstError(judgement.ask)
                unasked = judgement.ask is not None
                if unasked and judgement.reason == record.reason:
                    return False
                record = self._jobs.apply(record, *self._gate.decided(record, judgement))
        self._jobs.tell(record, say=not unasked)
        return not unasked

    def _is_unasked(self, record: Record) -> bool:
        return record.unasked and record.ours.verdict == "waiting" and self._jobs.state(record) == "waiting"

    def cancel(self, identifier: str, why: str = "") -> Record:
        """End a job. Raise InputError if it has ended, or only the peer's signature is missing.

        Args:
            identifier: Beginning of the job's identifier.
            why: Reason for the peer and the records.
        """
        with self._log.writing():
            record = self._jobs.find(identifier)
            if self._jobs.has_ended(record):
                raise InputError(f"job {record.id[:8]} has ended already: it is {self._jobs.state(record)}")
            if record.ours.end == "computed":
                raise InputError(
                    f"job {record.id[:8]} is computed here, and only the peer's signature is missing; "
                    "it cannot be cancelled"
                )
            why = (why.strip() or "the operator cancelled it")[:MAX_LINE]
            entry = {"by": "us", "why": why, "person": acting.get(), **sizes(record)}
            record = self._jobs.apply(record, kinds.Cancelled.model_validate(entry))
        return self._jobs.tell(record)

    def withdraw(self, identifier: str, why: str) -> Record:
        """Withdraw a result by a signed statement that both parties keep.

        Args:
            identifier: Beginning of the job's identifier.
            why: Reason for both parties' records.

        Raises:
            InputError: The job has no result here, has holders or is withdrawn already; or no reason is given.
        """
        if not why.strip():
            raise InputError("give a reason: a withdrawal is permanent, and both parties' records keep its reason")
        with self._log.writing():
            record = self._jobs.find(identifier)
            if self._jobs.state(record) != "done" or record.ours.signed is None:
                raise InputError(f"job {record.id[:8]} has no result to withdraw: it is {self._jobs.state(record)}")
            if record.proposal.holding is not None:
                raise InputError(f"job {record.id[:8]} has holders, whose results cannot be withdrawn yet")
            if record.ours.withdrawn is not None:
                raise InputError(f"job {record.id[:8]}: its result is withdrawn already")
            job, signed, reason = record.proposal, record.ours.signed, why.strip()
            result = signed.result[job.task.about.noun]
            word = withdrawal(self._log.peers.identity, job.digest, result, reason[:MAX_LINE], now())
            who = self._jobs.who(record)
            record = self._jobs.apply(record, withdrawn(who, "us", job.digest, word, acting.get()))
            SidecarFiles(self._log.path).remove_own_result(record.id)
        return self._jobs.tell(record)

    def _people(self, record: Record) -> tuple[str, ...]:
        """Return the people who have proposed or approved a job here, with the acting person.

        Each person counts once, and the proposer does not approve the job: raise InputError if another person must act.
        """
        name, earlier = acting.get(), record.people
        if self._gate.approvals > 1:
            if not name:
                raise InputError(
                    f"approvals = {self._gate.approvals}: needs operators with names; add them with smc operator add"
                )
            if name in earlier:
                first = record.proposed_by == "us" and name == earlier[0]
                action = "proposed" if first else "approved"
                raise InputError(f"{name} has {action} job {record.id[:8]}: another operator must approve it")
        return tuple(dict.fromkeys((*earlier, name) if name else earlier))

    def _typed_again(self, record: Record) -> Sequence[Event]:
        """Return the events of inputs typed for an approved job. Raise InputError if another person must type them."""
        name, events = acting.get(), list[Event]([Unlogged({"note": ""})])
        if self._gate.approvals > 1:
            if name not in record.people:
                raise InputError(
                    f"job {record.id[:8]} was approved by {', '.join(record.people)}: one of them must type it"
                )
            events.insert(0, self._approved(name, len(record.people)))
        return events

    def _approved(self, person: str, given: int) -> kinds.Approved:
        return kinds.Approved(person=person, given=given, needed=self._gate.approvals)

    def _lacks(self, people: Sequence[str]) -> bool:
        """Return whether more people than these must approve a job before this party consents."""
        return self._gate.approvals > 1 and len(people) < self._gate.approvals

    def _needs(self, record: Record) -> bool:
        return not self._jobs.has_ended(record) and bool(self._runs.missing(record))

    def _check_typed(self, record: Record, typed: Mapping[str, Any]) -> None:
        """Raise InputError unless the typed inputs are complete and valid."""
        job, inputs = record.proposal, self._offers.inputs(record.party, record.table, typed)
        names = [parameter.key for parameter in asked(job.task)]
        if unknown := [name for name in typed if name not in names]:
            raise InputError(f"{unknown[0]}: the job has no such input; remove it")
        if missing := job.task.missing(inputs):
            raise InputError(f"{missing[0]}: the job requires it: --input {missing[0]}=VALUE")
        if names:
            with job.task.open(inputs):
                pass
