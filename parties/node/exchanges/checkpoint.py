"""Checkpoint of a job: two nodes agree on the last step that both have decided, and go on from it.

They also agree on the openings of the following step that are repeated with stored shares, see `openings`.
"""

from __future__ import annotations

import numpy as np

from parties.jobs.kind import Kind, State, digest
from parties.node.exchanges.openings import Stored, to_repeat
from smc.errors import ProtocolError
from smc.session import Session

ROUNDS, BYTES = 1, 2 * (4 * 8 + 32)  # cost of `common`, both ways; one round and 64 bytes more if a party is behind


def common(session: Session, task: Kind, state: State, stored: Stored) -> tuple[State, Stored]:
    """Return the state at the last step that both parties have decided, and the openings after it to repeat.

    Each party writes a step to disk before it begins the next one. A peer that could go back at will would see several
    results.

    Args:
        session: Session with the peer.
        task: The task.
        state: State of this party.
        stored: Openings that this party has stored.

    Raises:
        ProtocolError: The parties' states differ, or are further apart than those of honest parties can be.
    """
    states = task.states
    steps = states.steps(state)
    with session.phase("checkpoint"):
        levels = steps, stored.step, len(stored.shares), stored.left
        start, our_digest = state, digest(task, state)
        session.send("checkpoint.levels", np.array(levels, dtype=np.int64))
        session.send("checkpoint.digest", np.frombuffer(our_digest, dtype=np.uint8))
        theirs, *their_openings = session.receive("checkpoint.levels", np.int64, (4,)).tolist()
        their_digest = session.receive("checkpoint.digest", np.uint8, (32,)).tobytes()
        if abs(theirs - steps) > 1:
            raise ProtocolError(f"the peer has decided {theirs} levels and this party {steps}; propose the job anew")
        if theirs != steps:
            start = states.cut(state, min(steps, theirs))
            our_digest = digest(task, start)
            session.send("checkpoint.digest", np.frombuffer(our_digest, dtype=np.uint8))
            their_digest = session.receive("checkpoint.digest", np.uint8, (32,)).tobytes()
        if their_digest != our_digest:
            raise ProtocolError(
                f"the two parties' {task.about.noun}s differ above level {states.steps(start)}; propose the job anew"
            )
        if states.is_done(start):
            return start, Stored()
        their_step, their_written, their_left = their_openings
        return start, to_repeat(stored, (their_step, their_written, their_left), states.steps(start))
