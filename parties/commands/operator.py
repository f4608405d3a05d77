"""What an operator asks of the node on this machine: `smc submit`, `jobs`, `show`, `result`, `web`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click

from parties.base import console
from parties.commands import cost_text, job_text
from parties.commands.following import FOLLOW, check_end, follow
from parties.commands.node_options import NODE_CONFIG, STATE, node_of, node_options
from parties.commands.options import Command, find_party_file, json_option
from parties.commands.outputs import Outputs, output_options
from parties.commands.proposed import Proposed, at_file
from parties.commands.signature import command, option
from parties.jobs import kinds
from parties.operator.client import NodeClient
from parties.operator.interface import ENDED, JobView, State
from smc.errors import InputError

job_argument: Any = click.argument("job", metavar="JOB")  # the first digits of its identifier, or latest


def _submit_options(command: Command) -> Command:
    return click.option("--wait", is_flag=True, help=FOLLOW)(node_options(command))


def _submit(
    job: dict[str, Any], file: Path | None, wait: bool, config_file: Path | None, state: Path | None, as_json: bool
) -> None:
    """Propose a job to a peer: one in a file, or a kind of job with what it may be told as flags.

    JOB.toml says protocol = "KIND" (id3 unless it does), table = "OURS" if rows are read, peer_table if the peer's
    has another name, peer = "NAME" if there are several peers, purpose = "WHY" if you like (rules and the peer's
    operator may refuse a job without), and everything that this kind of job may be told, such as target, tolerance,
    max_depth and engine for id3. What the kind asks to be typed is given by --input.
    """
    node = node_of(config_file, state)
    with at_file(file):
        view = node.submit(job)
    if view.state not in ENDED:
        console.err.print(cost_text.expected(view.cost))
    _mention_link(node, view)
    tell(follow(node, view) if wait else view, as_json)


submit = Proposed("submit", _submit, _submit_options)


@command(example="smc jobs --only waiting")
def jobs(
    only: State | None = option("Only jobs in this state.", click.Choice(get_args(State)), metavar="STATE"),
    last: int = option("At most so many  [50]", click.IntRange(1, 500), default=50),
    before: str | None = option("Older ones than this job.", "JOB"),
    config_file: Path | None = NODE_CONFIG,
    state: Path | None = STATE,
    as_json: bool = json_option,
) -> None:
    """List the last jobs, the newest first; before them, marked with !, those that wait for our consent or input."""
    node = node_of(config_file, state)
    views = node.jobs(last + 1, before, () if only is None else (only,))
    chosen = views[:last]
    if as_json:
        _print_json([job.model_dump() for job in chosen])
    elif chosen:
        console.show(job_text.table(chosen, chosen))
    elif only is None and before is None:
        console.err.print("no job yet: propose one with smc submit JOB.toml")
    else:
        console.err.print("no such job")
    if len(views) > last:
        console.err.print(f"there are older ones: --before {chosen[-1].id[:8]}, or --last {2 * last}")
    _mention_link(node)


@command(example="smc show 3f2a")
def show(
    job: str = job_argument,
    watch: bool = option(FOLLOW),
    config_file: Path | None = NODE_CONFIG,
    state: Path | None = STATE,
    as_json: bool = json_option,
) -> None:
    """Show all about a job: what is computed on what, what it reveals to whom and costs, who has decided what.

    JOB is its identifier, or the first digits of it, at least 4; or latest, for the newest.
    """
    node = node_of(config_file, state)
    view = node.job(job)
    if watch:
        view = follow(node, view)
    if as_json:
        _print_json(view.model_dump())
    else:
        for line in job_text.sheet(view, console.out.width if console.out.is_terminal else None):
            console.out.print(line)
        name = job_text.short(view.id)
        typed = "".join(f" --input {field.name}=-" for field in view.asked)
        if view.waits_for_us:
            console.err.print(f"decide:  smc approve {name}{typed}   or   smc refuse {name} --why TEXT")
        elif view.waits_for_input:
            console.err.print(f"type what it asks for:  smc approve {name}{typed}")
        if view.state not in ENDED:
            _mention_link(node, view)
    if watch:
        check_end(view)


@command(example="smc result 3f2a --out tree.json --svg tree.svg")
@output_options
@node_options
def result(
    job: str = job_argument,
    wait: bool = option(FOLLOW),
    *,
    config_file: Path | None,
    state: Path | None,
    as_json: bool,
    force: bool,
    **paths: Path | None,
) -> None:
    """Print what a job has brought, what was opened for it, and its cost.

    JOB is its identifier, or the first digits of it, at least 4; or latest, for the newest that is done.
    """
    node = node_of(config_file, state)
    outputs = Outputs(None, paths)
    outputs.check(node.state.glob("*"), find_party_file(config_file), force)
    if wait:
        ended = follow(node, node.job(job))
        check_end(ended)
        job = ended.id
    brought = node.result(job)
    kind = kinds.find(brought.protocol)
    outputs = outputs.for_kind(kind)
    outputs.write(brought.document, brought.cost)
    if as_json:
        _print_json(brought.fields())
        return
    for line in brought.withdrawn:
        console.err.print(f"this result is withdrawn, and not to be used: {job_text.shown(line)}")
    outputs.tell(kind.text(brought.document, brought.party), brought.cost)
    times = {kind: "once" if count == 1 else f"{count:,} times" for kind, count in brought.opened.items()}
    opened = ", ".join(f"{job_text.shown(kind)} {often}" for kind, often in times.items())
    console.err.print(f"opened to both parties: {opened or 'nothing'}")


@command(example="smc web --open")
def web(
    open_: bool = option("Open it in the browser, whose command line other users may see.", flag="--open"),
    config_file: Path | None = NODE_CONFIG,
    state: Path | None = STATE,
    as_json: bool = json_option,
) -> None:
    """Print a fresh link to the node's page, good for one login."""
    url = node_of(config_file, state).login()
    if as_json:
        _print_json({"url": url})
    else:
        console.out.print(job_text.shown(url))
    if open_:
        import webbrowser

        if not webbrowser.open(url):
            raise InputError("no browser could be started here: open the link yourself")


def _mention_link(node: NodeClient, job: JobView | None = None) -> None:
    """Say what is wrong with certificates, and if a peer's node is away and why: until it is back, its jobs wait.

    With a job, only of that job's peer.
    """
    state = node.node()
    peers = state.peers
    for warning in state.warnings:
        console.err.print(job_text.shown(warning))
    for peer in peers:
        if job is not None and peer.name != job.peer:
            continue
        if peer.warning:
            console.err.print(job_text.shown(peer.warning))
        if not peer.connected:
            several = len(peers) > 1
            whose, what = (f"{job_text.shown(peer.name)}'s", "its jobs") if several else ("the peer's", "jobs")
            why = job_text.shown(peer.trouble)
            console.err.print(f"{whose} node is not connected: {why}; {what} wait until it is")


def tell(job: JobView, as_json: bool, wanted: State = "done") -> None:
    """Print where the job stands now; raise an error if it has ended otherwise than wanted."""
    if as_json:
        _print_json(job.model_dump())
    if job.state != wanted:
        check_end(job)
    if not as_json:
        console.out.print(f"job {job_text.short(job.id)}: {job_text.standing(job)}")


def _print_json(value: object) -> None:
    """Print one JSON document on standard output, in ASCII: what the peer wrote may be meant for the terminal."""
    print(json.dumps(value, indent=2))
