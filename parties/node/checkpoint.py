"""The checkpoint of a job: how two nodes find the last step that both have decided, from which a session goes on.

And which openings of the step after it are made by stored shares, see `openings`.
"""

from __future__ import annotations

import numpy as np

from parties.jobs.kind import Kind, State, digest
from parties.node.openings import Stored, to_repeat
from smc.errors import ProtocolError
from smc.session import Session

ROUNDS, BYTES = 1, 2 * (4 * 8 + 32)  # what `common` costs, both ways; a round and 64 bytes more if one is behind


def common(session: Session, task: Kind, state: State, stored: Stored) -> tuple[State, Stored]:
    """Return the state down to the last step that both have decided, and the openings after it to be repeated.

    `ProtocolError` if the two do not have the same there, or are further apart than honest parties can be: each has
    written a step down before the next one is begun. A peer that could go back at will would see several results.
    """
    states = task.states
    steps = states.steps(state)
    with session.phase("checkpoint"):
        levels = steps, stored.step, len(stored.shares), stored.left
        start, known = state, digest(task, state)
        session.send("checkpoint.levels", np.array(levels, dtype=np.int64))
        session.send("checkpoint.digest", np.frombuffer(known, dtype=np.uint8))
        theirs, *their_openings = session.receive("checkpoint.levels", np.int64, (4,)).tolist()
        their_digest = session.receive("checkpoint.digest", np.uint8, (32,)).tobytes()
        if abs(theirs - steps) > 1:
            raise ProtocolError(f"the peer has decided {theirs} levels and this party {steps}: it cannot go on")
        if theirs != steps:
            start = states.cut(state, min(steps, theirs))
            known = digest(task, start)
            session.send("checkpoint.digest", np.frombuffer(known, dtype=np.uint8))
            their_digest = session.receive("checkpoint.digest", np.uint8, (32,)).tobytes()
        if their_digest != known:
            raise ProtocolError(
                f"the two parties' {task.about.noun}s differ above level {states.steps(start)}: the job cannot go on"
            )
        if states.is_done(start):
            return start, Stored()
        their_step, their_written, their_left = their_openings
        return start, to_repeat(stored, (their_step, their_written, their_left), states.steps(start))
