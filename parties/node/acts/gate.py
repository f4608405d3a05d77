"""Policy enforcement: gathers a job's attributes, asks for the decision, and states our verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, Self, TypeAlias

from parties.base.text import listed
from parties.jobs.inputs import Inputs, Matching, no_matching
from parties.jobs.kind import refusal
from parties.link.identity import fingerprint
from parties.node.acts.permits import Permits
from parties.node.acts.templates import differences
from parties.node.log.job_events import Event, Unlogged, decided
from parties.node.log.statement import BUDGET, BY_NODE, BY_POINT, PROPOSER
from parties.node.log.store import Record
from parties.node.offers import Offers
from parties.node.peers import PeerDescription, PeerIdentity
from parties.node.point import xacml
from parties.node.point.decision_point import DecisionPoint
from parties.node.point.xacml import DecisionPointAnswer, said
from parties.node.policy.decisions import Decision, decide
from parties.node.policy.request import Request, request_for
from parties.node.policy.rules import serves, unlimited
from parties.node.policy.templates import expanded
from parties.node.proposal import Proposal
from parties.node.settings import NodeFile
from parties.tables.toml_text import toml_key
from smc.errors import InputError

NO = "this node does not run it for you and gives no reason: ask its operator"  # the same text, whatever the reason


OF_CIRCUMSTANCES = ("runs_today", "at", "address", "tls", "key_exchange", "post_quantum")  # attributes of a request


@dataclass(frozen=True)
class Circumstances:
    """The circumstances of a job: numbers of other jobs, the time, the budget, and the peer's connection if known."""

    runs_today: int  # with this peer, on our table
    waiting: int  # jobs with this peer
    at: datetime
    address: str | None
    permitted: float = 0.0  # epsilon of all jobs under the job's permit, with this one
    budget: str = ""  # reason why the table's privacy budget does not allow the job; empty if it does
    tls: str | None = None  # version on the connection with the peer's node, if known
    key_exchange: str | None = None  # the group of its key exchange
    post_quantum: bool | None = None  # whether that group is post-quantum
    other: tuple[PeerDescription, Circumstances] | None = None  # at a holder: of computing party 1


# a job with all that its judge looks at
Question: TypeAlias = tuple[Proposal, PeerIdentity, Circumstances, Literal["us", "peer"]]


@dataclass(frozen=True)
class Judgement:
    """Our verdict, its author, the reason for our operator, and the public reason for the peer."""

    verdict: Literal["waiting", "approved", "refused"]
    by: str
    reason: str
    public: str = ""
    ask: Request | None = None  # request to put to the decision point first


class AskFirstError(InputError):
    """The decision point must be asked first, by a caller that holds no lock; it has not answered this request yet."""

    def __init__(self, request: Request) -> None:
        super().__init__("the job has changed while the decision point was asked: try again")
        self.request = request


@dataclass
class Attempt:
    """A block that may raise `AskFirstError`, which ends the first attempt: `for attempt in attempts(): with attempt:`.

    `word` is the answer of the decision point to the first attempt's `request`.
    """

    word: DecisionPointAnswer | None = None
    request: Request | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if self.word is not None or not isinstance(error, AskFirstError):
            return False
        self.request = error.request
        return True


