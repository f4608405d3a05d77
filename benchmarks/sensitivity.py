"""Error of a private median by each of six ways, against the number of rows.

    python -m benchmarks.sensitivity [--out DIRECTORY]                              (or: make bench-sensitivity)

Whole numbers from 0 to 100 (rounded from a normal law of mean 60 and deviation 12), epsilon 1, delta 10^-6 (not for
global and choice), one row replaced. The figure is the mean absolute error of 400 answers, moved into 0 to 100, against
the exact median. The proposed bound is 3. If its test gives no answer, the answer is the middle, 50. Blocks have 10
rows, and the function of each is its median.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from parties.alone.sensitivity import ways
from parties.alone.sensitivity.blocks import FUNCTIONS, block_table
from parties.alone.sensitivity.draws import private
from parties.alone.sensitivity.median import Table
from parties.base import files, pictures
from parties.bench.json_rows import json_rows
from protocols.arrays import Numbers

LOW, HIGH, BOUND, BLOCK = 0, 100, 3, 10
EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
ROWS = (31, 101, 301, 1001, 3001, 10001)
ANSWERS, DEALT = 400, 20
NAMES = {
    "choice": "choice (take this)",
    "smooth": "smooth sensitivity",
    "propose": f"propose {BOUND}, test, release",
    "blocks": f"blocks of {BLOCK} rows",
    "global": "global sensitivity",
    "bound": "private bound",
}
Errors = dict[str, dict[int, float]]


def errors(rows: int, answers: int = ANSWERS) -> dict[str, float]:
    """Return the mean absolute error of each way on this number of rows."""
    numbers = np.random.default_rng(rows).normal(60, 12, rows).round().astype(np.int64)
    table = Table(numbers, LOW, HIGH)
    passed, proposed = ways.by_propose(table, BOUND, EPSILON, DELTA, private, answers)
    found: dict[str, Numbers] = {
        "choice": ways.by_choice(table, EPSILON, private, answers),
        "smooth": ways.by_smooth(table, EPSILON, DELTA, private, answers),
        "propose": np.where(passed, proposed, (LOW + HIGH) // 2),
        "blocks": _blocks(numbers, answers),
        "global": ways.by_global(table, EPSILON, private, answers),
        "bound": ways.by_bound(table, EPSILON, DELTA, private, answers)[1],
    }
    return {way: float(np.abs(np.clip(told, LOW, HIGH) - table.median).mean()) for way, told in found.items()}


def _blocks(numbers: Numbers, answers: int) -> Numbers:
    """Return answers by blocks; the rows are dealt into blocks anew a few times."""
    dealt = min(DEALT, answers)
    tables = (block_table(numbers, FUNCTIONS["median"], len(numbers) // BLOCK, LOW, HIGH) for _ in range(dealt))
    return np.concatenate([ways.by_smooth(one, EPSILON, DELTA, private, answers // dealt) for one in tables])


def draw(found: Errors) -> str:
    """Draw errors against rows as SVG."""
    from matplotlib.figure import Figure

    with pictures.style({"font.size": 9}):
        figure = Figure(figsize=(7.2, 4.2))
        axes = figure.add_axes((0.09, 0.13, 0.6, 0.77))
        for place, (way, name) in enumerate(NAMES.items()):
            xs = list(found[way])
            axes.plot(
                xs, list(found[way].values()), marker="o", markersize=4, label=name, color=pictures.PALETTE[place]
            )
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(0, 60)
        axes.set_xlabel("rows")
        axes.set_title(f"mean absolute error of a median from {LOW} to {HIGH}, epsilon 1", loc="left", fontsize=10)
        axes.grid(color=pictures.RULE, linewidth=0.5, alpha=0.6)
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
        return pictures.svg(figure, Title="Error of six private medians against the number of rows")


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write sensitivity.json and .svg there.")
def main(out: Path | None) -> None:
    """Measure, print and draw."""
    measured = {rows: errors(rows) for rows in ROWS}
    found: Errors = {way: {rows: one[way] for rows, one in measured.items()} for way in NAMES}
    document: dict[str, Any] = {"epsilon": float(EPSILON), "delta": float(DELTA), "answers": ANSWERS, "error": found}
    print(json.dumps(document, indent=2))
    if out is not None:
        files.write_text(out / "sensitivity.json", json_rows(document) + "\n")
        files.write_text(out / "sensitivity.svg", draw(found))


if __name__ == "__main__":
    main()
