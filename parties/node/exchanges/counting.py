"""Agreement of two nodes that the bits of a step with exact answers fit both tables' bounds.

The number of bits is public. If they do not fit at one party, neither party begins the step. Then nothing of the step
is opened or charged.
"""

from __future__ import annotations

import numpy as np

from parties.jobs.kind import Step
from smc.errors import InputError, JointRefusalError, ProtocolError
from smc.session import Session

ROUNDS, BYTES = 1, 2  # cost of `agree`, both ways
TOO_MUCH, FITS, HOLDER_LACKS = range(3)  # answers about a step's bits


class BitsError(InputError):
    """The bits of a step exceed the rest of our table's bound."""


class PastBitsError(JointRefusalError):
    """The next step of a run would open more bits than a table has left; both parties learn it before the step."""


def in_words(bits: int) -> str:
    """Return a number of bits as text."""
    return f"{bits:,} {'bit' if bits == 1 else 'bits'} of exact answers"


def agree(session: Session, step: Step, bits: int, fits: bool, holders_fit: bool | None = None) -> None:
    """Compare with the peer whether the step's bits fit both parties' bounds.

    Args:
        session: Session with the peer.
        step: The step that is about to begin.
        bits: Bits that it opens at most.
        fits: Whether they fit this party's bounds.
        holders_fit: Whether they fit the bounds of all holders; None in a job of two parties.

    Raises:
        PastBitsError: The bits do not fit at one party at least.
        ProtocolError: The peer's answer is neither yes nor no.
    """
    ours = HOLDER_LACKS if holders_fit is False else FITS if fits else TOO_MUCH
    with session.phase("checkpoint"):
        session.send("checkpoint.bits", np.array([ours], dtype=np.uint8))
        theirs = int(session.receive("checkpoint.bits", np.uint8, (1,))[0])
    if theirs > (FITS if holders_fit is None else HOLDER_LACKS):
        raise ProtocolError("the peer's answer about a step's bits is neither yes nor no")
    both = (ours, theirs) if session.party == 0 else (theirs, ours)
    if both != (FITS, FITS):
        lacking = [str(party) for party, answer in enumerate(both) if answer == TOO_MUCH]
        where = "the table of a holder"
        if HOLDER_LACKS not in both:
            where = f"the table of party {' and that of party '.join(lacking)}"
        raise PastBitsError(
            f"stopped before {step.words or 'it began'}, which opens up to {in_words(bits)}: {where} has fewer left "
            "(bits in its budget); ask a smaller question, or use noise"
        )
