"""Accuracy of trees from blurred rows, beside a prototype's figures.

    python -m benchmarks.blurring [--rows N] [--seeds N] [--out FOLDER]            (or: make bench-blurring)

Five functions of Agrawal, Srikant 2000 on made-up people; all nine columns are blurred, the test rows (20,000) are not.
Privacy is the interval at 95% confidence as a share of each column's range. Every figure is the median of the seeds, in
per cent; all is drawn from the seeds, so a run can be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import credit
from parties.alone.blurring.plan import ColumnBlur
from parties.alone.blurring.strategies import Strategy, learn
from parties.alone.blurring.tree import Growth, leaves, predict
from parties.base import files, pictures
from parties.bench import machine
from parties.bench.json_rows import json_rows

TEST_ROWS = 20_000
CASES = (("uniform", 0.25), ("uniform", 0.5), ("uniform", 1.0), ("uniform", 2.0), ("gaussian", 1.0))
PROTOTYPE = {  # ByClass, 50,000 rows, in the order of CASES: the target, which we may miss by half a point
    1: (98.8, 98.8, 98.1, 98.1, 98.1),
    2: (96.5, 87.9, 77.2, 71.0, 84.4),
    3: (95.7, 89.1, 82.7, 75.7, 84.1),
    4: (96.2, 94.9, 91.3, 87.3, 90.9),
    5: (94.5, 93.6, 90.1, 90.6, 91.1),
}
SLACK = 0.5
MIN_ROWS = 50  # least rows of a leaf
Row = dict[str, Any]


def plan(noise: str, privacy: float) -> dict[str, ColumnBlur]:
    """Return a plan that blurs all nine columns in the same way."""
    return {
        name: ColumnBlur.model_validate(
            {"noise": noise, "low": low, "high": high, "privacy": privacy, "whole": name in credit.WHOLE}
        )
        for name, (low, high) in credit.RANGES.items()
    }


def accuracy(function: int, noise: str, privacy: float, strategy: Strategy, rows: int, seed: int) -> tuple[float, int]:
    """Return the share of true test rows that are classified correctly, and the number of leaves."""
    rng = np.random.default_rng(seed)
    known, asked = credit.people(rows, rng), credit.people(TEST_ROWS, rng)
    how = plan(noise, privacy)
    columns = [column.number(rows) for column in how.values()]
    published = np.stack([column.made.blur(known[name], rng) for name, column in how.items()])
    tree = learn(columns, published, credit.classes(function, known), 2, strategy, Growth(MIN_ROWS), rng)
    codes = np.stack([column.plain(asked[name]) for column, name in zip(columns, how, strict=True)])
    right = predict(tree, codes).argmax(axis=1) == credit.classes(function, asked)
    return float(right.mean()), leaves(tree)


def measure(rows: int, seeds: int) -> list[Row]:
    """Return rows of results: ByClass and untreated for all functions, Global and Local for 2 and 3, and true rows."""
    found = []
    for function in credit.FUNCTIONS:
        strategies: Sequence[Strategy] = ("byclass", "none", *(("global", "local") if function in (2, 3) else ()))
        for strategy in strategies:
            for place, (noise, privacy) in enumerate(CASES):
                found.append(_row(function, noise, privacy, strategy, rows, seeds))
                if strategy == "byclass":
                    found[-1]["prototype"] = PROTOTYPE[function][place]
        found.append(_row(function, "uniform", 1e-6, "none", rows, seeds) | {"strategy": "true rows", "privacy": 0.0})
    return found


def _row(function: int, noise: str, privacy: float, strategy: Strategy, rows: int, seeds: int) -> Row:
    start = time.perf_counter()
    runs = [accuracy(function, noise, privacy, strategy, rows, seed) for seed in range(seeds)]
    seconds = (time.perf_counter() - start) / seeds
    each = [round(100 * share, 2) for share, _ in runs]
    return {
        "function": function,
        "noise": noise,
        "privacy": privacy,
        "strategy": strategy,
        "accuracy": round(float(np.median(each)), 1),
        "each": each,
        "leaves": round(float(np.mean([size for _, size in runs]))),
        "seconds": round(seconds, 2),
    }


def draw(rows: Sequence[Row]) -> str:
    """Draw accuracy against privacy as SVG, a panel a function: uniform noise as lines, Gaussian as crosses.

    The squares are the prototype's: numbers of the paper's own were not to be had.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 3.6), layout="constrained")
    figure.suptitle("squares: a prototype's ByClass, not the paper's figures; crosses: Gaussian noise", fontsize=9)
    styles = {
        "byclass": ("ByClass", "C0"),
        "none": ("untreated", "C3"),
        "local": ("Local", "C2"),
        "global": ("Global", "C1"),
    }
    for panel, function in enumerate(credit.FUNCTIONS):
        axes = figure.add_subplot(1, len(credit.FUNCTIONS), panel + 1)
        mine = [row for row in rows if row["function"] == function]
        for strategy, (label, colour) in styles.items():
            line = [row for row in mine if row["strategy"] == strategy and row["noise"] == "uniform"]
            points = [row for row in mine if row["strategy"] == strategy and row["noise"] == "gaussian"]
            if line:
                axes.plot(
                    [100 * r["privacy"] for r in line],
                    [r["accuracy"] for r in line],
                    "o-",
                    color=colour,
                    label=label,
                    ms=4,
                )
                axes.plot([100 * r["privacy"] for r in points], [r["accuracy"] for r in points], "x", color=colour)
        known = [row for row in mine if "prototype" in row and row["noise"] == "uniform"]
        axes.plot(
            [100 * r["privacy"] for r in known],
            [r["prototype"] for r in known],
            "s",
            mfc="none",
            color="black",
            label="prototype, ByClass",
        )
        true = [row["accuracy"] for row in mine if row["strategy"] == "true rows"]
        axes.axhline(true[0], color="grey", lw=0.8, ls="--", label="true rows")
        axes.set(title=f"function {function}", xlabel="privacy at 95%, % of the range", ylim=(35, 101))
        if not panel:
            axes.set_ylabel("accuracy, %")
        if function == 3:
            axes.legend(fontsize=7, loc="lower left", framealpha=1)
    with pictures.style():
        return pictures.svg(figure, Title="Accuracy of trees from blurred rows against privacy")


@click.command(help=__doc__)
@click.option("--rows", type=click.IntRange(100), default=50_000, show_default=True, help="Blurred rows to learn from.")
@click.option("--seeds", type=click.IntRange(1), default=7, show_default=True, help="The median is shown.")
@click.option("--out", type=click.Path(path_type=Path), help="Write blurring.json and .svg into this folder.")
def main(rows: int, seeds: int, out: Path | None) -> None:
    found = measure(rows, seeds)
    for row in found:
        beside = "" if "prototype" not in row else f"{row['prototype']:8.1f}{row['accuracy'] - row['prototype']:+7.1f}"
        mark = "  below" if "prototype" in row and row["accuracy"] < row["prototype"] - SLACK else ""
        what = f"F{row['function']} {row['strategy']:10}{row['noise']:9}{row['privacy']:6.0%}"
        click.echo(f"{what}{row['accuracy']:8.1f}{beside}{mark}")
    if out is not None:
        document = {"machine": machine.facts(), "rows": rows, "seeds": seeds, "figures": found}
        files.write_text(out / "blurring.json", json_rows(document) + "\n")
        files.write_text(out / "blurring.svg", draw(found))


if __name__ == "__main__":
    main()
