"""A job on the rows of one table: the joint program, with a peer in this process that has no rows."""

from __future__ import annotations

from typing import Any

from parties.jobs.kind import Kind, OnStep, State
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

DAY = 86_400.0  # seconds; the two threads wait only for each other


def run_alone(task: Kind, data: Any, on_step: OnStep = lambda step: None) -> State:
    """Return the final state of a task on these rows.

    The noise follows the circuit's law, drawn from its bits: it is as exact as between two parties. The engine protects
    nothing, because there is no second party.

    Args:
        task: A task whose answer makes sense on one table.
        data: The rows of this party.
        on_step: Called with each step before it begins.
    """
    if not task.runs_alone:
        raise NotImplementedError(f"{task.name} needs two parties")
    no_rows = task.of_nobody()

    def party(session: Session) -> State:
        rows, steps = ((data, on_step), (no_rows, lambda step: None))[session.party]
        return task.run(engine_of(session, Profile("clear")), rows, task.states.beginning, steps)

    return run_local(party, DAY)[0]
