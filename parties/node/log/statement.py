"""What the two nodes tell each other of a job: statements, and the state that follows from both.

A statement is all that one party has to say about one job: complete, and the same however often it is sent. So after
a crash or a lost link the nodes need to agree on nothing: each says again what it has to say. The state of a job is
a pure function of the two statements.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from parties.base.canonical import canonical
from parties.base.settings import explained
from parties.base.text import printable
from parties.node.proposal import Proposal
from parties.node.records import Signed, Withdrawal
from parties.operator.interface import State
from smc.errors import ProtocolError

MAX_BYTES = 512 * 1024
MAX_RESULT_BYTES = 8 * 1024  # of what is signed: digests, and how many values of each kind were opened
MAX_EXPLAINED = 300  # characters of what is wrong with a statement: the peer may have named it
MAX_LINE = 500  # characters of a reason
UNREADABLE = "the peer's statement about a job is unreadable"
OPERATOR, PROPOSER = "operator", "proposer"  # who decides: one of our people, about a job of the peer's or of ours
BUDGET = "budget"  # who refuses what a table's privacy budget does not allow
BY_POINT = "decision point"  # who refuses what an outside decision point does not permit
BY_NODE = "node"  # who refuses what is impossible here, or not to be told why
End = Literal["", "cancelled", "failed", "computed"]
Line = Annotated[str, StringConstraints(max_length=MAX_LINE)]


class Statement(BaseModel):
    """A party's word about a job. `why` goes with a refusal or an end; it names nothing private.

    `waits`: the job does not go on before something of this party's is there; the peer is not told why it is not.
    `settled`: for this party the job has ended. To one who says so nothing more needs to be said.
    `withdrawn`: the result, which is signed, is not to be used any more. `unheard`: the other has not said yet that it
    knows, which is `heard` there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    proposal: Proposal
    verdict: Literal["waiting", "approved", "refused"] = "waiting"
    by: Line = ""
    at: Line | None = None
    end: End = ""
    why: Line = ""
    waits: Literal["", "table"] = ""
    signed: Signed | None = None
    settled: bool = False
    withdrawn: Withdrawal | None = None
    unheard: bool = False
    heard: bool = False

    @model_validator(mode="after")
    def _signed_if_computed(self) -> Statement:
        if (self.signed is not None) != (self.end == "computed"):
            raise ValueError("a result is signed, and nothing else is")
        if self.signed is not None and len(canonical(self.signed.result)) > MAX_RESULT_BYTES:
            raise ValueError(f"what is signed has more than {MAX_RESULT_BYTES} bytes")
        if self.signed is None and (self.withdrawn is not None or self.heard):
            raise ValueError("only a result that is signed can be withdrawn")
        return self

    def to_bytes(self) -> bytes:
        """Write it for the wire and the store."""
        return canonical(self.model_dump(mode="json")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Statement:
        """Read it; it may be the peer's, so anything else is a `ProtocolError`."""
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            raise ProtocolError(f"{UNREADABLE}: {printable(explained(error, cls))[:MAX_EXPLAINED]}") from None
        except RecursionError:
            raise ProtocolError(UNREADABLE) from None


_VERDICTS = ("waiting", "approved", "refused")
_ENDS = ({""}, {"computed"}, {"cancelled", "failed"})


def takes_back(before: Statement, after: Statement) -> bool:
    """Return whether a party unsays with the second what it said with the first: verdicts and ends only go forward."""
    ranks = [next(rank for rank, ends in enumerate(_ENDS) if statement.end in ends) for statement in (before, after)]
    return (
        _VERDICTS.index(after.verdict) < _VERDICTS.index(before.verdict)
        or ranks[1] < ranks[0]
        or (ranks[0] == len(_ENDS) - 1 and after.end != before.end)
        or (before.settled and not after.settled)
        or (before.withdrawn is not None and after.withdrawn != before.withdrawn)
        or (before.heard and not after.heard)
    )


def state(ours: Statement, theirs: Statement | None, running: bool, begun: bool) -> State:
    """Return the state of a job. `running`: a session is under way; `begun`: there has been one.

    What both have computed and signed is done, whatever one of them wished afterwards.
    """
    both = [ours] if theirs is None else [ours, theirs]
    if len(both) == 2 and all(side.end == "computed" and side.signed is not None for side in both):
        return "done"
    if any(side.end == "failed" for side in both):
        return "failed"
    if any(side.end == "cancelled" for side in both):
        return "cancelled"
    if any(side.verdict == "refused" for side in both):
        return "refused"
    if running:
        return "running"
    if len(both) < 2 or any(side.verdict == "waiting" for side in both):
        return "waiting"
    return "interrupted" if begun else "queued"


def why(ours: Statement, theirs: Statement | None, peer: str) -> str:
    """Return the reason that a job has ended, and whose it is."""
    for side, who in ((theirs, f"{peer}: "), (ours, "")):
        if side is not None and side.why and (side.end in ("failed", "cancelled") or side.verdict == "refused"):
            return who + side.why
    return ""
