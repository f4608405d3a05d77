"""`smc publish`: plan, check and anonymise a table of your own, and recode later rows in an equal way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import listed, printable, quoted
from parties.commands import publish_pseudonyms
from parties.commands.options import FILE, Between, check_outputs, check_proposal, proposal_option
from parties.commands.outputs import FORCE, check_new
from parties.commands.publish_log import Record
from parties.commands.publish_options import ESCAPE, PLAN, HistoryOptions, ReportFiles, note_beginning
from parties.commands.publish_rows import invariant_command, mask, protect_command, view
from parties.commands.publish_table import open_command, table_command, tables_command
from parties.commands.readings import ReadingOptions
from parties.commands.rows import CONFIG, TABLE, choose, chosen, paths, place
from parties.commands.signature import command, option, settings
from parties.tables.toml_text import toml_lines
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.settings import PublishPlan

OUT: Any = click.option(
    "--out", type=FILE, help="Output file: CSV, or Parquet if its name ends in .parquet  [required, unless --into]"
)
MOST = 0.5  # share of a column above which the report has a line
MOST_NAMED = 5  # columns in this line
INTO: Any = click.option("--into", metavar="TABLE", help="New table in the source's database, instead of --out.")


@click.group("publish", epilog="Example:  smc publish plan --data patients.csv --out publish.toml")
def group() -> None:
    """Publish your own rows so that no person can be identified."""


publish_pseudonyms.add_to(group)
for added in (mask, view, protect_command, table_command, tables_command, open_command, invariant_command):
    group.add_command(added)


@command("plan", "smc publish plan --data patients.csv --out publish.toml", group)
def plan_command(
    source: str = option("Rows: a file, or the URL of a database.", flag="--data SOURCE"),
    table: str | None = TABLE,
    config_file: Path | None = CONFIG,
    how: ReadingOptions = settings(ReadingOptions),
    out: Path = proposal_option,
) -> Report:
    """Propose a plan for a table: the roles of its columns and privacy models. Complete it with your knowledge.

    The output lists the columns whose values identify single people. The plan includes the formats of the file: those
    in --config, which smc prepare writes, or else detected ones.
    """
    from parties.alone.preparing.mapping import column_formats
    from parties.alone.preparing.profile import profile
    from parties.alone.preparing.proposing import like_codes
    from parties.alone.publish.planning import propose
    from parties.alone.publish.reading import rows_of
    from parties.sources.column_formats import formats_of

    check_outputs({"--out": out}, paths(source), config_file)
    check_proposal(out)
    where = chosen(source, table, config_file)
    with console.progress("reading") as status:
        remarks, codes = [], set[str]()
        if where.party_table is None:
            choices = how.choices(status)
            looked_at = profile(where, None, choices)
            remarks = [f"{c.name}: {remark}" for c in looked_at.columns for remark in (*c.remarks, *like_codes(c))]
            codes = {column.name for column in looked_at.columns if column.reads == "text"}
            where = where.model_copy(update={"format": looked_at.spelling})
            where.read_columns_as(column_formats(looked_at, choices))
        elif how.reading:
            raise InputError(f"--reading: party.toml already sets the reading of {where.label}; remove --reading")
        with rows_of(where) as rows:
            proposal = propose(rows, _from(out, source), where.table, formats_of(where), codes, status.doing, _is_key)
    spelling = toml_lines(where.spelling.model_dump(exclude_defaults=True, exclude={"dates"}))
    files.write_text(out, proposal.text + (f"\n[format]\n{spelling}" if spelling else ""))
    notes = [*proposal.notes, *map(printable, remarks)]
    report = Report({"notes": notes})
    report.lines(notes)
    report.note(f"written: {out}; mark the sensitive columns there, and complete the generalisation of the others")
    return report


@command("check", "smc publish check --plan publish.toml --data published.csv", group)
def check_command(
    plan_file: Path = PLAN,
    data: str | None = option("Published table to check  [source of the plan]", "SOURCE"),
    force: bool = FORCE,
    report_files: ReportFiles = settings(ReportFiles),
) -> Report:
    """Check a table against the plan's privacy models, and show its risks. Exit code 2 if a model fails.

    A privacy model is a rule such as k-anonymity: each class of equal rows has at least k rows.
    """
    from parties.alone.attacks.recoded import add_attacks
    from parties.alone.publish.recoding.checking import check
    from parties.alone.publish.settings import load

    plan = load(plan_file)
    check_new(report_files.outputs, [plan_file, *paths(plan.source), *paths(data or plan.source)], None, force)
    with console.progress("checking") as status:
        checked, people, published = check(plan, data)
        status.doing("attacking")
        add_attacks(checked, people, published)
    report = report_files.report(checked, _name(data or plan.source))
    if failed := [model["model"] for model in checked["models"] if not model["holds"]]:
        report.failure = InputError(f"the table does not satisfy {', '.join(failed)}")
    return report


@command("anonymise", "smc publish anonymise --plan publish.toml --out published.csv", group)
def anonymise_command(
    plan_file: Path = PLAN,
    out: Path | None = OUT,
    into: str | None = INTO,
    recoding_file: Path | None = option("Write the recoding, the input of smc publish apply."),
    algorithm: str | None = option("flash, samarati, incognito, mondrian, mondrian-relaxed, top-down  [the plan's]"),
    utility: str | None = option("Utility measure: discernibility, ncp, class-size, entropy  [the plan's]"),
    max_suppressed: float | None = option("Maximum share of suppressed rows  [as in the plan]"),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    published_before: HistoryOptions = settings(HistoryOptions),
    record: Record = settings(Record),
    report_files: ReportFiles = settings(ReportFiles),
) -> Report:
    """Recode a table: make values coarser until the plan's models, such as k-anonymity, hold. Write the result."""
    from parties.alone.attacks.recoded import add_attacks
    from parties.alone.publish.recoding.anonymising import anonymised, cells_of, masks_of, order_of
    from parties.alone.publish.recoding.dimensions import curve
    from parties.alone.publish.rules import hierarchy
    from parties.alone.publish.settings import load
    from parties.alone.publish.storing import put
    from parties.alone.publish.versions import published
    from parties.base.settings import merge

    target = _target(out, into)
    flags = {"algorithm": algorithm, "utility": utility, "max_suppressed": max_suppressed}
    plan = merge(load(plan_file), flags)
    outputs = {"--out": out, "--recoding": recoding_file, **report_files.outputs}
    history = published_before.load(plan.history)
    history_path = None if history is None else history.path
    check_new(outputs, [plan_file, *_inputs(plan)], record.config_file, force, {"--history": history_path})
    choose(plan, record.config_file)
    with ExitStack() as stack:
        log = stack.enter_context(record.of("anonymise"))
        status = stack.enter_context(console.progress("reading"))
        rows, cells = cells_of(plan, stack)
        models = plan.check()
        status.doing("searching for the recoding with the least loss")
        outcome = anonymised(cells, plan, models)
        if report_files.page_file is not None:
            outcome.report["dimensions"] = curve(cells, plan, models, outcome.report["lost"], status.doing)
        status.doing("attacking")
        add_attacks(outcome.report, cells, outcome.partition.published(cells))
        status.doing("writing")
        order = order_of(plan.columns, rows)
        if history is not None:
            added = published(
                history,
                rows,
                cells,
                outcome.partition,
                models,
                lambda name, values: hierarchy(name, plan.columns[name], values),
            )
            outcome.report["models"] += stack.enter_context(added)
        put(rows, target, order, cells, outcome.partition, masks_of(plan.columns), escape_formulas)
        log.published(plan, order, [model["model"] for model in outcome.report["models"]], target)
        if recoding_file is not None:
            files.write_text(recoding_file, outcome.recoding(plan).text())
    report = report_files.report(outcome.report, out.name if out else str(into))
    if plan.algorithm is None and outcome.levels is None and not plan.local:
        number = len(cells.hierarchies)
        report.note(f"{number} quasi-identifiers are too many for one level per column; mondrian recoded them")
    if dropped := [name for name, column in plan.columns.items() if column.pseudonym is not None]:
        why = "pseudonyms would link the rows of a person; smc publish pseudonyms makes them, without recoding"
        report.note(f"dropped: {listed(dropped)}: {why}")
    note_beginning(report, history)
    if not plan.named("sensitive"):
        report.note("no column is sensitive: rows of a class may still reveal facts about their people")
    report.written(into and f"table {into}", *outputs.values())
    if lost := sorted((share, name) for name, share in outcome.report["lost"].items() if share > MOST)[::-1]:
        shares = ", ".join(f"{quoted(name)} {share:.0%}" for share, name in lost[:MOST_NAMED])
        report.note(f"most is lost of {shares}: add rules for them, or use fewer quasi-identifiers or a smaller k")
    return report


