"""Requests of an operator to the node on this machine: `smc submit`, `jobs`, `show`, `result`, `web`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from parties.base import console
from parties.base.report import Report
from parties.commands import cost_text, job_text
from parties.commands.following import FOLLOW, end_of, follow
from parties.commands.node_options import node_of, node_options
from parties.commands.options import Command, find_party_file, json_option
from parties.commands.outputs import Outputs, output_options
from parties.commands.proposed import Proposed, at_file
from parties.commands.signature import command, option, settings
from parties.jobs import kinds
from parties.operator.client import NodeClient
from parties.operator.interface import ENDED, JobView, State
from smc.errors import InputError

job_argument: Any = click.argument("job", metavar="JOB")  # first digits of the identifier, or latest


def _submit_options(command: Command) -> Command:
    return click.option("--wait", is_flag=True, help=FOLLOW)(node_options(command))


def _submit(job: dict[str, Any], file: Path | None, wait: bool, config_file: Path | None, state: Path | None) -> Report:
    """Propose a job to a peer: a job file, or a kind of job with its settings as flags.

    JOB.toml sets protocol = "KIND" (default: id3) and table = "YOURS" if the job reads rows. Add peer_table if the
    peer's table has another name, and peer = "NAME" if you have several peers. purpose = "WHY" is optional, but rules
    and the peer's operator may refuse a job without it. Add the settings of the kind, such as target, tolerance,
    max_depth and engine for id3. Give your private values with --input.

    Exit codes with --wait: 0 done, 2 refused or failed here, 3 failed at the peer or no node answers, 4 refused by the
    peer or cancelled.
    """
    node = node_of(config_file, state)
    with at_file(file):
        view = node.submit(job)
    if view.state not in ENDED:
        console.err.print(cost_text.expected(view.cost))
    for line in _link_troubles(node, view):
        console.err.print(line)
    return job_report(follow(node, view) if wait else view)


submit = Proposed("submit", "Propose this job to the peer.", _submit, _submit_options)


@command(example="smc jobs --only waiting")
def jobs(
    only: State | None = option("Only jobs in STATE, such as done.", click.Choice(get_args(State)), metavar="STATE"),
    last: int = option("Maximum number of jobs  [50]", click.IntRange(1, 500), default=50),
    before: str | None = option("List only jobs older than this job.", "JOB"),
    node: NodeClient = settings(node_of),
) -> Report:
    """List the last jobs, newest first. Jobs that wait for your consent or input come before them, marked with !."""
    views = node.jobs(last + 1, before, () if only is None else (only,))
    chosen = views[:last]
    report = job_text.listing(chosen)
    if not chosen:
        none = "no job yet; propose one with smc submit JOB.toml"
        report.note(none if only is None and before is None else "no job matches", always=False)
    if len(views) > last:
        report.note(f"there are older jobs: --before {chosen[-1].id[:8]}, or --last {2 * last}")
    for line in _link_troubles(node):
        report.note(line)
    return report


@command(example="smc show 3f2a")
def show(job: str = job_argument, watch: bool = option(FOLLOW), node: NodeClient = settings(node_of)) -> Report:
    """Show a job: question, tables, disclosure, cost and decisions.

    JOB is the identifier, its first 4 or more digits, or latest for the newest job.

    Exit codes with --watch: 0 done, 2 refused or failed here, 3 failed at the peer or no node answers, 4 refused by the
    peer or cancelled.
    """
    view = node.job(job)
    if watch:
        view = follow(node, view)
    report = Report(view.model_dump(), is_foreign=True)
    report.lines(job_text.sheet(view, console.out.width if console.out.is_terminal else None))
    name = job_text.short(view.id)
    typed = "".join(f" --input {field.name}=-" for field in view.asked)
    if view.waits_for_us:
        report.note(f"decide:  smc approve {name}{typed}   or   smc refuse {name} --why TEXT", always=False)
    elif view.waits_for_input:
        report.note(f"give your values:  smc approve {name}{typed}", always=False)
    if view.state not in ENDED:
        for line in _link_troubles(node, view):
            report.note(line, always=False)
    report.failure = end_of(view) if watch else None
    return report


@command(example="smc result 3f2a --out tree.json --svg tree.svg")
@output_options
@node_options
def result(
    job: str = job_argument,
    wait: bool = option(FOLLOW),
    as_json: bool = json_option,
    *,
    config_file: Path | None,
    state: Path | None,
    force: bool,
    **paths: Path | None,
) -> None:
    """Print the result of a job, the opened values and the cost.

    JOB is the identifier, its first 4 or more digits, or latest for the newest job that is done.

    Exit codes with --wait: 0 done, 2 refused or failed here, 3 failed at the peer or no node answers, 4 refused by the
    peer or cancelled.
    """
    node = node_of(config_file, state)
    outputs = Outputs(None, paths)
    outputs.check(node.state.glob("*"), find_party_file(config_file), force)
    if wait:
        ended = follow(node, node.job(job))
        if (failure := end_of(ended)) is not None:
            raise failure
        job = ended.id
    brought = node.result(job)
    kind = kinds.find(brought.protocol)
    outputs = outputs.for_kind(kind)
    outputs.write(brought.document, brought.cost)
    if as_json:
        console.print_json(brought.fields(), ascii_only=True)
        return
    for line in brought.withdrawn:
        console.err.print(f"this result is withdrawn; do not use it: {job_text.shown(line)}")
    outputs.print_result(kind.text(brought.document, brought.party), brought.cost)
    times = {kind: "once" if count == 1 else f"{count:,} times" for kind, count in brought.opened.items()}
    opened = ", ".join(f"{job_text.shown(kind)} {often}" for kind, often in times.items())
    console.err.print(f"opened to both parties: {opened or 'nothing'}")


@command(example="smc web --open")
def web(
    open_: bool = option("Open the link in a browser; other users may see its command line.", flag="--open"),
    node: NodeClient = settings(node_of),
) -> Report:
    """Print a new link to your node's page. It is valid for one login."""
    url = node.login()
    report = Report({"url": url}, is_foreign=True)
    report.line(url)
    if open_:
        import webbrowser

        if not webbrowser.open(url):
            report.failure = InputError("--open: no browser could be started; open the link yourself")
    return report


def _link_troubles(node: NodeClient, job: JobView | None = None) -> Iterator[str]:
    """Yield warnings about certificates, and for each peer whose node is not connected the reason.

    With a job, only its peer is examined.
    """
    state = node.node()
    peers = state.peers
    yield from map(job_text.shown, state.warnings)
    for peer in peers:
        if job is not None and peer.name != job.peer:
            continue
        if peer.warning:
            yield job_text.shown(peer.warning)
        if not peer.connected:
            several = len(peers) > 1
            whose, what = (f"{job_text.shown(peer.name)}'s", "its jobs") if several else ("the peer's", "jobs")
            why = job_text.shown(peer.trouble)
            yield f"{whose} node is not connected: {why}; {what} wait until it is"


def job_report(job: JobView, wanted: State = "done") -> Report:
    """Return a report on the present state of a job; it fails if the job has ended in another state than `wanted`.

    Args:
        job: The job.
        wanted: State that means success.
    """
    report = Report(job.model_dump(), is_foreign=True)
    report.failure = None if job.state == wanted else end_of(job)
    if report.failure is None:
        report.line(f"job {job_text.short(job.id)}: {job_text.standing(job)}")
    return report
