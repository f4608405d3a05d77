"""`smc local`: answers randomised before they leave a device, and estimates from many of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console, files
from parties.base.report import Report
from parties.commands.options import FILE
from parties.commands.outputs import FORCE, check_new
from parties.commands.rows import TABLE, opened, paths
from parties.commands.signature import command, option
from protocols.release.promise import epsilon_warnings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.local.mechanism import Mechanism, Reports
    from parties.alone.local.plan import LocalPlan

PLAN: Any = click.option(
    "--plan", "plan_file", type=FILE, required=True, help="Plan with the question and the mechanism, a TOML file."
)
SOURCES: Any = click.option(
    "--reports", "sources", type=FILE, multiple=True, required=True, help="File of reports or of a tally; repeatable."
)


@click.group("local", epilog="Example:  smc local report --plan local.toml --key device.key --value Padua")
def group() -> None:
    """Randomise answers at the source, and decode the answers of many people. You need no network or second party."""


@command("key", "smc local key --total 3 --out device.key", group)
def key_command(
    out: Path = option("File for the new key."),
    total: float | None = option(
        "Epsilon of all answers of the person together. A file beside the key keeps account of it  [no total]",
        "EPSILON",
    ),
    total_delta: float | None = option(
        "Delta of all answers of the person together. Only the mechanism gauss spends delta  [none]", "DELTA"
    ),
) -> None:
    """Make the key of a device. With it, one value of a question always gets one random answer.

    If the key is lost, restore it from a backup. Never make a second one: fresh noise on an answer would reveal more.
    """
    from parties.alone.local import account, device

    if total is not None:
        files.ensure_absent(account.place(out))
    holder = device.create(out, total, total_delta)
    if total is not None:
        account.create(out, holder)
    console.err.print(f"written: {out}" + ("" if total is None else f" and {account.place(out)}"))
    for line in epsilon_warnings(total):
        console.err.print(line)


@command("spent", "smc local spent --key device.key", group)
def spent_command(key_file: Path = option("Key of the device, made with --total.")) -> Report:
    """Show what a person's answers have spent, and what is left."""
    from parties.alone.local import account, device

    holder = device.load(key_file)
    return account.report_of(account.document(account.load(key_file, holder), holder))


@command("plan", "smc local plan --values 1000 --epsilon 1 --reports 100000", group)
def plan_command(
    values: int | None = option("Question about a category: number of categories.", click.IntRange(2, 1 << 16)),
    texts: int | None = option("Question about a text: number of candidate texts.", click.IntRange(1)),
    low: float | None = option("Question about a number: smallest possible number."),
    high: float | None = option("Question about a number: largest possible number."),
    epsilon: float = option("Privacy loss of a person's answer."),
    delta: float | None = option("Question about a number: also try the mechanism gauss, with this delta."),
    count: int = option("Number of people who answer.", click.IntRange(1, 1 << 40), flag="--reports"),
) -> Report:
    """Choose a mechanism by its error for the given number of reports. Error is the estimate's standard deviation."""
    from parties.alone.local import advice

    if (low is None) != (high is None) or [values, texts, low].count(None) != 2:
        raise InputError("--values: give either --values, or --texts, or --low and --high")
    if delta is not None and low is None:
        raise InputError("--delta: goes with numbers (--low, --high); remove it")
    if values is not None:
        kinds = advice.of_categories(values, epsilon)
    elif low is not None and high is not None:
        kinds = advice.of_numbers(low, high, epsilon, delta)
    else:
        kinds = advice.of_texts(epsilon)
    return advice.report_of(advice.document(kinds, count, values or texts))


@command("report", "smc local report --plan local.toml --key device.key --value Padua", group)
def report_command(
    plan_file: Path = PLAN,
    key_file: Path | None = option("Key of the device; needed unless the plan has memoise = false."),
    value: str | None = option("Answer of this person."),
    data: str | None = option("Answers of many people, for a trial: a file, or the URL of a database.", "SOURCE"),
    table: str | None = TABLE,
    column: str | None = option("Column of --data with the answers  [required with --data]", "NAME"),
    person: str | None = option("Column that identifies the person  [each row is a person]", "NAME"),
    out: Path | None = option("File for the reports, one per line  [standard output]"),
    force: bool = FORCE,
) -> None:
    """Randomise an answer on the device of the person. The result, a report, is a line of text for the collector."""
    from parties.alone.local import account, device, reports
    from parties.alone.local.answers import same
    from parties.alone.local.plan import load

    plan, mechanism = load(plan_file)
    if (value is None) == (data is None):
        raise InputError("--value: give exactly one of --value (one answer) and --data with --column (many answers)")
    if data is not None and column is None:
        raise InputError("--column is missing: give the column of --data with the answers")
    if plan.memoise and key_file is None:
        raise InputError(
            "--key is missing: answers of this plan last and need the device's key; make it with smc local key"
        )
    accounts = [] if key_file is None else [account.place(key_file)]
    inputs = [plan_file, key_file, *accounts, *([] if data is None else paths(data))]
    check_new({"--out": out}, inputs, None, force)
    holder = None if key_file is None else device.load(key_file)
    key = holder.key if plan.memoise and holder is not None else None
    if holder is not None and holder.total is not None and data is not None:
        raise InputError(
            f"{key_file}: a key with a total belongs to one person; give --value, or another key for --data"
        )
    if data is None or column is None:
        answered = _one(plan, mechanism, value or "", key)
        if key_file is not None and holder is not None and holder.total is not None:  # before anything is sent
            charged = account.charge(key_file, holder, plan, mechanism, same(mechanism, value or ""))
            console.err.print(account.summary(account.document(charged, holder)))
        batches = iter([answered])
    else:
        batches = _many(plan, mechanism, data, table, column, person, key)
    if out is None:
        first = next(batches)  # report an impossible answer before anything is printed
        click.echo((reports.header(plan) + reports.lines(first)).decode(), nl=False)
        for part in batches:
            click.echo(reports.lines(part).decode(), nl=False)
        return
    written = 0
    with files.replacing(out) as stream, console.progress("answering") as line:
        stream.write(reports.header(plan))
        for part in batches:
            stream.write(reports.lines(part))
            written += len(part)
            line.doing(f"answering, {written:,} reports so far")
    console.err.print(f"written: {out}, {written:,} reports")


