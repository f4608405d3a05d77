"""What an operator sees of a node and may ask of it: the one interface behind the web page, the commands and notebooks.

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
MAX_PURPOSE = 400  # characters of what a job is for
LONGEST_WAIT = 1.0  # seconds that a call waits for news
Role: TypeAlias = Literal["see", "propose", "approve", "administer", "audit"]
Method = TypeVar("Method", bound=Callable[..., Any])


class Verdict(View):
    """One party's decision on a job; `at` is ISO 8601, UTC.

    `by` is `operator`, `proposer` or `rule NAME`. Of ours names stand behind the first two, where people have names;
    while more of them must approve, it says how many of how many have.
    """

    verdict: Literal["waiting", "approved", "refused"]
    by: str = ""
    reason: str = ""
    at: str | None = None


class PredictedCost(View):
    """The expected cost of a job, counted before it runs; `assumed` says for what, if it depends on the data.

    `estimate` says how a run compares: "exact", "at most" or "typical". Bytes are both ways, rounds this party's.
    `most`, if a bound is known: bytes both ways that no run exceeds.
    """

    estimate: Literal["exact", "at most", "typical"]
    assumed: str
    profile: str
    bytes: int
    most: int | None = None
    rounds: int
    seconds: float
    link: str  # the link that the seconds are for


class Progress(View):
    """A running job's place: the step under way, of how many things at once, and the session's cost so far.

    `doing` says the same in words. `seconds_left` is None as long as nothing can be said.
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
    """A private input that the operator types when consenting."""

    name: str
    title: str
    help: str


class JobView(View):
    """A job as one party sees it.

    `waiting`: for somebody's consent. `queued`: both have consented, and it runs as soon as it can. `interrupted`: it
    goes on when the peer is back. `why` says why it was refused, cancelled, interrupted or failed, or does not run now.
    Times are ISO 8601, UTC.
    """

    id: str  # 32 hexadecimal digits; any unambiguous beginning of at least four names it
    state: State
    proposed_by: Literal["us", "peer"]
    proposed_at: str
    ended_at: str | None
    peer: str
    protocol: str  # the kind of job
    title: str  # the kind in words
    question: str  # what is asked, a phrase
    purpose: str
    table: str  # ours; empty if the job needs none
    peer_table: str
    target: str  # what it is about: a column, or empty
    columns: list[str]  # all that are read, in schema order, the target among them
    parameters: dict[str, bool | int | float | str | None]
    asked: list[Asked]  # what has to be typed and is not there
    reveals: list[str]  # what is revealed to whom, a sentence each
    cost: PredictedCost | None
    digest: str  # SHA-256 of the public job
    ours: Verdict
    theirs: Verdict
    progress: Progress | None
    why: str
    ended_by: Literal["", "us", "peer"] = ""  # who refused, cancelled or could not go on
    price: Price | None = None  # what it spends of our table's privacy; None if it adds no noise
    remarks: list[str] = Field(default_factory=list)  # what our own rows say of it, while it waits: for us alone
    exposure: Exposure | None = None  # the bits of exact answers that it opens of our table; None if it opens none
    exact: bool = False  # it opens a joint number without noise: each party learns the other's
    withdrawn: list[str] = Field(default_factory=list)  # who has withdrawn its result, when and why, a line each
    people: list[str] = Field(default_factory=list)  # who of us has proposed or approved it, or refused it
    approvals: int = 1  # so many people of ours must stand behind it before we consent
    begun: bool = False  # a session of it has begun: the peer may know what that has opened
    only_signature: bool = False  # our side is done, nothing has gone wrong, and the peer's signature is on its way

    @property
    def waits_for_us(self) -> bool:
        """True if it waits for this operator's decision."""
        return self.state == "waiting" and self.ours.verdict == "waiting"

    @property
    def waits_for_input(self) -> bool:
        """True if it has our consent, and runs only when this operator has typed what it asks for."""
        return bool(self.asked) and not self.waits_for_us

    @property
    def needs_us(self) -> bool:
        """True if this operator has to do something for it."""
        return self.waits_for_us or self.waits_for_input

    def stands(self, name: str) -> bool:
        """Return whether this person stands behind it already, so that somebody else must approve it."""
        return self.approvals > 1 and name in self.people


