"""Results of finished jobs as both parties sign them, and their traffic."""

from __future__ import annotations

import hashlib
from typing import Any

from parties.base.canonical import canonical
from parties.jobs.kind import State
from parties.node.proposal import Proposal
from smc.meter import Cost

TRAFFIC = ("bytes_sent", "bytes_received", "rounds")


def result(job: Proposal, state: State, repeats: str = "") -> dict[str, Any]:
    """Return the document that both parties sign: job, digest of its result, opened values, and the repeated job.

    Args:
        job: The job.
        state: Final state of the job.
        repeats: Identifier of the earlier job whose result it repeats.
    """
    return {
        "job": job.id,
        "digest": job.digest,
        job.task.about.noun: hashlib.sha256(canonical(job.task.document(state)).encode()).hexdigest(),
        "opened": job.task.disclosure.opened(state),
        **({"repeats": repeats} if repeats else {}),
    }


def traffic(total: Cost) -> dict[str, int]:
    """Return the traffic of a session's cost, as the records keep it: bytes sent and received, and rounds."""
    return {name: getattr(total, name) for name in TRAFFIC}


def added(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    """Return the sum of two traffics.

    Args:
        left: First traffic.
        right: Second traffic.
    """
    return {name: left.get(name, 0) + right.get(name, 0) for name in TRAFFIC}
