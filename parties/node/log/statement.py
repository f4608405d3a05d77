"""Statements of nodes about a job, and the job's state as a function of all of them.

A statement holds all decisions and facts of one party about a job. It is complete, and a repetition changes nothing. So
after a crash or a lost link the nodes need not agree on anything: each sends its statements again. The state of a job
is a pure function of the statements of its participants, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from cryptography import x509
from pydantic import BaseModel, ConfigDict, FailFast, StringConstraints, ValidationError, model_validator

from parties.base.canonical import canonical
from parties.base.settings import explained
from parties.base.text import printable
from parties.link.handshake import MAX_JOB_BYTES
from parties.link.identity import Identity
from parties.node.proposal import Proposal
from parties.node.records import Committed, Signed, Withdrawal, check_signature, sign
from parties.node.records.succession import Succession
from parties.operator.interface import State
from smc.errors import ProtocolError

MAX_BYTES = MAX_JOB_BYTES + (256 << 10)  # the job, and all else
MAX_RESULT_BYTES = 8 * 1024  # of signed content: digests, and the numbers of opened values of each kind
MAX_EXPLAINED = 300  # characters about an error in a statement: the peer may have chosen them
MOST_FAULTS = 100  # explained in one statement: an explanation of each key takes 2 KiB
MAX_LINE = 500  # characters of a reason
UNREADABLE = "the peer's statement about a job is unreadable"
OPERATOR, PROPOSER = "operator", "proposer"  # decided by a person of ours: on a job of the peer's, or of ours
BUDGET = "budget"  # refused because a table's privacy budget does not allow it
BY_POINT = "decision point"  # refused because an outside decision point does not permit it
BY_NODE = "node"  # refused because it is impossible here, or for a reason that the peer must not learn
End = Literal["", "cancelled", "failed", "computed"]
Line = Annotated[str, StringConstraints(max_length=MAX_LINE)]
# fields of jobs with holders: statements of two parties are written without them
OF_HOLDERS = ("rows", "paid", "signature", "relayed")
UNSIGNED = {"proposal", "signed", "waits", "settled", "withdrawn", "unheard", "heard", "signature", "relayed"}
FOR_READER = UNSIGNED - {"signature"}  # what a statement has for its reader alone: nobody passes it on


class Relayed(BaseModel):
    """A holder's signed statement, as a computing node passes it on: all but the proposal.

    `certificate` is the one in the job; if the holder has renewed it since, `successor` announces the new one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    certificate: Annotated[str, StringConstraints(max_length=8192)]
    said: dict[str, Any]
    successor: Succession | None = None


