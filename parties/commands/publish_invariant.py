"""`smc publish invariant`: a growing table published again, with counterfeit rows where people are missing."""

from __future__ import annotations

from pathlib import Path

from parties.base import console
from parties.base.report import Report
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import Record
from parties.commands.publish_options import ESCAPE, PLAN, HistoryOptions, Telling, note_beginning
from parties.commands.rows import choose, paths
from parties.commands.signature import command, option, settings
from smc.errors import InputError


@command("invariant", "smc publish invariant --plan growing.toml --out july.csv")
def invariant_command(
    plan_file: Path = PLAN,
    out: Path = option("The published rows: CSV, or Parquet if named so."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    record: Record = settings(Record),
    telling: Telling = settings(Telling),
) -> Report:
    """Publish a growing table again, and each row could always have one of the same m values.

    People may come and go. Where a class lacks a value, a counterfeit row has it; how many of a class are, is told.
    """
    from parties.alone.publish.protecting.protecting import write
    from parties.alone.publish.reading import rows_of
    from parties.alone.publish.republishing import publication
    from parties.alone.publish.settings import read
    from parties.alone.publish.versions import put_down
    from parties.base.randomness import private

    plan = read(plan_file)
    if plan.history is None:
        raise InputError(f"{plan_file}: history: m-invariance takes [history], with file, row and m")
    history = HistoryOptions(None, None, None).load(plan.history)
    assert history is not None
    inputs = [plan_file, *paths(plan.source)]
    check_new({"--out": out, **telling.outputs}, inputs, record.config_file, force, {"--history": history.path})
    choose(plan, record.config_file)
    with record.of("invariant") as log, console.progress("reading"):
        with rows_of(plan) as source:
            release = publication(plan, source, history, private())
        with put_down(history, release.version):
            write(release.rows, out, escape_formulas)
            log.published(plan, list(release.rows.columns), [model["model"] for model in release.report["models"]], out)
    report = telling.told(release.report, out.name)
    note_beginning(report, history)
    report.written(out, plan.history.file)
    return report
