"""Comparison of a job with the templates of this party's file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from parties.jobs.kind import Inputs, Kind
from parties.jobs.settings import public_parameters
from parties.link import handshake
from parties.node.policy.templates import ALIGNMENT, Template
from parties.node.proposal import Proposal, propose, read_job
from smc.errors import InputError

OF_MACHINES = "max_rows"  # each party states its own; `misfit` checks that it suffices


def differences(
    job: Proposal, party: int, templates: Mapping[str, Template], inputs: Callable[[int, str], Inputs]
) -> dict[str, str]:
    """Return by template the first setting in which a job differs from its question; empty if the job is the question.

    Args:
        job: The job.
        party: Number of this party in it.
        templates: The templates of this party.
        inputs: Returns its inputs as a party of the job, with a table.
    """
    return {name: _difference(job, party, template, inputs) for name, template in templates.items()}


def _difference(job: Proposal, party: int, template: Template, inputs: Callable[[int, str], Inputs]) -> str:
    """Return a difference from the template's question, with the public schema and settings of this party."""
    task, table = job.task, job.tables[party]
    if job.holding is not None:
        return "holders: no template permits a job with holders"
    if why := _first({"protocol": task.name, "table": table}, template.model_dump(include={"protocol", "table"})):
        return why
    matched = {ALIGNMENT: task.bounded().get("max_rows", 0)} if getattr(task.settings, ALIGNMENT, None) else {}
    given, bounded = (
        {key: some.get(key) for key in template.parameters} for some in (task.parameters(), task.bounded() | matched)
    )
    if why := _first({"purpose": job.purpose}, {"purpose": template.purpose}) or template.objection(bounded):
        return why
    if matched and ALIGNMENT not in template.job(given):
        return f"{ALIGNMENT}: the template has none; add it to its parameters"
    try:
        meant = propose(read_job(template.job(given)), inputs(party, table)).task
    except InputError as error:
        return str(error)
    return _first(_compared(task), _compared(meant))


def _first(job: Mapping[str, Any], template: Mapping[str, Any]) -> str:
    found = [] if job == template else [*handshake.differences(template, job, ("the template", "the job")), "schema"]
    return min(found, key=lambda one: one.startswith("schema"), default="")  # it follows from the settings


def _compared(task: Kind) -> dict[str, Any]:
    """Return a task's specification without the choices that only its computation knows."""
    apart = {one.key for one in public_parameters(task.Settings) if one.is_engine} | {OF_MACHINES}
    return {key: value for key, value in task.specification().items() if key not in apart}
