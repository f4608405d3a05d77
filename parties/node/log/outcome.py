"""What a finished job has brought: the result that both parties sign, and what was spent on it."""

from __future__ import annotations

import hashlib
from typing import Any

from parties.base.canonical import canonical
from parties.jobs.kind import State
from parties.node.proposal import Proposal
from smc.meter import Cost

TRAFFIC = ("bytes_sent", "bytes_received", "rounds")


def result(job: Proposal, state: State, repeats: str = "") -> dict[str, Any]:
    """Return what both parties sign: job, digest of its result, what was opened; the job it repeats, if any."""
    return {
        "job": job.id,
        "digest": job.digest,
        job.task.about.noun: hashlib.sha256(canonical(job.task.document(state)).encode()).hexdigest(),
        "opened": job.task.disclosure.opened(state),
        **({"repeats": repeats} if repeats else {}),
    }


def traffic(total: Cost) -> dict[str, int]:
    """Return what the records keep of a session's cost."""
    return {name: getattr(total, name) for name in TRAFFIC}


def added(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    """Return the traffic of both."""
    return {name: left.get(name, 0) + right.get(name, 0) for name in TRAFFIC}
