"""A job on the rows of one table: the joint program, with a peer in this process that has no rows."""

from __future__ import annotations

from typing import Any

from parties.jobs.kind import Kind, OnStep, State
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

NEVER = 30 * 24 * 3600.0  # seconds of silence: the two threads wait only for each other


def run_alone(task: Kind, data: Any, on_step: OnStep = lambda step: None) -> State:
    """Return the final state of a task on these rows.

    The noise follows the circuit's law, drawn from its bits: it is as exact as between two parties. The engine protects
    nothing, because there is no second party.

    Args:
        task: A task whose answer makes sense on one table.
        data: The rows of this party, as the task's `run` takes them.
        on_step: Called with each step before it begins.
    """
    no_rows, profile = task.of_nobody(), Profile("clear")

    def party(session: Session) -> State:
        rows, steps = ((data, on_step), (no_rows, lambda step: None))[session.party]
        return task.run(engine_of(session, profile), rows, task.states.beginning, steps)

    return run_local(party, NEVER, kernels=profile.kernels)[0]
