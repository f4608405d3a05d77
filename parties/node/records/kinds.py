"""What may be recorded: the kinds of entries, and exactly which fields each has.

An entry holds names, public parameters, digests, numbers of bytes, and how many values of each kind were opened; the
tree of a job tells the last. No field can hold a row, a count of rows, a share or a key; what may quote private data,
such as an error in a party's own input, is recorded by its name only.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from parties.node.records.statements import Committed, Signed, Withdrawal
from smc.errors import JobMismatchError, LinkError

MAX_TEXT = 2000
PEER_FAILED = "PeerFailed"  # in place of the name of an error, which the peer does not tell

EntryKind: TypeAlias = Literal[
    "node started",
    "node stopped",
    "renewed",
    "connected",
    "disconnected",
    "turned away",
    "log-in failed",
    "operators",
    "repeated",
    "rolled back",
    "rollback accepted",
    "proposed",
    "approved",
    "decided",
    "started",
    "committed",
    "spent",
    "counted",
    "opened",
    "interrupted",
    "finished",
    "failed",
    "cancelled",
    "signed",
    "withdrawn",
    "archived",
    "pin revoked",
    "pin replaced",
    "published",
    "rights",
    "breach",
    "reviewed",
]


Repeated: TypeAlias = Literal["connected", "disconnected", "turned away", "log-in failed"]


def _cut(text: str) -> str:
    """Cut a text to at most `MAX_TEXT` characters: a long reason is no reason to lose the entry."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


Side: TypeAlias = Literal["us", "peer"]
# GDPR art. 15 and 20, 16, 17, 18, 21.
Request: TypeAlias = Literal["access", "rectification", "erasure", "restriction", "objection", "objection withdrawn"]
# GDPR art. 33 and 34: told are the supervisory authority, the people, and the other controller.
Step: TypeAlias = Literal["found", "noted", "authority told", "people told", "peer told", "closed"]
Text: TypeAlias = Annotated[str, AfterValidator(_cut)]
Size: TypeAlias = Annotated[int, Field(ge=0)]
NotNegative: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Fingerprint: TypeAlias = Annotated[str, Field(pattern=r"^([0-9A-F]{2}:){31}[0-9A-F]{2}$")]


FIELDS: dict[str, type[Fields]] = {}  # by the kinds of entries


class Fields(BaseModel):
    """The fields of one kind of entry: these, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    kind: ClassVar[EntryKind]

    def __init_subclass__(cls, kind: EntryKind | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if kind is not None:
            cls.kind, FIELDS[kind] = kind, cls


class Blinded(Fields):
    """What is ours alone: `blind` are random digits, as a peer sees the hashes of entries, and could try what fits."""

    blind: Text = ""


class Named(Blinded):
    """What one of our people may have done: `person` is the name, empty if nobody has one."""

    person: Text = ""


class NodeStarted(Blinded, kind="node started"):
    """The node runs, with this certificate.

    `rows` are the places of each table's rows: a path or a database, and a table there. `same_rows` are the other names
    whose charges count for a table: of renamed tables, and of those that say `same_rows_as`.
    """

    version: Text
    fingerprint: Fingerprint
    peer_fingerprint: Fingerprint | None = None  # if there is but one peer
    peer_fingerprints: list[Fingerprint] = []  # if there are several
    tables: list[Text] = []  # by our names
    rows: dict[Text, list[list[Text | None]]] = {}
    same_rows: dict[Text, list[Text]] = {}
    state: Size = 0  # the number of what is kept (`database.STATE`); 0: before it was told


class NodeStopped(Fields, kind="node stopped"):
    """The node ends in order."""

    why: Text = ""


class Renewed(Fields, kind="renewed"):
    """From this entry on the log is signed with another certificate."""

    former_fingerprint: Fingerprint
    fingerprint: Fingerprint


class Connected(Fields, kind="connected"):
    """The peer's node is there."""

    peer: Text
    fingerprint: Fingerprint
    address: Text | None = None
    tls: Text = ""  # version, as far as our end knows it
    group: Text = ""  # of the key exchange


