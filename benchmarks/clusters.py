"""Private clusters compared with those without noise: by default, by each method, and by diffprivlib's k-means.

    python -m benchmarks.clusters [--only D,N,EPSILON] [--out DIRECTORY]              (or: make bench-clusters)

Rows are drawn from k round clusters, of standard deviation 0.1, at uniform places of [-0.8, 0.8]^d, and rounded to
2,049 values a column. Inertia (the mean squared distance to the nearest centroid, of the rows) is divided by that of
scikit-learn's k-means without noise. The figure is the median over five tables, each with two draws of noise. `one` is
the inertia of one centroid, at the mean of the rows. `doubted` is the share of draws in which the result of the default
says that one centroid may be as good. numpy draws the noise, from the law of the circuit up to 2^-40, and one party has
all rows: the opened numbers have the law of the protocol. The row bound is the one that `smc prepare` writes for half
of the rows, and `default` is the command's method for it. The protocol itself runs once for each method, on 100,000
rows of four columns. Both parties run in this process, joined in memory. Bytes are those of both directions.

diffprivlib 0.6 sees all rows in one place, with the same epsilon and bounds. SMC_DIFFPRIVLIB names a Python that has
it; otherwise its column is left out.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

from parties.alone.preparing.writing import row_bound
from parties.base import files
from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg
from parties.bench import machine
from parties.bench.json_rows import json_rows
from parties.jobs.kinds.cluster import Cluster
from parties.jobs.release.cluster.lloyd import split
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.release.centroids import UNIT
from smc.engines import Profile, engine_of
from smc.local import run_local

PEER = Path(__file__).parent / "peers" / "diffprivlib_kmeans.py"
VALUES = tuple(map(str, range(2 * UNIT + 1)))
CLUSTERS = {2: 4, 4: 5, 6: 5, 9: 5}  # number of clusters by number of columns
ROWS, EPSILONS = (1_000, 10_000, 100_000), (0.1, 0.5, 1.0, 2.0)
DASHES = {0.1: "--", 1.0: "-"}  # line styles of the epsilons in the picture
TABLES, NOISES = 5, 2
PART = 20_000  # rows for the start of k-means without noise
METHODS = ("grid", "in-process", "hybrid")
COLOURS = {"grid": PALETTE[2], "in-process": PALETTE[1], "hybrid": PALETTE[4], "diffprivlib": PALETTE[6]}
Row = dict[str, Any]


def table(rows: int, columns: int, seed: int) -> Any:
    """Return rows in clusters, int64[rows, columns] from -UNIT to UNIT."""
    draw = np.random.default_rng(seed)
    places = draw.uniform(-0.8, 0.8, (CLUSTERS[columns], columns))
    points = places[draw.integers(0, len(places), rows)] + draw.normal(0, 0.1, (rows, columns))
    return np.rint(np.clip(points, -1, 1) * UNIT).astype(np.int64)


def task_of(method: str | None, rows: int, columns: int, epsilon: float, values: tuple[str, ...] = VALUES) -> Cluster:
    """Return the job that two parties with half of the rows each would agree on.

    `values` are the values of each column, by default all fixed-point numbers. With None as method the command chooses.
    """
    names = [f"x{i}" for i in range(columns)]
    asked = {
        "columns": names, "bounds": [f"0:{len(values) - 1}"] * columns, "k": CLUSTERS[columns],
        "method": method, "epsilon": epsilon, "max_rows": row_bound(-(-rows // 2)),
    }  # fmt: skip
    return Cluster.canonical(Cluster.Settings.model_validate(asked), Schema(dict.fromkeys(names, values)))


@cache
def best(rows: int, columns: int, seed: int) -> float:
    """Return the inertia of a table without noise: the best of ten starts on a part of the rows goes on with all."""
    from sklearn.cluster import KMeans

    points = table(rows, columns, seed) / UNIT
    start = KMeans(CLUSTERS[columns], n_init=10, random_state=0).fit(points[:PART]).cluster_centers_
    return inertia(points * UNIT, KMeans(CLUSTERS[columns], init=start, n_init=1).fit(points).cluster_centers_)


def own(task: Cluster, points: Any) -> Any:
    """Return the own data of a party with these rows."""
    indices, sizes = points + UNIT, [len(VALUES)] * points.shape[1]
    return task.own_rows(RowCounts(sizes[1:], sizes[0], indices[:, :-1], indices[:, -1]))


def simulated(task: Cluster, numbers: Any, seed: int) -> list[int]:
    """Return the opened numbers of a run, simulated in one place with one party's own data."""
    draw, opened = np.random.default_rng(seed), ()
    for part in task.rounds:
        assert part.noise is not None
        before = split(opened, task.rounds)
        if task.on_grid:
            sums = numbers
        elif task.begins_on_grid:
            sums = numbers[1](task.after_grid(before)).reshape(-1) if before else numbers[0]
        else:
            sums = numbers(task.lloyd.places(before)).reshape(-1)
        chance = -np.expm1(-1 / float(part.noise.scale))
        noise = draw.geometric(chance, part.numbers) - draw.geometric(chance, part.numbers)
        opened = (*opened, *(sums + noise).tolist())
    return list(opened)


def inertia(points: Any, places: Any) -> float:
    """Return the mean squared distance to the nearest centroid."""
    rows = points / UNIT
    apart = (rows**2).sum(axis=1)[:, None] - 2 * rows @ places.T + (places**2).sum(axis=1)
    return float(apart.min(axis=1).mean())


def found(document: Mapping[str, Any]) -> Any:
    """Return the centroids of a result, scaled to [-1, 1]^d."""
    return np.array([one["centroid"] for one in document["clusters"]]) / UNIT - 1


