"""`smc publish protect`, `invariant`, `mask` and `view`: rows published by other means than recoding."""

from __future__ import annotations

from pathlib import Path

from parties.base import console, files
from parties.base.report import Report
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import Record
from parties.commands.publish_options import ESCAPE, PLAN, ReportFiles, note_beginning
from parties.commands.rows import CONFIG, choose, paths
from parties.commands.signature import command, option, settings
from smc.errors import InputError


@command("protect", "smc publish protect --plan protect.toml --out protected.csv")
def protect_command(
    plan_file: Path = PLAN,
    out: Path = option("Output file: CSV, or Parquet if its name ends in .parquet."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    report_file: Path | None = option("Write information loss and remaining risks as JSON."),
    record: Record = settings(Record),
) -> Report:
    """Swap, average, blur, sample or hide values by the plan's methods. Identifiers are dropped."""
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


@command("invariant", "smc publish invariant --plan growing.toml --out july.csv")
def invariant_command(
    plan_file: Path = PLAN,
    out: Path = option("Output file: CSV, or Parquet if its name ends in .parquet."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    record: Record = settings(Record),
    report_files: ReportFiles = settings(ReportFiles),
) -> Report:
    """Publish a growing table again, so that comparing its versions reveals no more (m-invariance).

    Every version leaves a person the same possible sensitive values, at least m of them.

    The plan sets m, and names the file with the history of the versions. People may come and go between versions. A
    class of equal rows that lacks one of its values gets a counterfeit row. The number of counterfeits in each class is
    published.
    """
    from parties.alone.attacks.recoded import add_attacks
    from parties.alone.publish.protecting.protecting import write
    from parties.alone.publish.reading import rows_of
    from parties.alone.publish.republishing import publication
    from parties.alone.publish.settings import read
    from parties.alone.publish.versions import load, put_down
    from parties.base.randomness import private

    plan = read(plan_file)
    if plan.history is None:
        raise InputError(f"{plan_file}: history: m-invariance needs [history] with file, row and m; add them")
    history = load(plan.history.file, plan.history.row, plan.history.person)
    inputs = [plan_file, *paths(plan.source)]
    check_new({"--out": out, **report_files.outputs}, inputs, record.config_file, force, {"--history": history.path})
    choose(plan, record.config_file)
    with record.of("invariant") as log, console.progress("reading"):
        with rows_of(plan) as source:
            release = publication(plan, source, history, private())
        add_attacks(release.report, release.people, release.rows.columns)
        with put_down(history, release.version):
            write(release.rows, out, escape_formulas)
            log.published(plan, list(release.rows.columns), [model["model"] for model in release.report["models"]], out)
    report = report_files.report(release.report, out.name)
    note_beginning(report, history)
    report.written(out, plan.history.file)
    return report


@command("mask", "smc publish mask --plan publish.toml --out masked.csv")
def mask(
    plan_file: Path = PLAN,
    out: Path = option("Output file: CSV, or Parquet if its name ends in .parquet."),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    record: Record = settings(Record),
) -> None:
    """Mask columns of a table by the plan: show a part of each value, or a substitute. Write the table.

    Other columns of the plan stay unchanged. Identifiers without a mask are dropped, and so are columns missing in the
    plan.
    """
    from parties.alone.publish.pseudonyms import write
    from parties.alone.publish.reading import unchanged_rows_of
    from parties.alone.publish.settings import unrecorded

    plan = unrecorded(plan_file)
    check_new({"--out": out}, [plan_file, *paths(plan.source)], record.config_file, force)
    choose(plan, record.config_file)
    with record.of("mask") as log, console.progress("masking"):
        with unchanged_rows_of(plan) as rows:
            written = write(rows, plan, None, out, escape_formulas)
        masks = [f"{name}: {column.mask.kind} mask" for name, column in plan.columns.items() if column.mask is not None]
        log.published(plan, [name for name, column in plan.columns.items() if column.shown], masks, out)
    console.err.print(f"written: {out} ({written.rows} rows)")


@command("view", "smc publish view --plan publish.toml --name cards --role cashier")
def view(
    plan_file: Path = PLAN,
    name: str = option("Name of the view."),
    role: str | None = option("Role of the readers; columns unmasked for it in the plan stay in clear."),
    out: Path | None = option("File for the statement  [standard output]"),
    force: bool = FORCE,
    config_file: Path | None = CONFIG,
) -> None:
    """Write the SQL statement of a view that masks a table. The owner of the table runs it.

    With --config the view leaves out the rows that a table of that party.toml leaves out by `where` or consent.
    """
    from parties.alone.publish.reading import unchanged_rows_of
    from parties.alone.publish.settings import unrecorded
    from parties.alone.publish.views import view as statement

    plan = unrecorded(plan_file)
    check_new({"--out": out}, [plan_file, *paths(plan.source)], config_file, force)
    choose(plan, config_file)
    with unchanged_rows_of(plan) as rows:
        text = statement(rows, plan, name, role)
    if out is None:
        console.out.print(text, end="")
    else:
        files.write_text(out, text)