class Disconnected(Fields, kind="disconnected"):
    """The peer's node is gone."""

    peer: Text = ""
    why: Text = ""


class TurnedAway(Fields, kind="turned away"):
    """The node refused a proposal of the peer's by itself, and kept nothing of it. The peer may know less of why."""

    peer: Text
    peer_fingerprint: Fingerprint
    why: Text


class LogInFailed(Named, kind="log-in failed"):
    """Somebody did not get into the page: whose name was typed, if it is a person's."""

    why: Text


class Operators(Named, kind="operators"):
    """An account of our people was changed: whose, what it may do now, and by whom, if that one has a name."""

    what: Literal["added", "changed", "password", "removed"]
    name: Text
    roles: list[Text] = []
    unix: Text = ""
    oidc: Text = ""
    digest: Digest | None = None  # of all accounts after it, so that an older file of them is noticed


class RepeatedEvent(Fields, kind="repeated"):
    """An event too frequent to be recorded one by one: so many times between these moments; the last one's reason."""

    what: Repeated
    peer: Text
    times: Size
    first: Text
    last: Text
    why: Text = ""


class RolledBack(Fields, kind="rolled back"):
    """A log was found to lack an entry that its owner has signed for the other party: an older copy was put back.

    `whose` is the log's owner; it signed `number` and `hash`.
    """

    whose: Side
    peer: Text
    peer_fingerprint: Fingerprint
    number: Size
    hash: Digest


class RollbackAccepted(RolledBack, kind="rollback accepted"):
    """The operator goes on all the same."""


class Proposed(Named, kind="proposed"):
    """A job was proposed: by whom, and all that is public about it."""

    by: Side
    peer: Text
    peer_fingerprint: Fingerprint
    address: Text | None = None
    digest: Digest  # of the public job
    protocol: Text
    purpose: Text
    table: Text  # ours
    peer_table: Text
    target: Text
    columns: list[Text]
    parameters: dict[Text, bool | int | float | Text | None]
    exact: Text = ""  # what it means that a joint number is opened without noise, if one is


class Approved(Named, kind="approved"):
    """One of our people approved the job, and others must, too: so many of so many have; who proposed it is one."""

    given: Size
    needed: Size


class Decided(Named, kind="decided"):
    """A party consented or declined: `by` is `operator`, `proposer` or `rule NAME`."""

    party: Side
    verdict: Literal["approved", "refused"]
    by: Text
    reason: Text = ""


class Started(Fields, kind="started"):
    """A session of the job began, at this depth of the tree: 0, or where an interrupted one goes on."""

    digest: Digest
    depth: Size = 0
    profile: Text = ""
    address: Text | None = None


class BothCommitted(Fields, kind="committed"):
    """Both parties committed to the rows that they put into the job, when its first session began."""

    ours: Committed
    theirs: Committed


class Loss(Fields):
    """A noisy mechanism used so many times; see `parties.jobs.spending.Loss`."""

    mechanism: Text
    delta: NotNegative = 0.0
    adjacency: Literal["add-remove", "replace"]
    times: Size = 1


class PureLoss(Loss):
    """A use with this epsilon."""

    epsilon: NotNegative


class ConcentratedLoss(Loss):
    """A use with this rho."""

    rho: NotNegative


class Charge(Fields, kind="spent"):
    """The job has spent this of our table's privacy: once, when it was first computed, whatever became of it."""

    table: Text  # ours
    peer: Text
    peer_fingerprint: Fingerprint
    counts_from: Text  # ISO 8601, UTC: in windows of time; not before anything that is known to have been before
    uses: list[PureLoss | ConcentratedLoss]
    person: Text = ""  # whose row it is, as party.toml said; empty: what was spent is of rows


class BitsCharge(Fields, kind="counted"):
    """A step of the job opens at most so many bits of exact answers about our table: written once, before it does."""

    table: Text  # ours
    peer: Text
    peer_fingerprint: Fingerprint
    counts_from: Text  # ISO 8601, UTC, see `Charge`
    depth: Size
    bits: Size


