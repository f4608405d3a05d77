"""What two nodes tell each other before a step that opens exact answers: do its bits fit what is left at both?

How many they are is public. If they do not fit at one party, the step does not begin at either: nothing is opened of
it, and nothing is charged for it.
"""

from __future__ import annotations

import numpy as np

from parties.jobs.kind import Step
from smc.errors import InputError, JointRefusalError, ProtocolError
from smc.session import Session

ROUNDS, BYTES = 1, 2  # what `agree` costs, both ways


class BitsError(InputError):
    """A step whose bits do not fit what is left of our table's bound."""


class PastBitsError(JointRefusalError):
    """A run of which the next step would open more bits than a party's table has left; both know it before the step."""


def in_words(bits: int) -> str:
    """Say how many bits."""
    return f"{bits:,} {'bit' if bits == 1 else 'bits'} of exact answers"


def agree(session: Session, step: Step, bits: int, fits: bool) -> None:
    """Tell the peer whether the step's bits fit here. `PastBitsError` unless they do at both."""
    with session.phase("checkpoint"):
        session.send("checkpoint.bits", np.array([fits], dtype=np.uint8))
        theirs = int(session.receive("checkpoint.bits", np.uint8, (1,))[0])
    if theirs > 1:
        raise ProtocolError("the peer says neither that a step's bits fit nor that they do not")
    both = (fits, bool(theirs)) if session.party == 0 else (bool(theirs), fits)
    if lacking := [str(party) for party, enough in enumerate(both) if not enough]:
        where = f"the table of party {' and that of party '.join(lacking)}"
        raise PastBitsError(
            f"stopped before {step.words or 'it began'}, which opens up to {in_words(bits)}: {where} has fewer left "
            "(bits in its budget); ask for less, or with noise"
        )