class JobResult(View):
    """The result of a finished job, its cost, and what was opened and signed.

    `protocol` is the kind of job, `party` our number in it, `noun` what it brings; `document` is the result as the kind
    writes it (of ID3 the content of tree.json). `opened` counts every opened value by its kind. `cost` is the report of
    the last session. `summary` is what both signed; signatures are hexadecimal.
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
    withdrawn: list[str] = Field(default_factory=list)  # who has withdrawn it, when and why, a line each

    @property
    def tree(self) -> dict[str, Any]:
        """The content of tree.json, of a job that brings a tree."""
        return self.document

    def fields(self) -> dict[str, Any]:
        """Return all of it as one JSON object, the result under its noun."""
        rest = {
            name: value for name, value in dict(self).items() if name not in ("noun", "document", "protocol", "party")
        }
        return {"id": self.id, "protocol": self.protocol, self.noun: self.document, **rest}


class PeerView(View):
    """A peer of the node, and the link with it."""

    name: str
    fingerprint: str
    role: Literal["listens", "connects"]  # ours
    address: str
    connected: bool  # to the peer's node, now
    trouble: str = ""  # why there is no connection
    held: str = ""  # why no job runs with it, though it may answer: one of the two logs was rolled back
    tls: str = ""  # what protects it: version as far as this end knows
    group: str = ""  # of its key exchange
    post_quantum: bool | None = None  # whether that is
    warning: str = ""  # what is to be done about the certificates


class NodeView(View):
    """The node itself."""

    name: str
    fingerprint: str
    peers: list[PeerView]
    started_at: str
    version: str
    tables: list[str]
    columns: dict[str, list[str]] = Field(default_factory=dict)  # of each of our tables, as its public schema has them
    warnings: list[str] = Field(default_factory=list)  # what is to be done about the node's files
    unbounded: list[str] = Field(default_factory=list)  # rules that permit without bounds, and what each lacks

    @property
    def peer(self) -> str:
        """The peers' names."""
        return ", ".join(peer.name for peer in self.peers)

    @property
    def connected(self) -> bool:
        """True if all peers' nodes are there."""
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
    """The state of the audit log: whole, or `problems` says where it is not, a sentence each."""

    entries: int
    ok: bool
    problems: list[str]


class NotRecordedError(InputError):
    """A right request that the node cannot write down: a full disk, as a rule. Nothing has been done."""


def needs(*roles: Role) -> Callable[[Method], Method]:
    """Say of a call of `Operator` which role a person needs to make it: one of these."""

    def named(method: Method) -> Method:
        method.roles = roles  # type: ignore[attr-defined]
        return method

    return named


class Operator(Protocol):
    """The requests that a node answers, each with the roles of those who may make it.

    An identifier may be any unambiguous beginning of at least four digits, or `latest`. `InputError`: there is no such
    job, what is given is wrong, or the job's state does not allow it; `NotRecordedError`: the node cannot write it down
    now. Calls come from several threads.
    """

    @needs("see")
    def node(self) -> NodeView:
        """Return the node itself."""

    @needs("see")
    def changes(self, since: str = "", wait: float = 0.0) -> str:
        """Return a text that is another one whenever a view of the node or of a job may have changed; none is made.

        As soon as it is not `since`, or after so many seconds, `LONGEST_WAIT` at most; at once if many wait already.
        """

    @needs("see")
    def jobs(self, last: int = 100, before: str | None = None, states: Sequence[State] = ()) -> list[JobView]:
        """Return the last jobs (proposed before the given one, in one of these states), the newest first."""

    @needs("see")
    def job(self, identifier: str, wait: float = 0.0) -> JobView:
        """Return one job: as soon as it has ended, or after so many seconds, as of `changes`."""

    @needs("propose")
    def submit(self, job: dict[str, Any]) -> JobView:
        """Propose a job, given as the content of a job file; the peer is told as soon as it is connected."""

    @needs("approve")
    def approve(self, identifier: str, typed: dict[str, Any] | None = None) -> JobView:
        """Consent to a job that waits for it, and give what it asks to be typed; never stored."""

    @needs("approve")
    def refuse(self, identifier: str, why: str) -> JobView:
        """Decline a job; the proposer sees why."""

    @needs("propose", "approve")
    def cancel(self, identifier: str, why: str = "") -> JobView:
        """End a job that has not ended: withdraw it, or stop it where it is."""

    @needs("administer")
    def withdraw(self, identifier: str, why: str) -> JobView:
        """Withdraw the result of a job that is done, by a signed statement; the peer hears it, and why."""

    @needs("administer")
    def revoke(self, peer: str, why: str = "") -> NodeView:
        """Trust a peer's certificate no more: its link ends now, and none is made with that certificate again."""

    @needs("propose")
    def repeat(self, identifier: str) -> JobView:
        """Propose the same job anew, under the rules and the budget of now."""

    @needs("see")
    def result(self, identifier: str) -> JobResult:
        """Return what a job that is done has brought."""

    @needs("audit")
    def audit(self, last: int = 100, before: int | None = None) -> list[AuditEntry]:
        """Return the last entries (before the given number), the newest first."""

    @needs("audit")
    def verify(self) -> AuditState:
        """Check the whole audit log."""

    @needs("see")
    def budget(self, group: int = 1) -> list[TableBudget]:
        """Return what has been spent of each table's privacy, and what is left; the price is that of so many rows."""

    @needs("see")
    def simulate(self, job: dict[str, Any]) -> Simulation:
        """Return what a job, the content of a job file, would spend of our table; nothing is changed or told."""

    @needs("audit")
    def register(self) -> Registered:
        """Return our entry for a public register of epsilons, signed."""
