"""`smc publish mask` and `view`: columns that are shown through masks, in a file or in the owner's database."""

from __future__ import annotations

from pathlib import Path

import click

from parties.base import console, files
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import Record
from parties.commands.publish_options import ESCAPE, PLAN
from parties.commands.rows import CONFIG, choose, paths
from parties.commands.signature import command, option, settings


def add_to(group: click.Group) -> None:
    """Make these commands part of a group."""
    for added in (mask, view):
        group.add_command(added)


@command("mask", "smc publish mask --plan publish.toml --out masked.csv")
def mask(
    plan_file: Path = PLAN,
    out: Path = option("The rows: CSV, or Parquet if named so."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    record: Record = settings(Record),
) -> None:
    """Write a table through the plan's masks. Its other columns stay as they are, but for identifiers.

    Those without a mask are dropped, as are columns that the plan does not name.
    """
    from parties.alone.publish.pseudonyms import write
    from parties.alone.publish.settings import unrecorded
    from parties.sources import open_rows

    plan = unrecorded(plan_file)
    check_new({"--out": out}, [plan_file, *paths(plan.source)], record.config_file, force)
    choose(plan, record.config_file)
    with record.of("mask") as log, console.progress("masking"):
        with open_rows(plan) as rows:
            written = write(rows, plan, None, out, escape_formulas)
        masks = [f"{name}: {column.mask.kind} mask" for name, column in plan.columns.items() if column.mask is not None]
        log.published(plan, [name for name, column in plan.columns.items() if column.shown], masks, out)
    console.err.print(f"written: {out} ({written.rows} rows)")


@command("view", "smc publish view --plan publish.toml --name cards --role cashier")
def view(
    plan_file: Path = PLAN,
    name: str = option("What the view is called."),
    role: str | None = option("Whose view it is: columns that the plan unmasks for this role stand in clear."),
    out: Path | None = option("Write the statement here  [standard output]"),
    force: bool = FORCE,
    config_file: Path | None = CONFIG,
) -> None:
    """The SQL statement of a view that shows a table through its masks, to be run by who owns the table.

    With --config it shows no row that a table of party.toml there leaves out by `where` or consent.
    """
    from parties.alone.publish.settings import unrecorded
    from parties.alone.publish.views import view as statement
    from parties.sources import open_rows

    plan = unrecorded(plan_file)
    check_new({"--out": out}, [plan_file, *paths(plan.source)], config_file, force)
    choose(plan, config_file)
    with open_rows(plan) as rows:
        text = statement(rows, plan, name, role)
    if out is None:
        console.out.print(text, end="")
    else:
        files.write_text(out, text)
