"""Least squares and ridge of one's own rows: the joint program, with a peer in this process that has no rows."""

from __future__ import annotations

import numpy as np

from parties.jobs.kind import Document
from parties.jobs.regress.joint import RegressJoint
from parties.jobs.regress.method import Opened
from parties.jobs.regress.settings import RegressSettings
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session


def own_squares(settings: RegressSettings) -> Document:
    """Return the model of a file's rows, from their second moments with noise. `InputError` as of a job.

    Rows are read in pieces. Noise is of the circuit's law, drawn by its bits: as exact as between two parties. The
    engine protects nothing, and nobody is there to be protected from.
    """
    task, moments, _ = RegressJoint.alone(settings, 0)

    def party(session: Session) -> Opened:
        brought = moments if session.party == 0 else np.zeros_like(moments)
        return task.run(engine_of(session, Profile("clear")), brought, task.beginning, lambda step: None)

    state, _ = run_local(party)
    return task.document(state)
