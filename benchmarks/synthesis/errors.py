"""The error of synthetic rows of Adult by epsilon: how far their marginals of three columns are from the rows'.

    python -m benchmarks.synthesis.errors --out benchmarks/results             (or: make bench-synthesis-errors)

All rows, dealt to two parties, are released by the joint protocol on the clear engine, at delta 1e-9, and synthesised
by the graphical model. The floor is what as many rows differ by that are drawn from the true ones, with replacement.
What is in the results already is not done again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.private_trees.tables import load
from benchmarks.synthesis.__main__ import DATA, GENERATORS, error, generated, released
from parties.base.files import write_text
from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg
from parties.bench.json_rows import json_rows
from parties.bench.machine import facts
from parties.jobs.release.noise import gauss
from parties.jobs.spending import exact

DELTA = 1e-9
WAYS = {"AIM": PALETTE[6], "MST": PALETTE[1]}
FLOOR = "rows drawn anew"


def draw(rows: Sequence[Mapping[str, Any]]) -> str:
    """The picture as SVG: a line for each way."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    with style({"font.size": 9, "text.color": INK}):
        figure = Figure(figsize=(6.0, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for way, colour in WAYS.items():
            points = sorted((row["epsilon"], row["error"]) for row in rows if row["rows from"] == way)
            if points:
                axes.plot(*zip(*points, strict=True), color=colour, label=way, marker="o", markersize=4, zorder=2)
        floor = next(row["error"] for row in rows if row["rows from"] == FLOOR)
        axes.axhline(floor, color=MUTED, linewidth=1, linestyle=":", label=FLOOR)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylim(0)
        axes.set_xlabel("epsilon, at delta 1e-9")
        axes.set_ylabel("error of marginals of three")
        axes.grid(color=RULE, linewidth=0.5, alpha=0.6, zorder=1)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["bottom", "left"]].set_color(RULE)
        axes.tick_params(which="both", color=RULE, labelcolor=INK)
        axes.legend(frameon=False)
        return svg(figure, Title="error of synthetic rows of Adult by epsilon")


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Folder of the tables.")
@click.option("--epsilons", default="0.1,0.3,1,3,10", show_default=True, help="With commas between them.")
@click.option("--ways", default=",".join(WAYS), show_default=True, help="The same.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Where the results go.")
def main(data: Path, epsilons: str, ways: str, out: Path) -> None:
    table, file = load(data, "adult"), out / "synthesis_errors.json"
    true, domains = np.column_stack([table.values, table.labels]), (*table.domains, table.classes)
    found: list[dict[str, Any]] = json.loads(file.read_text())["rows"] if file.exists() else []
    if not found:
        again = true[np.random.default_rng(1).integers(0, len(true), len(true))]
        found = [{"rows from": FLOOR, "error": round(error(true, again, domains), 4)}]
    there = {(row["rows from"], row.get("epsilon")) for row in found}
    for epsilon, way in product(map(float, epsilons.split(",")), ways.split(",")):
        if (way, epsilon) not in there:
            rho = gauss(exact(epsilon), exact(DELTA), 1, "add-remove").loss.amount
            start = time.perf_counter()
            measured, seed = released(true, domains, way, rho)
            made = generated(GENERATORS["graphical"], domains, measured, len(true), seed)
            row = {"rows from": way, "epsilon": epsilon, "rho": round(float(rho), 6), "measured": len(measured)}
            row["error"] = round(error(true, made, domains), 4)
            found.append(row | {"seconds": round(time.perf_counter() - start, 1)})
            click.echo(json.dumps(found[-1]))
        document = {"machine": facts(("numpy",)), "delta": DELTA, "rows": found}
        write_text(file, json_rows(document) + "\n")
    write_text(out / "synthesis_errors.svg", draw(found))


if __name__ == "__main__":
    main()
