"""`smc publish protect`: rows of one's own through the methods of statistical disclosure control."""

from __future__ import annotations

from pathlib import Path

from parties.base import console
from parties.base.report import Report
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import Record
from parties.commands.publish_options import ESCAPE, PLAN
from parties.commands.rows import choose, paths
from parties.commands.signature import command, option, settings


@command("protect", "smc publish protect --plan protect.toml --out protected.csv")
def protect_command(
    plan_file: Path = PLAN,
    out: Path = option("The published rows: CSV, or Parquet if named so."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    report_file: Path | None = option("Write as JSON what was lost and is left to fear."),
    record: Record = settings(Record),
) -> Report:
    """Swap, average, blur, sample or hide values by the plan's methods, and write the rows. Identifiers are dropped."""
    from parties.alone.attacks.protected import attacks
    from parties.alone.publish.protecting import protecting
    from parties.alone.publish.reading import rows_of
    from parties.alone.publish.settings import unrecorded
    from parties.base.randomness import private
    from parties.base.settings import at_key

    plan = unrecorded(plan_file)
    with at_key(str(plan_file)):
        protecting.methods_of(plan)
    check_new({"--out": out, "--report": report_file}, [plan_file, *paths(plan.source)], record.config_file, force)
    choose(plan, record.config_file)
    with record.of("protect") as log, console.progress("reading") as status:
        with rows_of(plan) as opened:
            source = protecting.read(opened, plan)
        status.doing("protecting")
        rows, data = protecting.protect(source, plan)
        status.doing("attacking")
        data["attacks"] = attacks(source, rows, plan.named("sensitive"), private())
        protecting.write(rows, out, escape_formulas)
        log.published(plan, list(rows.columns), [method.method for method in plan.methods], out)
    report = protecting.report_of(data)
    report.save(report_file)
    report.written(out, report_file)
    return report
