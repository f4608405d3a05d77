"""Follower of a job to its end; the exit code is that of `smc id3`.

0 done; 4 the peer refused it or it was cancelled; 3 it failed at the peer; 2 it was refused or failed here.
"""

from __future__ import annotations

from parties.base import console
from parties.commands import job_text
from parties.operator.client import NodeClient
from parties.operator.interface import ENDED, JobView
from smc.errors import InputError, JobMismatchError, LinkError, SmcError

FOLLOW = "Follow the job to its end; the exit code shows how it ended."


def follow(node: NodeClient, job: JobView) -> JobView:
    """Wait until a job has ended, print a line for each new state and each level, and return the ended job.

    After an interrupt, a line states that the job continues.

    Args:
        node: The node.
        job: The job.
    """
    try:
        return _follow(node, job)
    except KeyboardInterrupt:
        name = job_text.short(job.id)
        stays = (
            f"job {name} continues at both nodes: follow it with smc show {name} --watch, end it with smc cancel {name}"
        )
        console.err.print(stays)
        raise


def _follow(node: NodeClient, job: JobView) -> JobView:
    shown_line = ""
    with console.progress("contacting the node") as progress:

        def changed(now: JobView) -> None:
            nonlocal shown_line
            line = job_text.standing(now)
            if line != shown_line and now.state not in ENDED:
                progress.say(f"job {job_text.short(now.id)}: {line}")
            shown_line = line
            running = now.progress if now.state == "running" else None
            progress.doing(line if running is None else f"{line}: {job_text.advance(running)}")

        return node.follow(job, on_change=changed)


def end_of(job: JobView) -> SmcError | None:
    """Return the error of an ended job; None if it is done or has not ended."""
    line = f"job {job_text.short(job.id)}: {job_text.standing(job)}"
    if job.state not in ENDED or job.state == "done":
        return None
    refused_here = job.state == "refused" and job.ours.verdict == "refused"
    if refused_here or (job.state == "failed" and job.ended_by == "us"):
        return InputError(line)
    return LinkError(line) if job.state == "failed" else JobMismatchError(line)
