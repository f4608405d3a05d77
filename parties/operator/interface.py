"""The operator's interface to a node, used by the web page, the commands and notebooks.

The node implements `Operator`; `client` offers the same calls to another process. The views are plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from pydantic import Field

from parties.operator.budget import Exposure, Price, Registered, Simulation, TableBudget
from parties.operator.view import View
from smc.errors import InputError

State = Literal["waiting", "queued", "running", "interrupted", "done", "refused", "cancelled", "failed"]
ENDED: tuple[State, ...] = ("done", "refused", "cancelled", "failed")
OPEN: tuple[State, ...] = ("waiting", "queued", "running", "interrupted")
MAX_PURPOSE = 400  # characters of a job's purpose
LONGEST_WAIT = 1.0  # seconds that a call waits for news
Role: TypeAlias = Literal["see", "propose", "approve", "administer", "audit"]
Method = TypeVar("Method", bound=Callable[..., Any])


class Verdict(View):
    """One party's decision on a job; `at` is ISO 8601, UTC.

    `by` is `operator`, `proposer` or `rule NAME`; of a refusal also `no rule`, `budget` or `node`. For ours, people's
    names follow the first two, if people have names. While more people must approve, `by` states the number of
    approvals so far and the required number.
    """

    verdict: Literal["waiting", "approved", "refused"]
    by: str = ""
    reason: str = ""
    at: str | None = None


class PredictedCost(View):
    """The expected cost of a job, counted before it runs; `assumed` states the assumption if it depends on the data.

    `estimate` compares it with a run: "exact", "at most" or "typical". Bytes are both ways, rounds this party's.
    `most`, if a bound is known, is the number of bytes both ways that no run exceeds.
    """

    estimate: Literal["exact", "at most", "typical"]
    assumed: str
    profile: str
    bytes: int
    most: int | None = None
    rounds: int
    seconds: float
    link: str  # the kind of link assumed for `seconds`


class Progress(View):
    """The progress of a running job: the step under way, and the session's cost so far.

    `depth` is the number of the step, and `nodes` its size, such as the open nodes of a tree. `doing` describes the
    step in words. `seconds_left` is None as long as there is no estimate.
    """

    depth: int
    nodes: int
    doing: str
    bytes_sent: int
    bytes_received: int
    rounds: int
    seconds: float
    seconds_left: float | None


class Asked(View):
    """Private input that the operator must type when consenting."""

    name: str
    title: str
    help: str


class JobView(View):
    """A job as one party sees it.

    State `waiting` waits for a consent. `queued` has both consents, and runs as soon as it can. `running` lasts until
    the peer's signature is here or late. `interrupted` goes on when the peer is back. `why` is the reason of a refusal,
    end or interruption, or why it does not run now. Times are ISO 8601, UTC.
    """

    id: str  # 32 hexadecimal digits; any unambiguous beginning of at least four names the job
    state: State
    proposed_by: Literal["us", "peer"]
    proposed_at: str
    ended_at: str | None
    peer: str
    protocol: str  # the kind of job
    title: str  # the kind in words
    question: str  # the question, as a phrase
    purpose: str
    permit: str = ""  # identifier of the permit that it names
    table: str  # ours; empty if the job needs none
    peer_table: str
    target: str  # the subject: a column, or empty
    columns: list[str]  # all columns that are read, in schema order, the target among them
    parameters: dict[str, bool | int | float | str | None]
    asked: list[Asked]  # private inputs that are still to be typed
    reveals: list[str]  # the disclosures, a sentence each
    cost: PredictedCost | None
    digest: str  # SHA-256 of the public job
    ours: Verdict
    theirs: Verdict
    # of the participants beyond the peer by name, in a job with holders
    further: dict[str, Verdict] = Field(default_factory=dict)
    # the keys of its job file about holders, empty in a job of two parties
    holding: dict[str, bool | int | str | list[str]] = Field(default_factory=dict)
    progress: Progress | None
    why: str
    ended_by: Literal["", "us", "peer"] = ""  # the party that refused, cancelled or failed
    price: Price | None = None  # its price on our table; None if it adds no noise
    remarks: list[str] = Field(default_factory=list)  # remarks from our own rows while it waits: for us alone
    exposure: Exposure | None = None  # the bits of exact answers that it opens of our table; None if it opens none
    exact: bool = False  # it opens a joint number without noise: each party learns the other's
    # withdrawals of its result with party, time and reason, a line each
    withdrawn: list[str] = Field(default_factory=list)
    people: list[str] = Field(default_factory=list)  # names of our people who proposed, approved or refused it
    approvals: int = 1  # number of our people who must approve before we consent
    begun: bool = False  # a session of it has begun: the peer may know the opened values
    answer: str = ""  # the first line of a result that is not withdrawn, and the number of its other lines
    only_signature: bool = False  # our side is done without errors, and only the peer's signature is missing

    @property
    def lacking(self) -> list[str]:
        """The names of the others whose consent is missing, in a job with holders."""
        others = {self.peer: self.theirs, **self.further} if self.further else {}
        return [name for name, verdict in others.items() if verdict.verdict == "waiting"]

    @property
    def waits_for_us(self) -> bool:
        """True if the job waits for this operator's decision."""
        return self.state == "waiting" and self.ours.verdict == "waiting"

    @property
    def waits_for_input(self) -> bool:
        """True if the job has our consent, and runs only when this operator has typed the required inputs."""
        return bool(self.asked) and not self.waits_for_us

    @property
    def needs_us(self) -> bool:
        """True if this operator must act on the job: decide, or type an input."""
        return self.waits_for_us or self.waits_for_input

    def stands(self, name: str) -> bool:
        """Return whether this person has proposed or approved the job, so that another person must approve it."""
        return self.approvals > 1 and name in self.people


