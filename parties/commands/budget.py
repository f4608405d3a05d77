"""`smc budget`: spent privacy budget of tables, simulation of a job's spending, and the entry for a public register."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import listed
from parties.commands import job_text
from parties.commands.node_options import NODE_CONFIG, STATE, node_of, node_options
from parties.commands.options import find_party_file, json_option, out_option
from parties.commands.outputs import FORCE, check_new
from parties.commands.proposed import Proposed, at_file
from parties.commands.signature import command, option, settings
from parties.jobs.spending import EXACT
from parties.operator.budget import ChargeView, Simulation, TableBudget, Totals, enough_for, parts
from parties.operator.client import NodeClient
from smc.errors import InputError

MOST_JOBS = 20  # most jobs listed for a table
BAR = 30  # columns of the bar
JOBS = {"": "", "job": "", "at (UTC)": "", "epsilon": "", "peer": "", "spent by": "~"}


@click.group("budget", epilog="Example:  smc budget show --config party.toml")
def group() -> None:
    """Show, simulate and publish the privacy budget that jobs spend on tables."""


@command("show", "smc budget show --config party.toml --group 4", group)
def show_command(
    rows: int = option(
        "Number of rows of a group: show the loss of all of them  [1]",
        click.IntRange(1, 1000),
        flag="--group",
        default=1,
    ),
    node: NodeClient = settings(node_of),
) -> Report:
    """Show the spent and remaining budget of each table. The spent part is listed by peer and job.

    The lines budget, spent and left are for one row. With --group 4, the losses below them are for a group of four
    rows, such as a family. The loss of the group is four times the loss of one row. With Gaussian noise, the loss rho
    of the group is sixteen times that of one row.
    """
    budgets = node.budget(rows)
    report = Report([budget.model_dump() for budget in budgets])
    if not budgets:
        report.note("this node has no table, so it gives no rows and spends nothing", always=False)
    for budget in budgets:
        report.lines(_lines(budget))
        if budget.jobs:
            report.table(JOBS, [_job_cells(job) for job in budget.jobs[:MOST_JOBS]])
    return report


def _simulate(job: dict[str, Any], file: Path | None, config_file: Path | None, state: Path | None) -> Report:
    """Simulate the budget that a job would spend. Nothing is proposed or changed.

    The output also states whether the job would be refused.

    Exit codes: 0 the job would not be refused, 2 it would be refused.
    """
    node = node_of(config_file, state)
    with at_file(file):
        simulation = node.simulate(job)
    report = Report(simulation.model_dump())
    report.lines(map(job_text.shown, _simulated(simulation)))
    if simulation.refused:
        place = "" if file is None else f"{file}: "
        report.failure = InputError(f"{place}the job would be refused: {job_text.shown(simulation.why)}")
    return report


_INTENT = (
    "Simulate the budget that this job would spend, and whether your node's rules or budgets would refuse it. "
    "Nothing is proposed or run."
)
group.add_command(Proposed("budget simulate", _INTENT, _simulate, node_options, has_inputs=False))


@command("export", "smc budget export --config party.toml --out epsilons.json", group)
def export_command(
    out: Path | None = out_option,
    force: bool = FORCE,
    config_file: Path | None = NODE_CONFIG,
    state: Path | None = STATE,
    as_json: bool = json_option,
) -> None:
    """Write your entry for a public register of epsilons. It is JSON, signed with your key.

    The entry has tables and budgets. It has day, kind, mechanisms and losses of each release. It has no peer, purpose
    or column.
    """
    node, file = node_of(config_file, state), find_party_file(config_file)
    check_new({"--out": out}, node.state.glob("*"), file, force)
    document = node.register().model_dump()
    if out is not None:
        files.write_json(out, document)
        console.err.print(f"written: {out}")
    if out is None or as_json:
        console.print_json(document)


def _lines(budget: TableBudget) -> Iterator[str]:
    yield f"table {job_text.shown(budget.table)}" if budget.table else "values typed by operators"
    if budget.also:
        yield f"  same rows   {job_text.shown(listed(budget.also))}: charges under all of these names count"
    window = "" if budget.per == "ever" else f" per {budget.per}"
    rows = ", by person" if budget.people else ""
    if budget.budget is None:
        yield f"  budget      none: no job is refused; epsilon below is at delta {budget.fixed_delta:.3g}{rows}"
    else:
        at = f" at delta {budget.delta:.3g}" if budget.delta else ""
        yield f"  budget      epsilon {budget.budget:.6g}{window}{at}, {budget.adjacency}{rows}"
        yield f"  spent       epsilon {_number(budget.spent)}   left {_number(budget.left)}   {_bar(budget)}"
        yield f"  enough for  {enough_for(budget.enough_for)}"
    if budget.bits is not None:
        yield f"  exact bits  {budget.bits.words}"
    names = [f"with {job_text.shown(peer.peer, 40)}" for peer in budget.peers]
    left = ["" if peer.left is None else f"left {peer.left:.4g}" for peer in budget.peers]
    if budget.group > 1:  # the group's loss is a separate account; the budget is for one row
        yield from (f"  {name:10}  {of_one}" for name, of_one in zip(names, left, strict=True) if of_one)
        yield f"  loss of a group of {budget.group} {'people' if budget.people else 'rows'} (by job in the last table):"
        left = [""] * len(left)
    is_pure = budget.budget is not None and not budget.delta
    yield f"  counted now {_totals(budget.now, budget.fixed_delta, is_pure)}"
    yield f"  all time    {_totals(budget.ever, budget.fixed_delta, is_pure)}"
    for peer, name, of_one in zip(budget.peers, names, left, strict=True):
        totals = _totals(peer.totals, budget.fixed_delta, is_pure)
        yield f"  {name:10}  {'; '.join(filter(None, (of_one, totals)))}"


def _bar(budget: TableBudget) -> str:
    assert budget.budget is not None
    share = 1.0 if budget.spent is None else min(1.0, budget.spent / budget.budget)
    full = round(BAR * share)
    return f"[{'#' * full}{'.' * (BAR - full)}]"


def _totals(totals: Totals, delta: float, is_pure: bool) -> str:
    """Return the spending of jobs as text; `is_pure`: the budget has no delta, so losses are not converted to one."""
    if is_pure and totals.epsilon is not None and not totals.delta:
        return f"pure epsilon {totals.epsilon:.4g}"
    pure = "not pure" if totals.epsilon is None else f"pure epsilon {totals.epsilon:.4g}"
    beside = "" if totals.advanced is None else f" ({_number(totals.advanced)} by advanced composition)"
    fails = f", delta {totals.delta:.3g} besides" if totals.delta else ""
    at_delta = f"epsilon {_number(totals.at_delta)} at delta {delta:.3g}{beside}"
    return f"{pure}{fails}; by Gaussian noise (rho) {totals.rho:.4g}, {at_delta}"


def _job_cells(job: ChargeView) -> tuple[str, ...]:
    at, uses = job_text.moment(job.at), "; ".join(job_text.shown(use) for use in job.uses)
    peer = job_text.shown(job.peer, 30)
    return "" if job.counts else "over", job.job[:8] or "lost", at, _number(job.epsilon), peer, uses


def _simulated(simulation: Simulation) -> Iterator[str]:
    """Yield the lines of a simulated job."""
    place = f"table {simulation.table}: " if simulation.table else ""
    whose = parts(simulation.of_share, simulation.of_table)
    left = "no bound" if simulation.left is None else f"left {simulation.left:.4g}{whose and f' ({whose})'}"
    unit = "by Gaussian noise (rho)," if simulation.unit == "rho" else simulation.unit
    yield f"{place}{unit} spent {_number(simulation.spent)}, requested {_number(simulation.asked)}, {left}"
    if simulation.price is not None:
        yield from (f"  {use}" for use in simulation.price.uses)
    if simulation.after is not None:
        then = f", enough for {enough_for(simulation.enough_for)}" if simulation.enough_for else ""
        yield f"left after the job: {simulation.after:.4g}{then}"
    if simulation.exposure is not None:
        yield f"bits of exact answers: {simulation.exposure.words}"
    if simulation.earlier:
        again = "if the peer's table still has the same version, that result is repeated and nothing is spent"
        yield f"job {simulation.earlier[:8]} asked the same question: {again}"
    if simulation.exact:
        yield f"it opens a joint number without noise: {EXACT}"
    yield "it would be refused" if simulation.refused else "it would not be refused here"


def _number(value: float | None) -> str:
    return "not bounded" if value is None else f"{value:.4g}"
