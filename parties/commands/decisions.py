"""Decisions of an operator: `smc approve`, `refuse` and `cancel`."""

from __future__ import annotations

from parties.base import console
from parties.base.report import Report
from parties.commands import job_text
from parties.commands.node_options import node_of
from parties.commands.operator import job_argument, job_report
from parties.commands.options import require_confirmation
from parties.commands.proposed import input_options, read_inputs
from parties.commands.signature import command, option, settings
from parties.operator.accounts import unix_user
from parties.operator.cautions import more_than_usual, question
from parties.operator.client import NodeClient
from parties.operator.interface import JobView
from smc.errors import InputError

BRIEF = 2  # reasons that an error line names


@command(example="smc approve 3f2a")
def approve(
    job: str = job_argument,
    inputs: tuple[str, ...] = input_options,
    yes: bool = option("Approve even a job that reveals more than earlier jobs on the table."),
    node: NodeClient = settings(node_of),
) -> Report:
    """Approve a job that waits for your consent. Look at it with smc show first.

    A job that reveals more than earlier jobs on the table needs a second consent. A terminal asks you; elsewhere give
    --yes.

    Give your private values with --input. They are never stored. If the node stops in the middle of the job, approve
    the job once more.
    """
    view = node.job(job)
    for remark in view.remarks:
        console.err.print(job_text.shown(remark))
    if view.price is not None and view.price.effect:
        console.err.print(job_text.shown(view.price.effect))
    fits = view.price is None or view.price.fits  # otherwise the node refuses, with the reason
    if not yes and fits and (more := more_than_usual(node, view)) and _may_approve(node, view):
        if not console.is_asked():  # then all is one line
            others = f"Further reasons: {len(more) - BRIEF}; see smc show {job_text.short(view.id)}."
            more = [job_text.shown(one, 120) for one in more[:BRIEF]] + [others] * (len(more) > BRIEF)
        lines = map(job_text.shown, (question(view), *more))
        require_confirmation([*lines], "Approve anyway?", "the job was not approved and still waits")
    return job_report(node.approve(view.id, read_inputs(view.protocol, inputs)))


@command(example="smc refuse 3f2a --why 'the purpose is not covered by our agreement'")
def refuse(
    job: str = job_argument,
    why: str = option(
        "Reason, sent to the peer  [the obstacle that the node found, or 'the operator gave no reason']",
        "TEXT",
        default="",
    ),
    node: NodeClient = settings(node_of),
) -> Report:
    """Refuse a job."""
    return job_report(node.refuse(job, why), wanted="refused")


@command(example="smc cancel 3f2a --why 'wrong table'")
def cancel(
    job: str = job_argument,
    why: str = option("Reason, sent to the peer.", "TEXT", default=""),
    node: NodeClient = settings(node_of),
) -> Report:
    """Cancel a job that you proposed, or stop a job that runs."""
    return job_report(node.cancel(job, why), wanted="cancelled")


def _may_approve(node: NodeClient, job: JobView) -> bool:
    """Return whether this user can probably approve the job; if wrong, the node refuses with a reason."""
    from parties.commands.log_writing import accounts_of  # slow to load

    try:
        person = accounts_of(node.state).of_unix(unix_user())
    except InputError:
        if console.is_asked():
            raise
        return True  # the node reports the error, or has the passphrase, which cannot be asked for here
    return job.approvals == 1 if person is None else person.has("approve") and not job.stands(person.name)