class JobResult(View):
    """The result of a finished job, its cost, the opened values and the signatures.

    `protocol` is the kind of job, `party` our number in it, `noun` the name of the result. `document` is the result in
    the kind's form (for ID3 the content of tree.json). `opened` counts the opened values by kind. `cost` is the report
    of the last session. `summary` is the document that both signed; signatures are hexadecimal.
    """

    id: str
    protocol: str
    party: Literal[0, 1]
    noun: str
    document: dict[str, Any]
    cost: dict[str, Any]
    opened: dict[str, int]
    summary: dict[str, Any]
    our_signature: str
    their_signature: str
    # withdrawals of the result with party, time and reason, a line each
    withdrawn: list[str] = Field(default_factory=list)

    @property
    def tree(self) -> dict[str, Any]:
        """The content of tree.json, for a job whose result is a tree."""
        return self.document

    def fields(self) -> dict[str, Any]:
        """Return the view as one JSON object, with the result under the noun of its kind."""
        rest = {
            name: value for name, value in dict(self).items() if name not in ("noun", "document", "protocol", "party")
        }
        return {"id": self.id, "protocol": self.protocol, self.noun: self.document, **rest}


class PeerView(View):
    """View of a peer, and of the link between its node and ours."""

    name: str
    fingerprint: str
    role: Literal["listens", "connects"]  # ours
    address: str
    connected: bool  # to the peer's node, now
    trouble: str = ""  # reason why there is no connection
    held: str = ""  # reason why no job runs with it, even if connected: one of the two logs was rolled back
    tls: str = ""  # version of the link's protection, if this end knows it
    group: str = ""  # of its key exchange
    post_quantum: bool | None = None  # whether that group is post-quantum
    warning: str = ""  # advice about the certificates


class NodeView(View):
    """View of the node for its operator: name, peers, tables, version and warnings."""

    name: str
    fingerprint: str
    peers: list[PeerView]
    started_at: str
    version: str
    tables: list[str]
    columns: dict[str, list[str]] = Field(default_factory=dict)  # of each of our tables, as in its public schema
    warnings: list[str] = Field(default_factory=list)  # advice about the node's files
    unbounded: list[str] = Field(default_factory=list)  # rules that permit without bounds, with the missing ones

    @property
    def peer(self) -> str:
        """The peers' names, with commas between."""
        return ", ".join(peer.name for peer in self.peers)

    @property
    def connected(self) -> bool:
        """True if all peers' nodes are connected."""
        return all(peer.connected for peer in self.peers)


class AuditEntry(View):
    """A line of the audit log. `hash` covers all other fields and the hash of the entry before."""

    number: int
    at: str
    kind: str
    job: str | None
    fields: dict[str, Any]
    hash: str


class AuditState(View):
    """The state of the audit log: intact, or with `problems`, a sentence each."""

    entries: int
    ok: bool
    problems: list[str]


