"""`smc blur` and `smc reconstruct`: values distorted before they leave, their reconstruction, and their disclosure."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console
from parties.base.report import Report
from parties.commands.options import FILE, Between, json_option
from parties.commands.outputs import FORCE, check_new
from parties.commands.rows import CONFIG, TABLE, opened, paths
from parties.commands.signature import by_signature, command, option, settings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.blurring.plan import BlurPlan
    from parties.sources.opened import RowQuery

PLAN: Any = click.option(
    "--plan",
    "plan_file",
    type=FILE,
    help="blur.toml: columns and their noise. The collector of the rows needs it too.  [required]",
)
DATA: Any = click.option("--data", metavar="SOURCE", help="Rows: a file, or the URL of a database.  [required]")


@dataclass(frozen=True)
class Blurred:
    """Blurred rows, and the method of blurring."""

    plan_file: Path = option("blur.toml: the file that the rows were blurred by.")
    data: str = option("Rows: a file, or the URL of a database.", "SOURCE")
    table: str | None = TABLE

    @functools.cached_property
    def plan(self) -> BlurPlan:
        """The blur plan, read from its file."""
        from parties.alone.blurring.plan import load

        return load(self.plan_file)

    def opened(self) -> RowQuery:
        """Open the rows, for `with`."""
        return opened(self.data, self.table)


@click.group(
    "blur", invoke_without_command=True, epilog="Example:  smc blur --plan blur.toml --data rows.csv --out blurred.csv"
)
@by_signature
@click.pass_context
def group(
    context: click.Context,
    plan_file: Path | None = PLAN,
    data: str | None = DATA,
    table: str | None = TABLE,
    config_file: Path | None = CONFIG,
    out: Path | None = option("File for the blurred rows: CSV, or Parquet if its name ends in .parquet.  [required]"),
    force: bool = FORCE,
    as_json: bool = json_option,
) -> None:
    """Blur your rows with noise from this machine's random source, before you give them away."""
    if context.invoked_subcommand is not None:
        if plan_file is not None or data is not None or out is not None:
            raise InputError(f"options of smc blur {context.invoked_subcommand} come after its name; move them there")
        return
    from parties.alone.blurring.plan import load
    from parties.alone.blurring.table import blur
    from parties.base.randomness import private

    plan_file, data = _needed(plan_file, "--plan"), _needed(data, "--data")
    out = _needed(out, "--out")
    plan = load(plan_file)
    check_new({"--out": out}, [plan_file, *paths(data)], config_file, force)
    with opened(data, table, config_file) as rows, console.progress("blurring") as line:
        count = blur(rows, out, plan, private(), lambda so_far: line.doing(f"blurring, {so_far:,} rows so far"))
    if as_json:
        console.print_json({"rows": count, "columns": {name: c.noise for name, c in plan.columns.items()}})
    console.err.print(f"written: {out}, {count:,} rows")


@command("reconstruct", "smc reconstruct --plan blur.toml --data blurred.csv --by disease")
def reconstruct_command(
    given: Blurred = settings(Blurred),
    by: str | None = option("Column that is not blurred: a distribution for each of its values.", "COLUMN"),
) -> Report:
    """Reconstruct the distributions of the true values behind blurred rows, by iterating Bayes' rule."""
    from parties.alone.blurring.reports import distributions, distributions_report

    plan = given.plan
    with given.opened() as rows, console.progress("reconstructing"):
        return distributions_report(distributions(rows, plan, by))


@command("attack", "smc blur attack --plan blur.toml --data blurred.csv --truth rows.csv", group)
def attack_command(
    given: Blurred = settings(Blurred),
    truth: str | None = option("True rows in the same order, to measure the attack.", "SOURCE"),
) -> Report:
    """Measure how much blurred rows still reveal. The attack is spectral filtering.

    The report measures the uncertainty about a value by entropy.
    """
    from contextlib import ExitStack

    from parties.alone.blurring.reports import attack, attack_report

    plan = given.plan
    with ExitStack() as stack:
        rows = stack.enter_context(given.opened())
        true = None if truth is None else stack.enter_context(opened(truth, given.table))
        stack.enter_context(console.progress("attacking"))
        return attack_report(attack(rows, plan, true))


@command("rules", "smc blur rules --plan blur.toml --data blurred.csv --support 0.1 --confidence 0.8", group)
def rules_command(
    given: Blurred = settings(Blurred),
    columns: str | None = option("Columns whose values may occur in rules, comma-separated  [all categories]", "LIST"),
    support: float = option("Minimum support of a frequent set  [0.1]", Between(0, 1, min_open=True), default=0.1),
    confidence: float = option("Minimum confidence of a rule  [0.8]", Between(0, 1), default=0.8),
    lift: float = option("Minimum lift of a rule; 0 = any  [1]", Between(0, 1000), default=1.0),
    max_length: int = option("Maximum number of values in a set  [4]", click.IntRange(2, 8), default=4),
    show: str = option(
        "Rules to show. non-redundant omits rules that follow from others; maximal shows only "
        "rules of sets that no other frequent set contains  [non-redundant]",
        click.Choice(["non-redundant", "maximal", "all"]),
        default="non-redundant",
    ),
) -> Report:
    """Estimate the rules of the true rows. They link values that occur together."""
    from parties.alone.blurring.rules import Bounds, held, mined
    from parties.jobs.rules.joint import RulesOfBoth, shown

    plan, bounds = given.plan, Bounds(support, confidence, lift, max_length)
    with given.opened() as rows, console.progress("counting"):
        estimates, levels = mined(rows, plan, None if columns is None else columns.split(","), bounds)
    rules, sets = held(estimates, levels, bounds), [items for level in levels for items in level]
    shares = [{"value": estimates.share(items), "reach": estimates.reach(items)} for items in sets]
    document = {
        "sets": [estimates.named(items) for items in sets],
        "shares": shares,
        "rules": [
            {"if": estimates.named(a), "then": estimates.named(b), **rules[a, b]}
            for a, b in shown(sets, list(rules), show)
        ],
        "of": len(rules),
        "support": support,
        "confidence": confidence,
        "lift": lift,
        "show": show,
    }
    report = Report(document)
    report.block(RulesOfBoth.text(document, 0))
    if sets:
        report.line(f"shares of sets are within {max(share['reach'] for share in shares):.3g} (95%)")
    return report


def _needed(value: Any, flag: str) -> Any:
    if value is None:
        raise InputError(f"{flag} is missing")
    return value
