"""Errors of all pairs and threes of columns of synthetic rows, by epsilon, on two tables; beside AIM on mbi 2.

    python -m benchmarks.synthesis.marginals --out benchmarks/results [--peer FOLDER]       (or: make bench-marginals)

The jobs are those of `smc synthesise` with its defaults, and with `--select mst`. They run on the clear engine, where
opened numbers have the same law as on other engines. Each party has half of the rows, and the row bound that `smc
prepare` writes for them. The error of a marginal is the total variation distance to that of the rows. The floor is the
error of as many rows drawn from the true ones, with replacement. `--peer` names a folder with the output files of
`synthesis/marginals_peer.py`, named TABLE-EPSILON.npz; they are measured in the same way. Without it, the peer's kept
results stay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.clear import last_state
from benchmarks.peers.programs import DATA
from benchmarks.private_trees.tables import load
from benchmarks.synthesis.__main__ import error
from parties.alone.preparing.writing import row_bound
from parties.base.files import write_text
from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg
from parties.bench.json_rows import json_rows
from parties.bench.machine import facts
from parties.jobs.kinds.synthesise import Synthesise
from parties.tables.schema import Schema
from protocols.arrays import Codes
from protocols.counts import RowCounts

TABLES, EPSILONS, DELTA = ("adult", "car"), ("0.1", "0.5", "1", "2"), 1e-9
WAYS: dict[str, dict[str, str]] = {"AIM": {}, "MST": {"select": "mst"}}  # besides epsilon and delta
PEER, FLOOR = "mbi 2, AIM", "rows drawn anew"
COLOURS = {"AIM": PALETTE[6], "MST": PALETTE[1]}
Row = dict[str, Any]


def task_of(domains: Sequence[int], rows: int, epsilon: str, way: str) -> Synthesise:
    """Return the job of two parties with half of the rows each."""
    schema = Schema({f"c{i}": tuple(map(str, range(size))) for i, size in enumerate(domains)})
    asked = {"epsilon": float(epsilon), "delta": DELTA, "max_rows": row_bound(-(-rows // 2)), **WAYS[way]}
    return Synthesise.canonical(Synthesise.Settings.model_validate(asked), schema)


def made(task: Synthesise, rows: Codes) -> tuple[Codes, int]:
    """Return the synthetic rows that both parties get, and the number of measured marginals."""

    def own(party: int) -> Any:
        mine = rows[party::2]
        return task.own_rows(RowCounts(task.work.domains[1:], task.work.domains[0], mine[:, 1:], mine[:, 0]))

    state = last_state(task, own)  # in `work` the target is the last column
    return state.rows.astype(np.int64), len(state.measured)


def errors(rows: Codes, synthetic: Codes, domains: tuple[int, ...]) -> dict[str, float]:
    """Return the mean error of all pairs of columns, and of all threes."""
    return {word: error(rows, synthetic, domains, many) for word, many in (("pairs", 2), ("threes", 3))}


def ours(task: Synthesise, rows: Codes) -> Row:
    """Run our way once, and return the figures."""
    start = time.process_time()
    synthetic, measured = made(task, rows)
    seconds = time.process_time() - start
    return errors(rows, synthetic, task.work.domains) | {"measured": measured, "seconds": seconds}


def theirs(path: Path, rows: Codes, domains: tuple[int, ...]) -> list[Row]:
    """Return the figures of the runs in a peer's file."""
    with np.load(path) as kept:
        return [
            errors(rows, one, domains) | {"seconds": float(seconds)}
            for one, seconds in zip(kept["rows"], kept["seconds"], strict=True)
        ]


def means(runs: Sequence[Row]) -> Row:
    """Return the mean of each figure over some runs, and the standard deviation of the error of pairs."""
    rounded = {key: round(float(np.mean([one[key] for one in runs])), 4) for key in runs[0]}
    spread = np.std([one["pairs"] for one in runs], ddof=1) if len(runs) > 1 else 0
    return {"runs": len(runs), **rounded, "spread": round(float(spread), 4)}


def draw(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw the error of threes of Adult as SVG, a line for each way."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    of_adult = [row for row in rows if row["table"] == "adult"]
    with style({"font.size": 9, "text.color": INK}):
        figure = Figure(figsize=(6.0, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for way, colour in COLOURS.items():
            points = [(float(row["epsilon"]), row["threes"]) for row in of_adult if row["way"] == way]
            if points:
                axes.plot(*zip(*points, strict=True), color=colour, label=way, marker="o", markersize=4, zorder=2)
        floor = next(row["threes"] for row in of_adult if row["way"] == FLOOR)
        axes.axhline(floor, color=MUTED, linewidth=1, linestyle=":", label=FLOOR)
        axes.set_xscale("log")
        axes.set_xticks([float(epsilon) for epsilon in EPSILONS], EPSILONS)
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
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
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Runs of each way and epsilon.")
@click.option("--peer", type=click.Path(path_type=Path, file_okay=False), help="Folder of what the peer made.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Where the results go.")
def main(data: Path, runs: int, peer: Path | None, out: Path) -> None:
    file, found = out / "synthesis_errors.json", list[Row]()
    kept: list[Row] = json.loads(file.read_text())["rows"] if file.exists() else []
    for name in TABLES:
        table = load(data, name)
        rows, domains = np.column_stack([table.values, table.labels]), (*table.domains, table.classes)
        again = rows[np.random.default_rng(1).integers(0, len(rows), len(rows))]
        found.append({"table": name, "rows": len(rows), "way": FLOOR, **means([errors(rows, again, domains)])})
        for epsilon in EPSILONS:
            about = {"table": name, "epsilon": epsilon}
            for way in WAYS:
                task = task_of(domains, len(rows), epsilon, way)
                found.append({**about, "way": way, "rho": round(float(task.work.rho), 6)})
                found[-1] |= means([ours(task, rows) for _ in range(runs)])
                click.echo(json.dumps(found[-1]))
            if peer is not None and (path := peer / f"{name}-{epsilon}.npz").exists():
                found.append({**about, "way": PEER, **means(theirs(path, rows, domains))})
                click.echo(json.dumps(found[-1]))
            elif peer is None:
                found += [row for row in kept if about.items() <= row.items() and row["way"] == PEER]
    document = {"machine": facts(("numpy",)), "delta": DELTA, "rows": found}
    write_text(file, json_rows(document) + "\n")
    write_text(out / "synthesis_errors.svg", draw(found))


if __name__ == "__main__":
    main()
