"""The kinds of log entries, and the exact fields of each.

An entry holds names, public parameters, digests, numbers of bytes, and the number of opened values of each kind; the
tree of a job implies the last. No field can hold a row, a count of rows, a share or a key. Text that may quote private
data, such as an error in a party's own input, is recorded by its name only.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from parties.node.records.statements import Committed, Signed, Withdrawal
from smc.errors import JobMismatchError, LinkError

MAX_TEXT = 2000
PEER_FAILED = "PeerFailed"  # stands for the name of an error that the peer does not reveal

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
    "declared",
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
    """Cut a text to at most `MAX_TEXT` characters: a long reason must not cost the entry."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


# GDPR art. 15 and 20, 16, 17, 18, 21.
Request: TypeAlias = Literal["access", "rectification", "erasure", "restriction", "objection", "objection withdrawn"]
# GDPR art. 33 and 34: "authority told" is the supervisory authority, "peer told" the other controller.
Step: TypeAlias = Literal["found", "noted", "authority told", "people told", "peer told", "closed"]
Text: TypeAlias = Annotated[str, AfterValidator(_cut)]
Size: TypeAlias = Annotated[int, Field(ge=0)]
NotNegative: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FINGERPRINT = r"^([0-9A-F]{2}:){31}[0-9A-F]{2}$"
Fingerprint: TypeAlias = Annotated[str, Field(pattern=FINGERPRINT)]
Side: TypeAlias = Literal["us", "peer"] | Fingerprint  # of a job with holders: all participants but two by fingerprint


FIELDS: dict[str, type[Fields]] = {}  # by kind of entry


class Fields(BaseModel):
    """Base class for the fields of one kind of entry. A field that the class does not declare is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    kind: ClassVar[EntryKind]

    def __init_subclass__(cls, kind: EntryKind | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if kind is not None:
            cls.kind, FIELDS[kind] = kind, cls


class Blinded(Fields):
    """Fields of this party alone: the random `blind` keeps a peer, which sees hashes, from guessing the content."""

    blind: Text = ""


class Named(Blinded):
    """Fields of an action by one of our people: `person` is the name, empty without named operators."""

    person: Text = ""


class NodeStarted(Blinded, kind="node started"):
    """The node runs, with this certificate.

    `rows` are the locations of each table's rows: a path or a database, and a table there. `same_rows` are the other
    names whose charges count for a table: those of renamed tables, and of tables that set `same_rows_as`.
    """

    version: Text
    fingerprint: Fingerprint
    peer_fingerprint: Fingerprint | None = None  # if there is only one peer
    peer_fingerprints: list[Fingerprint] = []  # if there are several
    tables: list[Text] = []  # by our names
    rows: dict[Text, list[list[Text | None]]] = {}
    same_rows: dict[Text, list[Text]] = {}
    state: Size = 0  # the number of the stored state (`database.STATE`); 0: before it was recorded


class NodeStopped(Fields, kind="node stopped"):
    """The node stopped regularly, in contrast to a crash."""

    why: Text = ""


class Renewed(Fields, kind="renewed"):
    """From this entry on the log is signed with another certificate."""

    former_fingerprint: Fingerprint
    fingerprint: Fingerprint


class Connected(Fields, kind="connected"):
    """The peer's node is connected."""

    peer: Text
    fingerprint: Fingerprint
    address: Text | None = None
    tls: Text = ""  # version, if our end knows it
    group: Text = ""  # of the key exchange


class Disconnected(Fields, kind="disconnected"):
    """The peer's node is no longer connected."""

    peer: Text = ""
    why: Text = ""


class TurnedAway(Fields, kind="turned away"):
    """The node itself refused a proposal of the peer's, and kept nothing of it. The peer may get a shorter reason."""

    peer: Text
    peer_fingerprint: Fingerprint
    why: Text


class LogInFailed(Named, kind="log-in failed"):
    """A failed log-in to the page; `person` is the typed name, if it is that of an account."""

    why: Text


class Operators(Named, kind="operators"):
    """An account of our people was changed: its name and present rights, and the acting person, if named."""

    what: Literal["added", "changed", "password", "removed"]
    name: Text
    roles: list[Text] = []
    unix: Text = ""
    oidc: Text = ""
    digest: Digest | None = None  # of all accounts after the change, which reveals an older file


class RepeatedEvent(Fields, kind="repeated"):
    """Folded events of one kind: their number, the times of the first and last, and the last one's reason."""

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
    """The operator accepted the loss, and the node continues."""


class Proposed(Named, kind="proposed"):
    """A job was proposed: the proposer, and all public fields of the job."""

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
    permit: Text = ""  # issuer and identifier of the authority's permit; `digest` covers the whole of it
    exact: Text = ""  # meaning of a joint number that is opened without noise, if there is one
    computes: list[Fingerprint] = []  # of a job with holders: who computes, who gives rows, who gets the result
    gives: list[Fingerprint] = []
    learns: list[Fingerprint] = []


class Approved(Named, kind="approved"):
    """One of our people approved the job, `given` of `needed` people so far, the proposer included."""

    given: Size
    needed: Size


class Decided(Named, kind="decided"):
    """A party approved or refused the job: `by` is as in `Verdict`, or `decision point` for our refusal."""

    party: Side
    verdict: Literal["approved", "refused"]
    by: Text
    reason: Text = ""


class Started(Fields, kind="started"):
    """A session of the job began, at this depth of the tree: 0, or where an interrupted job goes on."""

    digest: Digest
    depth: Size = 0
    profile: Text = ""
    address: Text | None = None


