"""The gate: where the policy is enforced. It gathers the attributes, asks for the decision, and says our verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cryptography import x509

from parties.identity import Identity, common_name, fingerprint
from parties.node.offers import Offers
from parties.node.proposal import Proposal
from parties.node.settings import NodeFile
from parties.policy.decisions import Decision, decide
from parties.policy.request import Request, request_for
from parties.policy.rules import unlimited

BUDGET = "budget"  # who refuses what a table's privacy budget does not allow
MAX_WAITING = 100  # proposals of the peer that nobody has looked at yet


@dataclass(frozen=True)
class Who:
    """The two parties; `party` is ours, 0 if it listens."""

    identity: Identity
    peer: x509.Certificate
    party: int

    @property
    def peer_name(self) -> str:
        """The peer's name."""
        return common_name(self.peer)


@dataclass(frozen=True)
class Surroundings:
    """What counts beside the job: what is there already, when it is, and the peer's address if that is known."""

    runs_today: int  # of the job's table
    waiting: int  # jobs
    at: datetime
    address: str | None
    budget: str = ""  # why the table's privacy budget does not allow the job; empty if it does


@dataclass(frozen=True)
class Judgement:
    """Our verdict, who made it, the reason for our operator, and what the peer is told."""

    verdict: Literal["waiting", "approved", "refused"]
    by: str
    reason: str
    public: str = ""


class Gate:
    """Judges jobs by what this party offers and by its rules."""

    def __init__(self, who: Who, file: NodeFile, offers: Offers) -> None:
        self._who, self._file, self._offers = who, file, offers

    def judge(self, job: Proposal, proposed_by: Literal["us", "peer"], around: Surroundings) -> Judgement:
        """Our verdict on a job before the operator is asked."""
        problem = self._unfit(job, proposed_by, around)
        if problem:
            return Judgement("refused", "node", problem, problem)
        decision = self._decide(job, proposed_by, around)
        if decision.effect == "deny":
            unsaid = "" if job.purpose else "; the job states no purpose"
            by = decision.by or "no rule"
            public = f"the policy does not allow it ({decision.by}){unsaid}" if decision.by else decision.reason
            return Judgement("refused", by, decision.reason, public)
        if around.budget:  # epsilons are meant to be public (Dwork, Kohli, Mulligan 2019): the peer may plan with them
            return Judgement("refused", BUDGET, around.budget, around.budget)
        if proposed_by == "us":
            return Judgement("approved", "proposer", "proposed here")
        if decision.effect == "permit":
            return Judgement("approved", decision.by, decision.reason)
        return Judgement("waiting", "", decision.reason)

    def allows_now(self, job: Proposal, around: Surroundings) -> Decision:
        """What the rules say of a job that they have permitted before, now that it is to run."""
        return self._decide(job, "peer", around)

    def _decide(self, job: Proposal, proposed_by: Literal["us", "peer"], around: Surroundings) -> Decision:
        asked = request(job, self._who.party, proposed_by, self._file, self._who.peer, around)
        return decide(self._file.policy, asked, self._file.combine(asked.table))

    def _unfit(self, job: Proposal, proposed_by: str, around: Surroundings) -> str | None:
        """Why the job is impossible here, whatever the rules say."""
        if (job.proposer == self._who.party) != (proposed_by == "us"):
            return "this node does not know the job"  # the peer says that we proposed it
        table = job.tables[self._who.party]
        if table and table not in self._offers.tables:
            return f"there is no table '{table}' here"
        if proposed_by == "peer" and around.waiting >= MAX_WAITING:
            return f"{around.waiting} jobs are waiting already"
        misfit = job.task.misfit(self._offers.means(table))
        if misfit is None and job.task.settings.engine == "auto" and not job.task.is_countable:
            return "the job is too large for the engine auto: name an engine"
        return misfit


def request(
    job: Proposal,
    party: int,
    proposed_by: Literal["us", "peer"],
    file: NodeFile,
    peer: x509.Certificate | None,
    around: Surroundings,
) -> Request:
    """All attributes of a job that a rule of party `party`, whose file this is, may ask about."""
    table = file.tables.get(job.tables[party])
    return request_for(
        peer=None if peer is None else common_name(peer),
        fingerprint=None if peer is None else fingerprint(peer),
        roles=file.peer.roles,
        proposed_by=proposed_by,
        table=job.tables[party],
        columns=job.task.columns,
        protocol=job.task.name,
        parameters=job.task.parameters(),
        unlimited=unlimited(),
        purpose=job.purpose,
        runs_today=around.runs_today,
        at=around.at,
        address=around.address,
        exact=job.task.exact,
        attributes=file.peer.attributes,
        rights=None if table is None else table.rights,
    )
