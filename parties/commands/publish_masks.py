"""`smc publish mask` and `view`: columns that are shown through masks, in a file or in the owner's database."""

from __future__ import annotations

from pathlib import Path

import click

from parties.base import console, files
from parties.commands.options import FILE
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import log_options, recording
from parties.commands.publish_options import ESCAPE, PLAN
from parties.commands.rows import CONFIG, choose, paths


def add_to(group: click.Group) -> None:
    """Make these commands part of a group."""
    for command in (mask, view):
        group.add_command(command)


@click.command("mask", epilog="Example:  smc publish mask --plan publish.toml --out masked.csv")
@PLAN
@click.option("--out", type=FILE, required=True, help="The rows: CSV, or Parquet if named so.")
@ESCAPE
@FORCE
@log_options
def mask(
    plan_file: Path, out: Path, escape_formulas: bool, force: bool, config_file: Path | None, purpose: str | None
) -> None:
    """Write a table through the plan's masks. Its other columns stay as they are, but for identifiers.

    Those without a mask are dropped, as are columns that the plan does not name.
    """
    from parties.alone.publish.pseudonyms import write
    from parties.alone.publish.settings import unrecorded
    from parties.sources import open_rows

    plan = unrecorded(plan_file)
    check_new({"--out": out}, [plan_file, *paths(plan.source)], config_file, force)
    choose(plan, config_file)
    with recording(config_file, "mask", purpose) as log, console.progress("masking"):
        with open_rows(plan) as rows:
            written = write(rows, plan, None, out, escape_formulas)
        masks = [f"{name}: {column.mask.kind} mask" for name, column in plan.columns.items() if column.mask is not None]
        log.published(plan, [name for name, column in plan.columns.items() if column.shown], masks, out)
    console.err.print(f"written: {out} ({written.rows} rows)")


@click.command("view", epilog="Example:  smc publish view --plan publish.toml --name cards --role cashier")
@PLAN
@click.option("--name", required=True, help="What the view is called.")
@click.option("--role", help="Whose view it is: columns that the plan unmasks for this role stand in clear.")
@click.option("--out", type=FILE, help="Write the statement here  [standard output]")
@FORCE
@CONFIG
def view(plan_file: Path, name: str, role: str | None, out: Path | None, force: bool, config_file: Path | None) -> None:
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