class Peer:
    """A process of diffprivlib, which loads the library once."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked, self._told = self._process.stdin, self._process.stdout

    def centroids(self, points: Any, clusters: int, epsilon: float, seeds: list[int]) -> list[Any]:
        """Return the centroids that it finds with each seed."""
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            np.save(file, points / UNIT)
            file.flush()
            self._asked.write(json.dumps([file.name, clusters, epsilon, seeds]) + "\n")
            self._asked.flush()
            return [np.array(one) for one in json.loads(self._told.readline())]

    def close(self) -> None:
        """End the process."""
        self._asked.close()
        self._process.wait()


def compared(rows: int, columns: int, epsilon: float, peer: Peer | None) -> Row:
    """Return the figures for one size of table and one epsilon."""
    ratios: dict[str, list[float]] = {}
    doubted: list[bool] = []
    default = task_of(None, rows, columns, epsilon).settings.method
    tasks = {method: task_of(method, rows, columns, epsilon) for method in METHODS}
    for seed in range(TABLES):
        points, noises = table(rows, columns, seed), [NOISES * seed + i for i in range(NOISES)]
        places = {} if peer is None else {"diffprivlib": peer.centroids(points, CLUSTERS[columns], epsilon, noises)}
        for method, task in tasks.items():
            numbers = own(task, points)
            documents = [task.document(simulated(task, numbers, noise)) for noise in noises]
            places[method] = list(map(found, documents))
            doubted += [document["mostly_noise"] for document in documents if method == default]
        places["one"] = [points.mean(axis=0)[None] / UNIT]
        for name, each in places.items():
            ratios.setdefault(name, []).extend(inertia(points, one) / best(rows, columns, seed) for one in each)
    medians = {name: round(statistics.median(values), 3) for name, values in ratios.items()}
    about = {"columns": columns, "clusters": CLUSTERS[columns], "rows": rows, "epsilon": epsilon, "default": default}
    return about | {"doubted": sum(doubted) / len(doubted)} | medians


def protocol(method: str, profile: Profile) -> Row:
    """Run the protocol on 100,000 rows, half of them at each party, and return the figures."""
    points = table(100_000, 4, 0)
    task = task_of(method, len(points) // 2, 4, 1.0)  # the bound is the exact number of rows
    meters: dict[int, Any] = {}

    def party(session: Any) -> list[int]:
        meters[session.party] = session.meter
        mine = own(task, points[session.party :: 2])
        return task.run(engine_of(session, profile), mine, None, lambda step: None)

    start = time.perf_counter()
    one, other = run_local(party)
    seconds = time.perf_counter() - start
    assert one == other
    cost = meters[0].total
    return {
        "method": method, "profile": str(profile), "numbers": len(one), "seconds": round(seconds, 1),
        "bytes": cost.bytes_sent + cost.bytes_received, "and_gates": cost.and_gates, "rounds": cost.rounds,
        "inertia": round(inertia(points, found(task.document(one))), 4),
    }  # fmt: skip


def picture(document: Mapping[str, Any]) -> str:
    """Draw inertia against rows, with a panel for each number of columns."""
    from matplotlib.figure import Figure

    with style({"font.family": "DejaVu Sans", "font.size": 9}):
        figure = Figure(figsize=(11, 3.6), layout="constrained")
        panels = figure.subplots(1, len(CLUSTERS), sharey=True)
        for axes, (columns, clusters) in zip(panels, CLUSTERS.items(), strict=True):
            lines = [one for one in document["inertia"] if one["columns"] == columns]
            for name, color in COLOURS.items():
                for epsilon, dashes in DASHES.items():
                    shown = [one for one in lines if one["epsilon"] == epsilon and name in one]
                    rows, ratios = [one["rows"] for one in shown], [one[name] for one in shown]
                    axes.plot(rows, ratios, dashes, marker="o", color=color, label=f"{name}, epsilon {epsilon:g}")
            axes.set(xscale="log", yscale="log", title=f"{columns} columns, {clusters} clusters", xlabel="rows")
            axes.axhline(1, color=INK, linewidth=0.8)
            axes.grid(color=RULE, linewidth=0.5, alpha=0.5)
            axes.tick_params(which="both", labelcolor=MUTED, color=RULE)
        panels[0].set_ylabel("inertia, 1 = without noise")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
        return svg(figure, Title="Clusters with noise")


def cases(only: str | None) -> Iterator[tuple[int, int, float]]:
    """Yield columns, rows and epsilon of each case."""
    for columns, rows, epsilon in product(CLUSTERS, ROWS, EPSILONS):
        if only in (None, f"{columns},{rows},{epsilon:g}"):
            yield columns, rows, epsilon


@click.command()
@click.option("--only", help="One case: columns,rows,epsilon.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Where to write clusters.json and .svg.")
def main(only: str | None, out: Path | None) -> None:
    """Measure, and print as JSON."""
    document: Row = {"machine": machine.facts(), "inertia": [], "protocol": []}
    python = os.environ.get("SMC_DIFFPRIVLIB")
    peer = None if python is None else Peer(python)
    for columns, rows, epsilon in cases(only):
        document["inertia"].append(compared(rows, columns, epsilon, peer))
        click.echo(json.dumps(document["inertia"][-1]))
    if peer is not None:
        peer.close()
    for method in METHODS if only is None else ():
        for profile in (Profile("yao"), Profile("gmw", "ferret", form="size")):
            document["protocol"].append(protocol(method, profile))
            click.echo(json.dumps(document["protocol"][-1]))
    if out is not None:
        files.write_text(out / "clusters.json", json_rows(document) + "\n")
        files.write_text(out / "clusters.svg", picture(document))


if __name__ == "__main__":
    main()
