"""`smc attack reconstruct` and `counts`: rows rebuilt from published tables, and from noisy counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import csv_text, instead, quoted
from parties.commands.attack_files import NAMES, SEED, cells_of, column_of
from parties.commands.options import FILE, Between
from parties.commands.outputs import FORCE, check_new
from parties.commands.rows import CONFIG
from parties.commands.signature import command, option
from parties.jobs.spending import exact
from smc.errors import InputError

MOST_PEOPLE, MOST_QUESTIONS = 1_000, 10_000  # a few seconds of least squares
COUNTED = {
    "people": "{people:,}",
    "questions answered": "{answered:,} of {questions:,}",
    "epsilon of all answers": "{spent:g}",
    "right": "{right:.1%} (by chance {by_chance:.1%}, possible at most {possible:.1%})",
}
POSSIBLE = {
    "columns": "{columns:list}",
    "rows": "{rows:,}",
    "hidden counts that follow from the tables": "{hidden_told:,} of {hidden:,}",
    "combinations that could have rows": "{combinations:,}",
}
REBUILT = {
    "rows rebuilt, on average": "?{rebuilt:.1%} (by chance {by_chance:.1%})",
    "right among the rows in all draws": "?{right_of_those_in_all_draws:.1%}",
}


@command("reconstruct", "smc attack reconstruct --table county*benefit benefits.csv --table county*age ages.csv")
def reconstruct_command(
    tables: tuple[tuple[str, Path], ...] = option(
        "Columns of a published table of counts, joined by *, and its file; once per table.",
        click.Tuple([str, FILE]),
        flag="--table",
        metavar="COLUMN[*COLUMN...] FILE",
        required=True,
    ),
    slack: int = option("Maximum error of a published count, by rounding or noise  [0]", click.IntRange(0), default=0),
    truth: Path | None = option("Your rows, to count the rebuilt ones."),
    draws: int = option(
        "Number of possible tables to draw. More draws give a better estimate of certainty  [20]",
        click.IntRange(1, 1000),
        default=20,
    ),
    seconds: int = option(
        "Time limit in seconds for proving that rows are certain  [60]", click.IntRange(0), default=60
    ),
    out: Path | None = option("Write the rebuilt rows, most certain first, CSV."),
    config_file: Path | None = CONFIG,
    force: bool = FORCE,
) -> Report:
    """Rebuild rows from published tables.

    The attack searches for tables of rows that give all published counts, by integer programming. It draws many of
    them. The more of them have a row, the more certain it is (Dick et al. 2023). A published table is a file of smc
    publish table, or a CSV file with a line for every count. With --config, a table of party.toml gives the formats of
    the cells of --truth.
    """
    from parties.alone.attacks import reconstruction
    from parties.alone.attacks.tables import counts_of

    check_new({"--out": out}, [*(path for _, path in tables), truth], config_file, force)
    random = np.random.default_rng(SEED)
    with console.progress("reading") as status:
        counts = [count for name, path in tables for count in counts_of(name.split("*"), path)]
        problem = reconstruction.programme(counts, slack)
        drawn = reconstruction.solutions(problem, draws, random, status.doing)
        proved = reconstruction.certain(problem, drawn, seconds, status.doing)
        hidden = reconstruction.bounds_of_hidden(problem, seconds, status.doing)
        ranking = reconstruction.ranked(drawn)
        rows = round(float(drawn.sum(axis=1).mean()))
        data: dict[str, Any] = {
            "columns": [*problem.axes],
            "rows": rows,
            "combinations": problem.combinations.shape[1],
            "draws": draws,
            "certain": int(proved.sum()),
            "in_all_draws": sum(share == 1 for _, _, share in ranking),
            "hidden": len(problem.hidden),
            "hidden_told": sum(least == most for least, most in hidden.values()),
            "hidden_bounds": [
                {"values": dict(values), "least": least, "most": most} for values, (least, most) in hidden.items()
            ],
        }
        if truth is not None:
            mine = cells_of(truth, config_file)
            people = list(zip(*(column_of(mine, name) for name in problem.axes), strict=True))
            true = reconstruction.true_counts(problem, people)
            hits = reconstruction.rebuilt(drawn, true)
            data |= {"true_rows": len(people), "rebuilt": hits / len(people)}
            data["by_chance"] = reconstruction.by_chance(problem, people, draws, random) / len(people)
            sure = [true[unknown] >= number for unknown, number, share in ranking if share == 1]
            data["right_of_those_in_all_draws"] = float(np.mean(sure)) if sure else None
    if out is not None:
        lines = [(*problem.values(u), n, f"{share:.3g}", int(n <= proved[u])) for u, n, share in ranking]
        header = [*problem.axes, "number", "share_of_draws", "certain"]
        files.write_text(out, csv_text([header, *lines]), private=True)
    report = Report(data, width=NAMES)
    report.facts(POSSIBLE)
    report.fact("rows that are certain", f"{data['certain']:,} ({data['certain'] / max(1, rows):.1%})")
    report.facts({f"rows in all of {draws} solutions": "{in_all_draws:,}"} | REBUILT)
    return report


@command("counts", "smc attack counts --data people.csv --column smoker=yes --questions 2000 --epsilon 1 --budget 4")
def counts_command(
    data: Path = option("Your rows, one per person, CSV."),
    column: str = option("Fact that the attack rebuilds for each person.", "COLUMN=VALUE"),
    questions: int = option(
        "Number of counts, each over a random subset of the people.", click.IntRange(1, MOST_QUESTIONS)
    ),
    epsilon: float = option("Privacy loss of each count.", Between(2.0**-20, 16)),
    budget: float | None = option(
        "Total epsilon of all counts. Counts beyond it are refused  [no budget]", Between(0, 1e6)
    ),
    config_file: Path | None = CONFIG,
) -> Report:
    """Rebuild a fact about each person from noisy counts.

    The attack counts the people with the fact in many random subsets, and solves for every person by least squares
    (Dinur, Nissim 2003). Each count has discrete Laplace noise of scale 1 / epsilon. Without a budget, enough
    questions disclose nearly everybody. With --config, a table of party.toml gives the formats of the
    cells of --data.
    """
    from parties.alone.attacks.noisy_counts import most_success, success

    name, mark, value = column.partition("=")
    if not mark:
        raise InputError(f"--column: {column!r} must be COLUMN=VALUE, such as smoker=yes")
    cells = column_of(cells_of(data, config_file), name)
    truth = np.array([cell == value for cell in cells])
    if not 2 <= len(truth) <= MOST_PEOPLE:
        raise InputError(f"--data: {data} has {len(truth):,} rows; give 2 to {MOST_PEOPLE:,} rows, one per person")
    if truth.all() or not truth.any():
        none = f"no row has {quoted(value)}{instead(value, dict.fromkeys(cells))}"
        which = f"every row has {quoted(value)}" if truth.all() else none
        raise InputError(f"--column: {which}; name a value that only some rows of column {quoted(name)} have")
    answered = questions if budget is None else min(questions, int(exact(budget) / exact(epsilon)))
    if not answered:
        raise InputError(f"--budget: {budget:g} is less than one count's epsilon, {epsilon:g}; give more")
    chance = max(truth.mean(), 1 - truth.mean())
    with console.progress("solving"):
        right = success(truth, answered, epsilon, np.random.default_rng(SEED))
    report = Report(
        {
            "people": len(truth),
            "questions": questions,
            "answered": answered,
            "spent": answered * epsilon,
            "right": right,
            "by_chance": float(chance),
            "possible": most_success(float(chance), answered * epsilon),
        },
        width=NAMES,
    )
    report.facts(COUNTED)
    return report