class Gate:
    """The judge of jobs, by this party's offers, its rules, and an outside decision point if there is one."""

    def __init__(self, file: NodeFile, offers: Offers, point: DecisionPoint | None = None) -> None:
        self._file, self._offers, self._point = file, offers, point
        self.permits = Permits.of(file)
        self.matching: Callable[[str, str, str], Matching] = lambda peer, table, job: no_matching(job)
        self.limits = file.node.limits
        self.approvals = file.node.approvals  # number of our people who must approve a job that no rule decides

    def judge(
        self,
        job: Proposal,
        who: PeerIdentity,
        proposed_by: Literal["us", "peer"],
        around: Circumstances,
        word: DecisionPointAnswer | None = None,
    ) -> Judgement:
        """Return our verdict on a job with this peer before the operator is asked.

        The rules come first. Only a peer whose job a rule permits learns whether the job fits here. The answer to all
        others does not depend on that, and a job that no rule decides waits for the operator whether it fits or not.

        The decision point comes last. Until it has answered, jobs that the rules permit wait.

        Args:
            job: The job.
            who: The link with the peer.
            proposed_by: The proposer of the job.
            around: Circumstances of the job.
            word: Answer of the decision point, if it was asked.
        """
        if (job.proposer == who.party) != (proposed_by == "us"):
            return _refused(BY_NODE, "this node does not know the job")  # the peer claims that we proposed it
        if self._file.node.role == "holder" and (job.holding is None or who.party < 2):
            return _refused(BY_NODE, "this node is a holder: it gives rows to jobs that two other nodes compute")
        question = self._request((job, who, around, proposed_by))
        decision = self._decision(question)
        if proposed_by == "us":
            ours = self._of_ours(decision, self.misfit(job, who.party, who.peer_name), around)
            return self._pointed(ours, question, word, around)
        if decision.is_past_consent and self._decision(replace(question, past_budget=False)).effect == "ask":
            # a peer whose job no rule permits learns nothing about the budget
            decision = Decision("ask", (), decision.reason)
        if decision.effect == "deny":
            if not any(serves(rule, question) for rule in self._file.policy):
                return _refused(BY_NODE, decision.reason, NO)
            unsaid = "" if job.purpose else "; the job states no purpose"
            by = decision.by or "no rule"
            public = f"the policy does not allow it ({decision.by}){unsaid}" if decision.by else decision.reason
            return _refused(by, decision.reason, public)
        if decision.effect == "ask":
            if around.waiting >= self.limits.waiting:
                return _refused(BY_NODE, self._too_many(around.waiting), NO)
            return Judgement("waiting", "", decision.reason)
        if misfit := self.misfit(job, who.party, who.peer_name):
            return _refused(BY_NODE, misfit + self.remedy(job, who.party), misfit)
        if around.budget:  # epsilons are meant to be public (Dwork, Kohli, Mulligan 2019): the peer may plan with them
            return _refused(BUDGET, around.budget)
        asks = f"; it asks the template {listed(sorted(question.templates))}" if question.templates else ""
        asks += f"; under the {job.permit.words}" if job.permit is not None else ""
        permitted = Judgement("approved", decision.by, decision.reason + asks)
        return self._pointed(permitted, question, word, around)

    def attempts(self) -> Iterator[Attempt]:
        """Yield an attempt at an act; if it needs the decision point's answer, get the answer and yield a second one.

        The caller must hold no lock around the loop: an answer may take some seconds.
        """
        first = Attempt()
        yield first
        if first.request is not None:
            assert self._point is not None
            yield Attempt(self._point.ask(first.request))

    def decided(self, record: Record, judgement: Judgement) -> tuple[Event, ...]:
        """Return the events that record our judgement of the peer's job: a log entry, and changes of the job's fields.

        Args:
            record: The job.
            judgement: Our judgement.
        """
        reason, job = judgement.reason, record.proposal
        if judgement.verdict != "waiting":
            return decided(judgement.verdict, judgement.by, judgement.public, reason)
        if misfit := self.misfit(job, record.party, record.peer):
            reason += f"; it cannot run here: {misfit}{self.remedy(job, record.party)}"
        return (Unlogged({"reason": reason, "unasked": judgement.ask is not None}),)

    def allows_now(self, asked: Question) -> Decision:
        """Return the rules' present decision on a job that is about to be approved or run."""
        return self._decision(self._request(asked))

    def objection(self, asked: Question, word: DecisionPointAnswer | None) -> str:
        """Return the decision point's objection to a job that rules or operator allow; empty if it permits the job.

        Args:
            asked: The job.
            word: Answer of the decision point, if it was asked.

        Raises:
            AskFirstError: `word` is not the answer to this request.
        """
        if self._point is None:
            return ""
        question = self._request(asked)
        if word is None or word.about != xacml.about(question):
            raise AskFirstError(question)
        return "" if word.permits else said(word)

    def _request(self, asked: Question) -> Request:
        job, who, around, proposed_by = asked
        unlike = differences(job, who.party, self._file.template, partial(self.inputs, peer=who.peer_name))
        proposer = fingerprint(who.identity.certificate if proposed_by == "us" else who.peer)
        unpermitted = self.permits.objection(job, who.party, proposer, around.at, around.permitted)
        return request(job, who.party, proposed_by, self._file, who.acquaintance, around, unlike, unpermitted)

    def expanded(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a job file with the question of the template that it names. Raise InputError if it does not fit."""
        return expanded(fields, self._file.template)

    def inputs(self, party: int, table: str, peer: str, typed: Mapping[str, Any] | None = None) -> Inputs:
        """Return this party's inputs to a job, with the rows that earlier jobs with the peer have matched.

        Args:
            party: Number of this party in the job.
            table: Name of the table; empty if the job needs none.
            peer: Name of the peer.
            typed: Values that the operator typed.

        Raises:
            InputError: There is no such table.
        """
        return replace(self._offers.inputs(party, table, typed), matching=partial(self.matching, peer, table))

    def misfit(self, job: Proposal, party: int, peer: str) -> str | None:
        """Return the reason why the job is impossible here under any rules; None if it is possible.

        Args:
            job: The job.
            party: Number of this party in the job.
            peer: Name of the peer.
        """
        table = job.tables[party]
        if not job.gives(party):
            return None
        if table and table not in self._offers.tables:
            key = "peer_table, --peer-table," if party < 2 else "holder_table"
            return f"there is no table '{table}' here (set {key} to another name)"
        if job.holding is not None and self._offers.tables[table].settings.max_rows > job.holding.holder_rows:
            return (
                f"max_rows of the table here is above the {job.holding.holder_rows:,} rows that the job takes of each"
            )
        return refusal(job.task, self.inputs(party, table, peer))

    def remedy(self, job: Proposal, party: int) -> str:
        """Return a hint for the operator alone, to append to a misfit: the tables of this node, if one is missing.

        Args:
            job: The job.
            party: Number of this party in the job.
        """
        table, tables = job.tables[party], self._offers.tables
        if not table or table in tables:
            return ""
        names = listed(tables) if tables else "none"
        return f"; there are {names}: to use one of them, name it [tables.{toml_key(table)}] and restart the node"

    def _pointed(
        self, judgement: Judgement, question: Request, word: DecisionPointAnswer | None, around: Circumstances
    ) -> Judgement:
        """Return a judgement; an approval is replaced by the decision point's answer, or by the request for one."""
        if self._point is None or judgement.verdict != "approved":
            return judgement
        if word is None or word.about != xacml.about(question):
            if around.waiting >= self.limits.waiting and question.proposed_by == "peer":
                return _refused(BY_NODE, self._too_many(around.waiting), NO)
            reason = f"{judgement.reason}; the decision point is being asked"
            return Judgement("waiting", "", reason, ask=question)
        reason = said(word) if question.proposed_by == "us" else f"{judgement.reason}; {said(word)}"
        if word.permits:
            return replace(judgement, reason=reason)
        if word.decision is None:
            return Judgement("waiting", "", reason, ask=question)
        return _refused(BY_POINT, reason, NO)

    def _too_many(self, waiting: int) -> str:
        return (
            f"node.limits.waiting: {waiting} jobs of a peer are waiting, the largest number allowed; approve or refuse "
            "some, or set a higher limit"
        )

    def _of_ours(self, decision: Decision, misfit: str | None, around: Circumstances) -> Judgement:
        if misfit:
            return _refused(BY_NODE, misfit)
        if decision.effect == "deny":
            return _refused(decision.by or "no rule", decision.reason)
        if around.budget:
            return _refused(BUDGET, around.budget)
        return Judgement("approved", PROPOSER, "proposed here")

    def _decision(self, request: Request) -> Decision:
        return decide(self._file.policy, request, self._file.combine(request.table))


def _refused(by: str, reason: str, public: str | None = None) -> Judgement:
    return Judgement("refused", by, reason, reason if public is None else public)


def request(
    job: Proposal,
    party: int,
    proposed_by: Literal["us", "peer"],
    file: NodeFile,
    peer: PeerDescription,
    around: Circumstances,
    unlike: Mapping[str, str],
    unpermitted: str = "",
) -> Request:
    """Return all attributes of a job with this peer that a policy rule may refer to.

    Args:
        job: The job.
        party: Number of the party whose rules decide.
        proposed_by: The proposer of the job, from that party's view.
        file: Settings of that party.
        peer: The peer, as that party's settings describe it.
        around: Circumstances of the job.
        unlike: By template of that party the first setting in which the job differs; empty if it asks the question.
        unpermitted: Why no permit allows the job; empty if its permit does, or it needs none.
    """
    table = file.tables.get(job.tables[party])
    other = None if around.other is None else request(job, party, proposed_by, file, *around.other, unlike={})
    return request_for(
        peer=peer.name,
        fingerprint=None if peer.certificate is None else fingerprint(peer.certificate),
        roles=peer.settings.roles,
        proposed_by=proposed_by,
        table=job.tables[party],
        columns=job.task.columns_of(party),
        protocol=job.task.name,
        parameters=job.task.bounded() | job.bounds,
        unlimited=unlimited(),
        purpose=job.purpose,
        joint_number=bool(job.task.disclosure.exact),
        past_budget=table is not None and table.budget is not None and job.task.disclosure.past_budget,
        analyst=job.task.disclosure.analyst,
        attributes=peer.settings.attributes,
        rights=None if table is None else table.rights,
        holders=0 if job.holding is None else len(job.holding.holders),
        compute=() if job.holding is None else job.holding.nodes,
        unlike=unlike,
        permit=None if job.permit is None else job.permit.id,
        unpermitted=unpermitted,
        other=other,
        **{name: getattr(around, name) for name in OF_CIRCUMSTANCES},
    )
