"""Comparison of a job with the permit of an authority under which it is proposed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509

from parties.base.text import instead, listed, quoted
from parties.jobs.spending import Loss, exact
from parties.link.identity import load_certificate
from parties.node.budget.account import SLACK
from parties.node.budget.composition import composed, epsilon_of
from parties.node.proposal import Proposal
from parties.node.records import permit as records
from parties.node.records.permit import Permit
from parties.node.settings import NodeFile
from smc.errors import InputError

REQUIRED = "the job names no permit, which permits.required demands"


@dataclass(frozen=True)
class Permits:
    """The authorities that this party accepts, and the folder of the permits under which it proposes."""

    issuers: tuple[x509.Certificate, ...] = ()
    required: bool = False
    folder: Path | None = None

    @classmethod
    def of(cls, file: NodeFile) -> Permits:
        """Return the table [permits] of a node's file. Raise InputError if a certificate cannot be read."""
        settings = file.permits
        return cls(tuple(map(load_certificate, settings.issuers)), settings.required, settings.folder)

    def named(self, identifier: str) -> Permit:
        """Return the permit that a job file names.

        Raises:
            InputError: The folder has no such permit, or several.
        """
        if self.folder is None:
            raise InputError("permit: party.toml names no folder of permits; set folder under [permits]")
        there = [records.load(path) for path in sorted(self.folder.glob("*.json"))]
        found = [permit for permit in there if permit.id == identifier]
        if len(found) > 1:
            raise InputError(f"permit: {self.folder} has {len(found)} files of permit {quoted(identifier)}; keep one")
        if not found:
            names = instead(identifier, [permit.id for permit in there])
            raise InputError(f"permit: {self.folder} has no permit {quoted(identifier)}{names}")
        return found[0]

    def objection(self, job: Proposal, party: int, proposer: str, at: datetime, epsilon: float) -> str:
        """Return why no permit allows a job; empty if its permit does, or it needs none.

        Args:
            job: The job.
            party: Number of this party in the job.
            proposer: Fingerprint of the proposer's certificate, in a job of two parties.
            at: The time, aware.
            epsilon: Privacy loss of all jobs under the permit at this party, with this one, at its delta.
        """
        permit, holding = job.permit, job.holding
        proposer = proposer if holding is None else holding.nodes[job.proposer]
        if permit is None:
            return REQUIRED if self.required else ""
        why = permit.flaw(self.issuers, at) or next(_uncovered(permit, job, party, proposer, epsilon), "")
        return why and f"permit {quoted(permit.id)}: {why}"


def epsilon_of_uses(uses: Sequence[Loss], delta: float) -> float:
    """Return the epsilon of some losses together at a delta; infinite if they need more delta.

    Args:
        uses: The losses.
        delta: Delta of all together.
    """
    loss = composed(uses, "add-remove", 1)
    left = exact(delta) - loss.delta
    return math.inf if left < 0 else float(loss.epsilon) if loss.is_pure else epsilon_of(loss, left)


def _uncovered(permit: Permit, job: Proposal, party: int, proposer: str, epsilon: float) -> Iterator[str]:
    """Yield in words what of the job the permit does not cover."""
    task, table = job.task, job.tables[party]
    if job.purpose != permit.purpose:
        yield f"it is for the purpose {quoted(permit.purpose)}, not {quoted(job.purpose)}"
    if proposer not in permit.holders:
        yield f"its holders do not include the proposer {proposer[:23]}"
    if task.name not in permit.kinds:
        yield f"it covers {listed(permit.kinds)}, not {quoted(task.name)}"
    if table and table not in permit.tables:
        yield f"it does not cover the table {quoted(table)}"
    if beyond := [name for name in task.columns_read if name not in permit.columns]:
        yield f"it does not cover the columns {listed(beyond)}"
    if permit.epsilon is not None and task.disclosure.past_budget:
        yield "it bounds epsilon, and the job opens values without noise"
    if permit.epsilon is not None and epsilon > permit.epsilon * (1 + float(SLACK)):
        spent = "more delta" if math.isinf(epsilon) else f"epsilon {epsilon:.6g}"
        yield f"it allows {permit.bound} in all, and with this job {spent} would be spent"
