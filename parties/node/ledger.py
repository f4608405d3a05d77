"""The ledger of jobs: what is proposed, said and decided; each change is written together with its record.

No session begins but for a job that both parties' statements approve, and ours is approved by the operator or by a
rule, never otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from parties.node import limits, proposal
from parties.node.peers import Who
from parties.node.proposal import JobFile
from parties.node.register import now
from parties.node.runs import DIFFERENT, Runs
from parties.node.statement import Statement
from parties.node.store import Record
from parties.operator.budget import Simulation
from parties.operator.interface import ENDED
from smc.errors import InputError, ProtocolError


class Ledger(Runs):
    """What changes jobs beside sessions: the operator, the peer."""

    # What the operator does.

    def propose(self, fields: dict[str, Any]) -> Record:
        """A job of ours. `InputError` if it is wrong, or if a rule of ours denies it."""
        job, who, draft = self._drafted(fields)
        made = draft.ours.proposal
        self._check_typed(draft, job.typed)
        with self._writing():
            judgement = self._gate.judge(made, who, "us", self._around(draft))
            if judgement.verdict != "approved":
                raise InputError(f"this cannot be proposed: {judgement.reason}")
            ours = Statement(proposal=made, verdict="approved", by=judgement.by, at=now())
            record = self._begin(draft.model_copy(update={"ours": ours}))
            self._inputs.put(made.id, job.typed)
        return self._tell(record)

    def simulate(self, fields: dict[str, Any]) -> Simulation:
        """What a job of ours would do to the budget of our table. `InputError` if it is wrong; nothing is changed."""
        _, who, draft = self._drafted(fields)
        judgement = self._gate.judge(draft.ours.proposal, who, "us", self._around(draft))
        return self.accounts.simulated(draft, judgement.reason if judgement.verdict == "refused" else "")

    def _drafted(self, fields: dict[str, Any]) -> tuple[JobFile, Who, Record]:
        """A job file's content, whom it is meant for, and the job, of which nothing has been decided yet."""
        job = proposal.read_job(fields)
        who = self._peers.named(job.peer)
        made = proposal.propose(job, self._offers.means(who.party, job.table or ""))
        return job, who, Record(proposed_by="us", peer=who.peer_name, ours=Statement(proposal=made))

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
                self._check_typed(record, typed or {})
                self._inputs.put(record.id, typed or {})
                if record.ours.verdict == "approved":
                    return self._tell(self._put(record.model_copy(update={"note": ""})))
            elif typed:
                raise InputError(f"job {record.id[:8]} asks for nothing to be typed")
            if self.state(record) != "waiting" or record.ours.verdict != "waiting":
                raise InputError(f"job {record.id[:8]} does not wait for our consent: it is {self._described(record)}")
            if verdict == "approved" and (refusal := self.accounts.too_much(record)):
                raise InputError(refusal)
            ours = record.ours.model_copy(
                update={"verdict": verdict, "by": "operator", "at": now(), "why": why.strip()[:500]}
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

    def hear(self, peer: str, data: bytes) -> None:
        """A statement of this peer. `ProtocolError` if it is none."""
        theirs, who = Statement.from_bytes(data), self._peers.named(peer)
        if theirs.signed is not None and not theirs.signed.is_signed_by(who.peer):
            raise ProtocolError("the peer's signature under a job's result is wrong")
        with self._writing():
            record = self._store.get(theirs.proposal.id)
            if record is None:
                record, answer = self._meet(theirs, who, len(data)), True
            elif record.peer != peer:
                raise ProtocolError("the peer speaks of a job that is not with it")
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
            self._said(peer, theirs.proposal.id)
        else:
            self._tell(record, say=answer)

    def _meet(self, theirs: Statement, who: Who, size: int) -> Record | None:
        """A job that we did not know: decide on it by our rules, or leave it to the operator.

        None if it is more than anybody could want, or does not fit what is offered here: then only an answer is kept.
        """
        job, moment = theirs.proposal, datetime.now(UTC)
        if theirs.settled and theirs.verdict != "refused" and theirs.end != "cancelled":
            return None  # it has heard our refusal
        name = who.peer_name
        heard = (record for record in self._store.all() if (record.peer, record.proposed_by) == (name, "peer"))
        if why := limits.excess(theirs, size, heard, moment):
            self._refusals.put(theirs, why)
            return None
        draft = Record(proposed_by="peer", peer=name, ours=Statement(proposal=job), theirs=theirs)
        found = self._gate.judge(job, who, "peer", self._around(draft))
        if found.by == "node":
            self._refusals.put(theirs, found.public)
            return None
        at = now() if found.verdict != "waiting" else None
        ours = Statement(proposal=job, verdict=found.verdict, by=found.by, at=at, why=found.public)
        news = {"ours": ours, "reason": found.reason, "heard_at": moment.isoformat(), "heard_bytes": size}
        return self._begin(draft.model_copy(update=news))

    def _hear_more(self, record: Record, theirs: Statement) -> Record:
        """News of a job that is not done."""
        before = record.theirs
        record = record.model_copy(update={"theirs": theirs})
        self._journal.heard(record, before)
        if theirs.signed is not None and record.ours.signed is not None:
            if theirs.signed.result != record.ours.signed.result:
                return self._end(record, "failed", DIFFERENT, ProtocolError(DIFFERENT))
            self._journal.signed(record, self._who(record))
        return self._put(record)

    # How it is written.

    def _begin(self, record: Record) -> Record:
        """Write a new job."""
        self._journal.proposed(record, self._who(record), self.addresses.get(record.peer))
        return self._put(record)

    def _needs(self, record: Record) -> bool:
        return self.state(record) not in ENDED and bool(self._missing(record))

    def _check_typed(self, record: Record, typed: Mapping[str, Any]) -> None:
        """`InputError` unless what was typed is all that the job asks for, and fits."""
        job, means = record.ours.proposal, self._offers.means(record.party, record.table, typed)
        names = [one.key for one in job.task.asked()]
        if unknown := [name for name in typed if name not in names]:
            raise InputError(f"{unknown[0]}: the job does not ask for it")
        if missing := job.task.missing(means):
            raise InputError(f"{missing[0]}: the job asks for it, and nothing is typed: --input {missing[0]}=VALUE")
        if names:
            with job.task.open(means):
                pass

    def _described(self, record: Record) -> str:
        found = self.state(record)
        return "waiting for the peer's consent" if found == "waiting" else found
