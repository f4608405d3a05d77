"""`smc forget`: withdrawal of joint results from a table whose rows must not count any more."""

from __future__ import annotations

from pathlib import Path

from parties.base.report import Report
from parties.commands import job_text
from parties.commands.node_options import NODE_CONFIG, STATE, node_of
from parties.commands.operator import job_report
from parties.commands.options import known_table
from parties.commands.signature import command, option
from parties.jobs import kinds
from parties.jobs.settings import private_parameters
from parties.operator.client import NodeClient
from parties.operator.interface import JobView
from smc.errors import InputError

PAGE = 500  # jobs requested at a time
WITHDRAWN = "both parties' records have the withdrawal; copies made before remain."
AGAIN = " To learn it without those rows, remove them from the table, then:  smc forget --job {job} --again"


@command(example="smc forget --job 3f2a --why 'erasure of a patient, art. 17'")
def forget(
    table: str | None = option("List the results learnt from this table of yours.", "NAME"),
    job: str | None = option("Withdraw the result of this job: first digits of its identifier, or latest.", "JOB"),
    why: str = option("Reason, sent to the peer; name no person  [required with --job alone]", "TEXT", default=""),
    again: bool = option("With --job, once it is withdrawn: propose the same job again."),
    config_file: Path | None = NODE_CONFIG,
    state: Path | None = STATE,
) -> Report:
    """List the results learnt from a table, withdraw a result, or learn it again.

    A withdrawal is a signed statement in both parties' records. A result cannot forget a row: it is marked as not to be
    used. You then learn it again without the row, under the present rules and budget. Budget spent on the first result
    stays spent.
    """
    if (table is None) == (job is None):
        raise InputError("--table: give either --table, to list its results, or --job, to withdraw a result")
    if job is None and again:
        raise InputError("--again: goes with --job; add --job JOB")
    if why and (job is None or again):
        raise InputError("--why: is the reason of a withdrawal; give --job without --again")
    if job is not None and not again and not why.strip():
        raise InputError("--why is missing: a withdrawal is permanent, and both parties' records keep its reason")
    node = node_of(config_file, state)
    if job is None:
        return _list(node, str(table))
    if again:
        before = node.job(job)
        if not before.withdrawn:
            raise InputError(f"job {job_text.short(before.id)}: withdraw its result first, with smc forget --job")
        return job_report(node.repeat(before.id))
    view = node.withdraw(job, why)
    report = job_report(view)
    is_typed = not view.table and private_parameters(kinds.find(view.protocol).Settings)
    if report.failure is None:
        report.note(WITHDRAWN + ("" if is_typed else AGAIN.format(job=job_text.short(view.id))))
    return report


def _list(node: NodeClient, table: str) -> Report:
    """Return the results learnt from a table of this party; raise InputError if there is no such table."""
    known_table(table, node.node().tables)
    learnt = [view for view in _done(node) if view.table == table]
    report = job_text.listing(learnt)
    withdraw = "withdraw one:  smc forget --job JOB --why TEXT"
    report.note(withdraw if learnt else "no joint result was learnt from it", always=False)
    return report


def _done(node: NodeClient) -> list[JobView]:
    views: list[JobView] = []
    while page := node.jobs(PAGE, views[-1].id if views else None, ("done",)):
        views += page
        if len(page) < PAGE:
            break
    return views