class BothCommitted(Fields, kind="committed"):
    """Both parties committed to their rows for the job, when its first session began."""

    ours: Committed
    theirs: Committed


class Loss(Fields):
    """A noisy mechanism used a number of times; see `parties.jobs.spending.Loss`."""

    mechanism: Text
    delta: NotNegative = 0.0
    adjacency: Literal["add-remove", "replace"]
    times: Size = 1


class PureLoss(Loss):
    """A mechanism whose single use has this epsilon, and the inherited `delta`."""

    epsilon: NotNegative


class ConcentratedLoss(Loss):
    """A mechanism whose single use has this rho, and the inherited `delta`."""

    rho: NotNegative


class Charge(Fields, kind="spent"):
    """The job was charged to our table's privacy budget: once, when it was first computed, for any outcome.

    Windows of the budget take `counts_from` as the time of the charge.
    """

    table: Text  # ours
    peer: Text
    peer_fingerprint: Fingerprint
    counts_from: Text  # ISO 8601, UTC: start in budget windows; not before any time that is certain to be past
    uses: list[PureLoss | ConcentratedLoss]
    person: Text = ""  # column or SQL of party.toml that identifies a row's person; empty: the loss is per row
    permit: Text = ""  # issuer and identifier of the permit of the job


class BitsCharge(Fields, kind="counted"):
    """A step of the job opens at most `bits` bits of exact answers about our table. The entry precedes the step.

    If a session ends before the step, an entry charges the bits reserved for it, at least one. A later session charges
    the remainder.
    """

    table: Text  # ours
    peer: Text
    peer_fingerprint: Fingerprint
    counts_from: Text  # ISO 8601, UTC, see `Charge`
    depth: Size
    bits: Size


class Declared(Fields, kind="declared"):
    """A participant of a job with holders made this statement, signed with the key of this certificate.

    `said` is the statement without the proposal, which `digest` names. Our own entries have only
    its changed fields, and no signature.
    """

    party: Side
    digest: Digest
    said: dict[str, Any]


class Opened(Fields, kind="opened"):
    """Values were opened to both parties: the number of each kind."""

    depth: Size | None = None
    opened: dict[Text, Size]


class Interrupted(Fields, kind="interrupted"):
    """A session was cut short, and the job waits for the peer, which may know the values of the level at `depth`."""

    why: Text
    depth: Size = 0
    bytes_sent: Size
    bytes_received: Size


class Finished(Fields, kind="finished"):
    """The job is done: the digest of its result, all opened values, and the traffic of all its sessions."""

    outcome: Digest
    repeats: Text = ""  # the earlier job on the same tables whose result it returned
    opened: dict[Text, Size]
    bytes_sent: Size
    bytes_received: Size
    rounds: Size


class Failed(Fields, kind="failed"):
    """The job failed. `error` names the exception; `why` is its text, or empty if it might quote private data."""

    error: Annotated[str, Field(pattern=r"^\w+$", max_length=80)]
    why: Text = ""
    bytes_sent: Size = 0
    bytes_received: Size = 0


class Cancelled(Named, kind="cancelled"):
    """A party cancelled the job."""

    by: Side
    why: Text = ""
    bytes_sent: Size = 0
    bytes_received: Size = 0


class BothSigned(Fields, kind="signed"):
    """Both parties signed the result of the job, each with the head of its own log."""

    ours: Signed
    theirs: Signed
    peer_fingerprint: Fingerprint | None = None  # otherwise that of the node's last start


class Withdrawn(Named, kind="withdrawn"):
    """A party has withdrawn the result of the job: its statement, signed for the job of this digest."""

    by: Side
    signer: Fingerprint
    digest: Digest
    word: Withdrawal


class Archived(Fields, kind="archived"):
    """The job was archived: its earlier entries are empty, except its charges; a file has their content.

    `content` is SHA-256 of the job's lines in that file, `empty` that of the remainder of the entries
    (`chain.emptied`). The purpose is archived, too, since people typed it.
    """

    peer: Text
    protocol: Text
    table: Text = ""  # ours; empty in entries from before it was recorded
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
    """The peer has connected with the certificate that its former key announced. It is trusted from here on."""

    peer: Text
    former_fingerprint: Fingerprint
    peer_fingerprint: Fingerprint


class Published(Fields, kind="published"):
    """A command published data of our table, or destroyed a subject's key; the subject is recorded nowhere."""

    what: Literal["anonymise", "apply", "invariant", "pseudonyms", "mask", "protect", "table", "forget"]
    table: Text  # by our name in party.toml, or else the location of its rows
    purpose: Text = ""
    columns: list[Text] = []  # the published columns, recoded or not
    protection: list[Text] = []  # the models or rules that were kept
    digest: Digest | None = None  # of the published file
    into: Text = ""  # the table of the same database that was published instead


class RightsRequest(Named, kind="rights"):
    """A person's request about our table was answered; the person is not recorded. `case` is our own file number."""

    what: Request
    table: Text
    case: Text = ""


class BreachStep(Named, kind="breach"):
    """A step about a breach of our data: `known`, in the first step, starts the 72 hours."""

    breach: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    step: Step
    text: Text
    known: Text = ""  # ISO 8601, UTC
    tables: list[Text] = []


class Reviewed(Named, kind="reviewed"):
    """One of our people has reviewed a job that was permitted for an emergency; `text` is the finding."""

    text: Text


def failure(error: BaseException) -> dict[str, str]:
    """Return `error` and `why` of a failed job: the text of an error only if it cannot quote a party's own data."""
    public = isinstance(error, LinkError | JobMismatchError)
    return {"error": type(error).__name__, "why": str(error) if public else ""}