class Statement(BaseModel):
    """A party's statement about a job. `why` is the reason of a refusal or an end; it contains nothing private.

    `waits`: the job waits for something of this party's; the peer does not learn why it is missing. `settled`: for this
    party the job has ended. No further statement to this party is needed. `withdrawn`: the signed result must not be
    used any more. `unheard`: the other party has not confirmed the withdrawal. The other party confirms it by its
    `heard`.

    In a job with holders every participant signs its statement. A holder commits to its `rows`, and names the steps
    that its ledger has `paid` for. `relayed` are the statements of holders that a computing node passes on.
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
    rows: Committed | None = None
    paid: Annotated[tuple[int, ...], FailFast()] = ()
    signature: Annotated[str, StringConstraints(pattern="^([0-9a-f]{128})?$")] = ""
    relayed: Annotated[tuple[Relayed, ...], FailFast()] = ()

    @model_validator(mode="after")
    def _signed_if_computed(self) -> Statement:
        needs_result = self.end == "computed" and self.proposal.holding is None  # a holder may not have the result
        if self.signed is None if needs_result else self.signed is not None and self.end != "computed":
            raise ValueError("end = computed needs a signed result, and no other end has one")
        if self.signed is not None and len(canonical(self.signed.result)) > MAX_RESULT_BYTES:
            raise ValueError(f"what is signed has more than {MAX_RESULT_BYTES} bytes")
        if self.signed is None and (self.withdrawn is not None or self.heard):
            raise ValueError("only a signed result can be withdrawn")
        return self

    def to_bytes(self) -> bytes:
        """Return the statement in its form for the wire and the store."""
        fields = self.model_dump(mode="json")
        if self.proposal.holding is None:
            for name in OF_HOLDERS:
                del fields[name]
        return canonical(fields).encode()

    def declared(self) -> dict[str, Any]:
        """Return what the signature covers: the digest of the job, and all fields but those for the reader alone."""
        return {"digest": self.proposal.digest, **self.model_dump(mode="json", exclude=UNSIGNED)}

    def authentic(self, identity: Identity) -> Self:
        """Return the statement with this party's signature, in a job with holders."""
        if self.proposal.holding is None:
            return self
        return self.model_copy(update={"signature": sign(identity, self.declared(), "statement").hex()})

    def is_signed_by(self, certificate: x509.Certificate) -> bool:
        """Return whether the holder of the certificate's key has made the statement about this very job."""
        return check_signature(certificate, self.declared(), bytes.fromhex(self.signature), "statement")

    def said(self) -> dict[str, Any]:
        """Return what others may read of the statement: the signed fields that are set, and the signature."""
        return self.model_dump(mode="json", exclude=FOR_READER, exclude_defaults=True)

    @classmethod
    def from_bytes(cls, data: bytes) -> Statement:
        """Parse a statement, which may be the peer's. Raise ProtocolError if it is invalid."""
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            if error.error_count() > MOST_FAULTS:
                raise ProtocolError(UNREADABLE) from None
            raise ProtocolError(f"{UNREADABLE}: {printable(explained(error, cls))[:MAX_EXPLAINED]}") from None
        except RecursionError:
            raise ProtocolError(UNREADABLE) from None


_VERDICTS = ("waiting", "approved", "refused")
_ENDS = ({""}, {"computed"}, {"cancelled", "failed"})


def takes_back(before: Statement, after: Statement) -> bool:
    """Return whether a later statement takes an earlier one back: verdicts and ends only go forward.

    Args:
        before: The earlier statement.
        after: The later statement.
    """
    ranks = [next(rank for rank, ends in enumerate(_ENDS) if statement.end in ends) for statement in (before, after)]
    return (
        _VERDICTS.index(after.verdict) < _VERDICTS.index(before.verdict)
        or ranks[1] < ranks[0]
        or (ranks[0] == len(_ENDS) - 1 and after.end != before.end)
        or (before.settled and not after.settled)
        or (before.withdrawn is not None and after.withdrawn != before.withdrawn)
        or (before.heard and not after.heard)
        or not {*before.paid} <= {*after.paid}
        or (before.rows is not None and (after.rows is None or after.rows.rows != before.rows.rows))
    )


def state(statements: Sequence[Statement | None], running: bool, begun: bool) -> State:
    """Return the state of a job. A job whose result all have signed is done, whatever a party states later.

    Args:
        statements: The statement of each participant; None if it has made none yet.
        running: Whether a session is under way.
        begun: Whether there has been a session.
    """
    made = [side for side in statements if side is not None]
    if len(made) == len(statements) and all(map(_has_ended_well, made)):
        return "done"
    if any(side.end == "failed" for side in made):
        return "failed"
    if any(side.end == "cancelled" for side in made):
        return "cancelled"
    if any(side.verdict == "refused" for side in made):
        return "refused"
    if running:
        return "running"
    if len(made) < len(statements) or any(side.verdict == "waiting" for side in made):
        return "waiting"
    return "interrupted" if begun else "queued"


def _has_ended_well(side: Statement) -> bool:
    return side.end == "computed" and (side.signed is not None or side.proposal.holding is not None)


def why(statements: Sequence[Statement | None], names: Sequence[str]) -> str:
    """Return the reason for which a job has ended, with the name of the participant that gives it.

    If several participants give a reason, return that of the last one. We are the first participant.

    Args:
        statements: The statement of each participant; None if it has made none yet.
        names: The name of each participant; empty for us.
    """
    for side, name in reversed(list(zip(statements, names, strict=True))):
        if side is not None and side.why and (side.end in ("failed", "cancelled") or side.verdict == "refused"):
            return f"{name}: {side.why}" if name else side.why
    return ""
