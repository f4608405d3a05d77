"""How far off all pairs and threes of synthetic rows are, by epsilon, on two tables; beside AIM on mbi 2.

    python -m benchmarks.synthesis.marginals [--runs 3] [--tables adult,car] [--peer FOLDER]    (make bench-marginals)

Rows are released with the command's defaults (pairs, delta 1e-9) by the joint protocol on the clear engine, whose law
of what is opened is that of the other engines, and made by the graphical model. The error of a marginal is the total
variation distance to that of the rows, of which there are as many. With `--peer`, a folder with OUT.npz of
`benchmarks/synthesis/marginals_peer.py` as TABLE-EPSILON.npz, what these hold is measured alike.
"""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.private_trees.tables import load
from benchmarks.synthesis.__main__ import DATA, error, generated, released
from parties.alone.synthesis.graphical import Graphical
from parties.base.arrays import Codes
from parties.jobs.release.noise import gauss

EPSILONS = ("0.1", "0.5", "1", "2")
DELTA = Fraction(1, 10**9)


def errors(rows: Codes, synthetic: Codes, domains: tuple[int, ...]) -> dict[str, float]:
    """The mean error of all pairs, and of all threes."""
    ways = {"pairs": 2, "threes": 3}
    return {word: round(error(rows, synthetic, domains, many), 4) for word, many in ways.items()}


def ours(rows: Codes, domains: tuple[int, ...], epsilon: str, how: str) -> dict[str, Any]:
    """One run of AIM or MST."""
    start = time.process_time()
    loss = gauss(Fraction(epsilon), DELTA, 1, "add-remove", 1).loss
    measured, seed = released(rows, domains, how, loss.amount, ways=2)
    synthetic = generated(Graphical(), domains, measured, len(rows), seed)
    seconds = time.process_time() - start
    return {**errors(rows, synthetic, domains), "measured": len(measured), "seconds": round(seconds, 1)}


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Folder of the tables.")
@click.option("--tables", default="adult,car", show_default=True, help="Which, with commas between them.")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Runs of each way and epsilon.")
@click.option("--peer", type=click.Path(path_type=Path, file_okay=False), help="Folder of what the peer made.")
def main(data: Path, tables: str, runs: int, peer: Path | None) -> None:
    for name in tables.split(","):
        table = load(data, name)
        rows, domains = np.column_stack([table.values, table.labels]), (*table.domains, table.classes)
        for epsilon in EPSILONS:
            found = {how: [ours(rows, domains, epsilon, how) for _ in range(runs)] for how in ("AIM", "MST")}
            if peer is not None and (path := peer / f"{name}-{epsilon}.npz").exists():
                with np.load(path) as kept:
                    found["mbi 2, AIM"] = [
                        {**errors(rows, one, domains), "seconds": round(float(seconds), 1)}
                        for one, seconds in zip(kept["rows"], kept["seconds"], strict=True)
                    ]
            for way, lines in found.items():
                means = {key: round(float(np.mean([line[key] for line in lines])), 4) for key in lines[0]}
                click.echo(
                    json.dumps({"table": name, "epsilon": float(epsilon), "way": way, "runs": len(lines), **means})
                )


if __name__ == "__main__":
    main()