@command("apply", "smc publish apply --recoding recoding.json --data june.csv --out june-public.csv", group)
def apply_command(
    recoding_file: Path = option("Recoding written by smc publish anonymise."),
    data: str = option("Later rows with the same columns.", "SOURCE"),
    table: str | None = TABLE,
    out: Path | None = OUT,
    into: str | None = INTO,
    max_suppressed: float | None = option("Maximum share of suppressed rows  [as in the recoding]", Between(0, 1)),
    public: str | None = option(
        "Table of all people who could be among these rows. The model presence needs it.", "SOURCE"
    ),
    public_table: str | None = option("Table of --public, if that is a database.", "NAME"),
    escape_formulas: bool = ESCAPE,
    force: bool = FORCE,
    published_before: HistoryOptions = settings(HistoryOptions),
    record: Record = settings(Record),
    report_files: ReportFiles = settings(ReportFiles),
) -> Report:
    """Recode later rows by an earlier recoding, and check its models on these rows.

    Rows are suppressed if they are in no class of the recoding, or in a class that fails a model. If their share is
    above --max-suppressed, nothing is written.
    """
    from parties.alone.attacks.recoded import add_attacks
    from parties.alone.publish.applying import apply
    from parties.alone.publish.recoding.recoding import load

    target = _target(out, into)
    outputs = {"--out": out, **report_files.outputs}
    history = published_before.load()
    inputs = [recoding_file, *paths(data), *(paths(public) if public else [])]
    check_new(outputs, inputs, record.config_file, force, {"--history": published_before.history_file})
    source = chosen(data, table, record.config_file)
    register = None if public is None else place(public, public_table)
    recoding = load(recoding_file)
    if recoding.history is not None and history is not None and not history.versions:
        raise InputError(
            f"--history: {history.path} has no publication yet; give the history file of the recoding's plan"
        )
    if source.party_table is None:  # later rows come from the source of the first ones
        source = source.model_copy(update={"format": recoding.format})
        source.read_columns_as(recoding.formats())
    if register is not None:
        register.read_columns_as(recoding.formats())
    with record.of("apply") as log, console.progress("recoding"):
        outcome = apply(recoding, source, target, max_suppressed, register, escape_formulas, history)
        applied = outcome.report
        add_attacks(applied, outcome.cells, outcome.partition.published(outcome.cells))
        log.published(source, recoding.published(), [model["model"] for model in applied["models"]], target)
    report = report_files.report(applied, out.name if out else str(into))
    if "unchecked" in applied:
        why = "one party cannot count both parties' rows"
        report.note(f"recoded, but not checked: {', '.join(applied['unchecked'])} ({why})")
    note_beginning(report, history)
    report.written(into and f"table {into}", *outputs.values())
    return report


def _target(out: Path | None, into: str | None) -> Path | str:
    """Return the target of rows: a file, or a table of this name; raise InputError unless exactly one is given."""
    if (out is None) == (not into):
        raise InputError("--out: give either --out, a file, or --into, a table of the source's database")
    return out if out is not None else str(into)


def _is_key(name: str, rows: int, distinct: int, low: float, high: float) -> bool:
    """Return whether `smc prepare` takes a column of whole numbers for a key."""
    from parties.alone.preparing.columns import ColumnProfile
    from parties.alone.preparing.proposing import is_key

    return is_key(ColumnProfile(name, "integer", rows, distinct, low=low, high=high))


def _from(plan: Path, source: str) -> str:
    return source if "://" in source else os.path.relpath(source, plan.parent)


def _name(source: str) -> str:
    from parties.sources.settings import public_place

    return public_place(source) if "://" in source else Path(source).name


def _inputs(plan: PublishPlan) -> Iterable[Path]:
    yield from paths(plan.source)
    if plan.public is not None:
        yield from paths(plan.public.source)
    for column in plan.columns.values():
        if column.tree is not None:
            yield column.tree