@command("tally", "smc local tally --plan local.toml --reports monday.txt --out monday.json", group)
def tally_command(
    plan_file: Path = PLAN,
    sources: tuple[Path, ...] = SOURCES,
    out: Path = option("File for the tally, JSON; tallies of several collectors can be added."),
    force: bool = FORCE,
) -> None:
    """Count reports, so that another collector can add them to its own. Tallies are as private as the reports."""
    from parties.alone.local import reports
    from parties.alone.local.plan import load

    plan, mechanism = load(plan_file)
    check_new({"--out": out}, [plan_file, *sources], None, force)
    with console.progress("counting"):
        tally = reports.total(
            (reports.read_tally(path, plan, mechanism) for path in reports.each_once(sources)), mechanism
        )
    files.write_text(out, reports.tally_document(plan, tally))
    console.err.print(f"written: {out}")


@command("decode", "smc local decode --plan local.toml --reports monday.txt --page found.html", group)
def decode_command(
    plan_file: Path = PLAN,
    sources: tuple[Path, ...] = SOURCES,
    candidate_file: Path | None = option(
        "File of texts to look for, one per line  [required with rappor and sketch]", flag="--candidates"
    ),
    projected: bool = option(
        "Also print the nearest shares that are at least 0 and add up to 1: less error, but biased."
    ),
    delta: float | None = option(
        "Print the privacy loss at this delta if somebody shuffles all reports. Nothing guarantees the shuffling.",
        click.FloatRange(0, 1, min_open=True, max_open=True),
        flag="--shuffled",
        metavar="DELTA",
    ),
    page: Path | None = option("Write the estimates as an HTML page with a picture of the intervals."),
    force: bool = FORCE,
) -> Report:
    """Estimate the distribution of all answers, with intervals. The estimates are unbiased, except those of rappor."""
    from parties.alone.local import decoded, reports
    from parties.alone.local.plan import load

    plan, mechanism = load(plan_file)
    if (mechanism.about == "texts") != (candidate_file is not None):
        raise InputError(
            f"--candidates is missing: mechanism {plan.mechanism} needs a list of texts; give a file"
            if candidate_file is None
            else f"--candidates: goes with mechanisms about texts, not with {plan.mechanism}; remove it"
        )
    check_new({"--page": page}, [plan_file, candidate_file, *sources], None, force)
    candidates = () if candidate_file is None else reports.candidates(candidate_file)
    with console.progress("decoding"):
        tally = reports.total(
            (reports.read_tally(path, plan, mechanism) for path in reports.each_once(sources)), mechanism
        )
        count = mechanism.count(tally)
        if not count:
            raise InputError("--reports: there are no reports in the files; collect some first")
        document = decoded.document(plan, mechanism, mechanism.estimate(tally, candidates), count, projected, delta)
    if page is not None:
        files.write_text(page, decoded.page(document))
    report = decoded.report_of(document)
    report.written(page)
    return report


def _one(plan: LocalPlan, mechanism: Mechanism, value: str, key: bytes | None) -> Reports:
    import numpy as np

    from parties.alone.local.answers import answer
    from parties.alone.local.coins import Coins

    return answer(mechanism, [value], Coins(np.zeros(1, dtype=np.uint64), plan.digest(), key))


def _many(
    plan: LocalPlan,
    mechanism: Mechanism,
    data: str,
    table: str | None,
    column: str,
    person: str | None,
    key: bytes | None,
) -> Iterator[Reports]:
    import numpy as np

    from parties.alone.local.answers import AT_ONCE, answer, people
    from parties.alone.local.coins import Coins

    with opened(data, table) as rows:
        seen = 0
        for batch in rows.engine.batches(rows.select([column, *([] if person is None else [person])])):
            for part in (batch.slice(start, AT_ONCE) for start in range(0, len(batch), AT_ONCE)):
                numbers = np.arange(seen, seen + len(part), dtype=np.uint64)
                who = numbers if person is None else people(part.column(1).to_pylist())
                try:
                    yield answer(mechanism, part.column(0).to_pylist(), Coins(who, plan.digest(), key))
                except InputError as error:
                    place = f"{rows.engine.place}, rows {seen + 1} to {seen + len(part)}"
                    raise InputError(f"{place}: {error}") from None
                seen += len(part)
        if not seen:
            raise InputError(f"{rows.engine.place}: there are no rows; give answers")