class Opened(Fields, kind="opened"):
    """Values were opened to both parties: how many of each kind."""

    depth: Size | None = None
    opened: dict[Text, Size]


class Interrupted(Fields, kind="interrupted"):
    """A session was cut short, and the job waits for the peer. What the level at `depth` opens it may know already."""

    why: Text
    depth: Size = 0
    bytes_sent: Size
    bytes_received: Size


class Finished(Fields, kind="finished"):
    """The job is done: the digest of its result, all that was opened, and what all its sessions sent."""

    outcome: Digest
    repeats: Text = ""  # the earlier job on the same tables, whose result it returned
    opened: dict[Text, Size]
    bytes_sent: Size
    bytes_received: Size
    rounds: Size


class Failed(Fields, kind="failed"):
    """The job failed. See `failure` for `error` and `why`."""

    error: Annotated[str, Field(pattern=r"^\w+$", max_length=80)]
    why: Text = ""
    bytes_sent: Size = 0
    bytes_received: Size = 0


class Cancelled(Named, kind="cancelled"):
    """A party ended the job before its end."""

    by: Side
    why: Text = ""
    bytes_sent: Size = 0
    bytes_received: Size = 0


class BothSigned(Fields, kind="signed"):
    """Both parties signed the result of the job, each with the head of its own log."""

    ours: Signed
    theirs: Signed
    peer_fingerprint: Fingerprint | None = None  # else that of the node's last start


class Withdrawn(Named, kind="withdrawn"):
    """A party has withdrawn the result of the job: its word, signed for the job of this digest."""

    by: Side
    signer: Fingerprint
    digest: Digest
    word: Withdrawal


class Archived(Fields, kind="archived"):
    """The job has left: its entries before this one are empty, but for what it has spent; a file had their content.

    `content` is SHA-256 of the job's lines in that file, `empty` that of what is left of the entries (`chain.emptied`).
    The purpose leaves: people typed it.
    """

    peer: Text
    protocol: Text
    table: Text = ""  # ours; empty in entries from before it was told
    digest: Digest  # of the public job
    entries: Size
    empty: Digest
    content: Digest


class PinRevoked(Named, kind="pin revoked"):
    """From this entry on no link is made with this certificate of a peer's."""

    peer: Text
    peer_fingerprint: Fingerprint
    why: Text = ""


class PinReplaced(Fields, kind="pin replaced"):
    """The peer has come with the certificate that its former key has named: that one counts from here on."""

    peer: Text
    former_fingerprint: Fingerprint
    peer_fingerprint: Fingerprint


class Published(Fields, kind="published"):
    """A command wrote something of our table for others, or destroyed a subject's key: of whom is told nowhere."""

    what: Literal["anonymise", "apply", "invariant", "pseudonyms", "mask", "protect", "table", "forget"]
    table: Text  # by our name in party.toml, or else where its rows are
    purpose: Text = ""
    columns: list[Text] = []  # those that are told, recoded or not
    protection: list[Text] = []  # the models or rules that were kept
    digest: Digest | None = None  # of the published file
    into: Text = ""  # the table of the same database that was published instead


class RightsRequest(Named, kind="rights"):
    """A person's request about a table of ours was answered: of whom is told nowhere; `case` is the owner's number."""

    what: Request
    table: Text
    case: Text = ""


class BreachStep(Named, kind="breach"):
    """What was done about a breach of our data: `known` is from when the 72 hours count, of the first step."""

    breach: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    step: Step
    text: Text
    known: Text = ""  # ISO 8601, UTC
    tables: list[Text] = []


class Reviewed(Named, kind="reviewed"):
    """One of our people has looked at a job that was permitted for an emergency, and says what came out."""

    text: Text


def failure(error: BaseException) -> dict[str, str]:
    """Return `error` and `why` of a failed job: the text of an error only if it cannot quote a party's own data."""
    public = isinstance(error, LinkError | JobMismatchError)
    return {"error": type(error).__name__, "why": str(error) if public else ""}