class NotRecordedError(InputError):
    """A valid request that the node cannot record, usually because of a full disk. It has had no effect."""


def needs(*roles: Role) -> Callable[[Method], Method]:
    """Declare the roles of which a person needs one to make a call of `Operator`."""

    def named(method: Method) -> Method:
        method.roles = roles  # type: ignore[attr-defined]
        return method

    return named


class Operator(Protocol):
    """The requests that a node answers, each with the roles that permit it.

    An identifier may be any unambiguous beginning of at least four digits, or `latest`. Calls raise InputError if there
    is no such job, an argument is wrong, or the job's state does not allow the call. They raise NotRecordedError if the
    node cannot record the action now. Calls that act on a job or peer return the view after the action. Calls come from
    several threads.
    """

    @needs("see")
    def node(self) -> NodeView:
        """Return the state of the node: its name, peers, tables and warnings."""

    @needs("see")
    def changes(self, since: str = "", wait: float = 0.0) -> str:
        """Return a text that differs once a view of the node or of a job may have changed; no view is made.

        Args:
            since: The last text; the call returns as soon as there is another one.
            wait: Seconds to wait for that, `LONGEST_WAIT` at most; it does not wait if many calls wait already.
        """

    @needs("see")
    def jobs(self, last: int = 100, before: str | None = None, states: Sequence[State] = ()) -> list[JobView]:
        """Return the last jobs, newest first.

        Args:
            last: Largest number of jobs.
            before: Only jobs proposed before this one.
            states: Only jobs in one of these states; empty for all.
        """

    @needs("see")
    def job(self, identifier: str, wait: float = 0.0) -> JobView:
        """Return one job as soon as it has ended, or after `wait` seconds.

        Args:
            identifier: The job.
            wait: Seconds to wait, as in `changes`.
        """

    @needs("propose")
    def submit(self, job: dict[str, Any]) -> JobView:
        """Propose a job, given as the content of a job file; the peer gets it as soon as it is connected."""

    @needs("approve")
    def approve(self, identifier: str, typed: dict[str, Any] | None = None) -> JobView:
        """Consent to a waiting job.

        Args:
            identifier: The job.
            typed: Private inputs that the job asks for, by name; never stored.
        """

    @needs("approve")
    def refuse(self, identifier: str, why: str) -> JobView:
        """Refuse a job.

        Args:
            identifier: The job.
            why: Reason for the proposer.
        """

    @needs("propose", "approve")
    def cancel(self, identifier: str, why: str = "") -> JobView:
        """End a job that has not ended: withdraw the proposal, or stop it at its present step.

        Args:
            identifier: The job.
            why: Reason for the peer.
        """

    @needs("administer")
    def withdraw(self, identifier: str, why: str) -> JobView:
        """Withdraw the result of a done job, by a signed statement.

        Args:
            identifier: The job.
            why: Reason for the peer and both parties' records.
        """

    @needs("administer")
    def revoke(self, peer: str, why: str = "") -> NodeView:
        """Revoke a peer's certificate: its link ends now, and none is made with that certificate again.

        Args:
            peer: Name of the peer.
            why: Reason for the log.
        """

    @needs("propose")
    def repeat(self, identifier: str) -> JobView:
        """Propose a job again, under the present rules and budget; return the new job."""

    @needs("see")
    def result(self, identifier: str) -> JobResult:
        """Return the result of a done job, with its cost, opened values and signatures."""

    @needs("audit")
    def audit(self, last: int = 100, before: int | None = None) -> list[AuditEntry]:
        """Return the last entries of the log, newest first.

        Args:
            last: Largest number of entries.
            before: Only entries before this number.
        """

    @needs("audit")
    def verify(self) -> AuditState:
        """Check the whole audit log, and return its state: intact, or a list of problems."""

    @needs("see")
    def budget(self, group: int = 1) -> list[TableBudget]:
        """Return the spending and remaining budget of each table, with prices for `group` rows."""

    @needs("see")
    def simulate(self, job: dict[str, Any]) -> Simulation:
        """Return the effect that a job would have on our table's budget; nothing changes.

        `job` is the content of a job file.
        """

    @needs("audit")
    def register(self) -> Registered:
        """Return our signed entry for a public register of epsilons."""
