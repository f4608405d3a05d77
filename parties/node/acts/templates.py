"""Comparison of a job with the templates of this party's file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parties.jobs.kind import Inputs, Kind
from parties.jobs.settings import public_parameters
from parties.node.policy.templates import ALIGNMENT, Template
from parties.node.proposal import Proposal, propose, read_job
from smc.errors import InputError

OF_MACHINES = "max_rows"  # each party states its own; `misfit` checks that it suffices


def fitting(
    job: Proposal, party: int, templates: Mapping[str, Template], inputs: Callable[[int, str], Inputs]
) -> frozenset[str]:
    """Return the names of the templates whose question is exactly that of the job.

    Args:
        job: The job.
        party: Number of this party in it.
        templates: The templates of this party.
        inputs: Returns its inputs as a party of the job, with a table.
    """
    return frozenset(name for name, template in templates.items() if _fits(job, party, template, inputs))


def _fits(job: Proposal, party: int, template: Template, inputs: Callable[[int, str], Inputs]) -> bool:
    """Return whether the job is the template's question, with the public schema and settings of this party."""
    task, table = job.task, job.tables[party]
    if job.holding is not None or (template.protocol, template.table) != (task.name, table):
        return False
    matched = {ALIGNMENT: task.bounded().get("max_rows", 0)} if getattr(task.settings, ALIGNMENT, None) else {}
    given, bounded = (
        {key: some.get(key) for key in template.parameters} for some in (task.parameters(), task.bounded() | matched)
    )
    if job.purpose != template.purpose or template.objection(bounded):
        return False
    try:
        meant = propose(read_job(template.job(given)), inputs(party, table)).task
    except InputError:
        return False
    return _compared(task) == _compared(meant)


def _compared(task: Kind) -> dict[str, Any]:
    """Return a task's specification without the choices that only its computation knows."""
    apart = {one.key for one in public_parameters(task.Settings) if one.is_engine} | {OF_MACHINES}
    return {key: value for key, value in task.specification().items() if key not in apart}
