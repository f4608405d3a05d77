"""`smc attack reconstruct`: rows rebuilt from published tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import csv_text
from parties.commands.attack_files import NAMES, SEED, cells_of, column_of
from parties.commands.options import FILE
from parties.commands.outputs import FORCE, check_new
from parties.commands.rows import CONFIG
from parties.commands.signature import command, option

POSSIBLE = {
    "columns": "{columns:list}",
    "rows": "{rows:,}",
    "hidden counts that are told": "{hidden_told:,} of {hidden:,}",
    "combinations that could have rows": "{combinations:,}",
}
REBUILT = {
    "rebuilt, in the mean": "?{rebuilt:.1%} (by chance {by_chance:.1%})",
    "of those in all draws right": "?{right_of_those_in_all_draws:.1%}",
}


@command("reconstruct", "smc attack reconstruct --table county*benefit benefits.csv --table county*age ages.csv")
def reconstruct_command(
    tables: tuple[tuple[str, Path], ...] = option(
        "Columns of a published table of counts and its file; once per table.",
        click.Tuple([str, FILE]),
        flag="--table",
        metavar="COLUMN[*COLUMN...] FILE",
        required=True,
    ),
    slack: int = option("Largest error of a count by rounding or noise  [0]", click.IntRange(0), default=0),
    truth: Path | None = option("Your rows, to count the rebuilt ones."),
    draws: int = option("Number of solutions to draw  [20]", click.IntRange(1, 1000), default=20),
    seconds: int = option("Seconds for proofs that a row is certain  [60]", click.IntRange(0), default=60),
    out: Path | None = option("Write the rebuilt rows, surest first, CSV."),
    config_file: Path | None = CONFIG,
    force: bool = FORCE,
) -> Report:
    """Rebuild rows from published tables.

    The attack searches for rows that give all counts of the tables. A table is a file of smc publish table, or has a
    line for every count. Integer programmes draw many solutions. A row is more certain if more solutions have it (Dick
    et al. 2023). --config has the spelling of --truth.
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
