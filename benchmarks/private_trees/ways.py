"""Accuracy of what the commands' defaults learn with noise, beside other ways with the same epsilon and folds.

    python -m benchmarks.private_trees.ways --out benchmarks/results      (or: make bench-private-ways)

Columns of numbers are typed here, as `smc prepare` writes them: wisconsin's and balance-scale's by their numbers, those
of scikit-learn's tables in eight ranges of equal width (digits: four), Adult's age, hours, gains and losses of capital.

- `ordered`: `smc id3 --epsilon`, all defaults. An edge is an attribute of two values in the simulation, so edges that
  a branch has settled stay candidates: the protocol leaves them out.
- `multiway`: the same with `--splits multiway`, and the depth that its defaults give then.
- `bayes`: `smc release naive-bayes --delta 0`.
- `random`: a forest of cuts drawn at random, each of the trees by all rows with its part of epsilon for the classes of
  its leaves (Jagannathan, Pillaipakkamnatt, Wright 2009; Fletcher, Islam 2017): the best of 3, 7 and 15 trees of depth
  1 to 8. It is not built; this is why.
- `diffprivlib`: the best of its grid of depths and numbers of trees.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.programs import ROOT, install
from benchmarks.private_trees import cells
from benchmarks.private_trees.__main__ import DATA, DIFFPRIVLIB, peer
from benchmarks.private_trees.cells import Cell
from benchmarks.private_trees.simulation import Ints
from benchmarks.private_trees.tables import Table, folds, load, read_columns
from parties.base.files import write_text
from parties.bench.json_rows import json_rows
from parties.jobs.tree.settings import Id3Settings
from protocols.edges import Questions
from protocols.release.defaults import chosen
from protocols.tree import child_of

NUMBERS = ("wisconsin", "balance-scale")  # tables all of whose columns are numbers
OF_SKLEARN = {"wine": 8, "breast_cancer": 8, "iris": 8, "digits": 4}  # into so many ranges
ADULT = (0, 8, 9, 10)  # its columns of numbers
NAMES = ("car", "house-votes-84", "tic-tac-toe", "adult", *NUMBERS, *OF_SKLEARN)
EPSILONS = ("0.1", "0.5", "1", "2")
TREES, DEPTH = (3, 7, 15), 8
Row = dict[str, Any]
Ordered = tuple[bool, ...]


def typed(directory: Path, name: str) -> tuple[Table, Ordered]:
    """Return a table, and which of its columns are ordered."""
    if name in OF_SKLEARN:
        from sklearn import datasets

        data, ranges = getattr(datasets, f"load_{name}")(), OF_SKLEARN[name]
        low, width = data.data.min(axis=0), np.maximum(np.ptp(data.data, axis=0), 1e-9)
        values = np.minimum((data.data - low) / width * ranges, ranges - 1).astype(np.int64)
        domains = (ranges,) * values.shape[1]
        return Table(values, data.target, domains, len(data.target_names), len(values)), (True,) * len(domains)
    table = load(directory, name)
    if name in NUMBERS:  # codes are in the order of the texts, 1, 10, 2
        header, columns = read_columns(directory / f"{name}.csv")
        numbers = [column for title, column in zip(header, columns, strict=True) if not title.startswith("Class")]
        places = [np.unique(np.array(column, dtype=float), return_inverse=True)[1] for column in numbers]
        table = replace(table, values=np.stack(places, axis=1))
    return table, tuple(name in NUMBERS or (name == "adult" and i in ADULT) for i in range(len(table.domains)))


def by_edges(table: Table, ordered: Ordered) -> Table:
    """Return the table of all questions: of an ordered column, whether a row is from each edge on."""
    asked = Questions(table.domains, ordered)
    columns = [child_of(edge, table.values[:, column]) for column, edge in asked.asked]
    return replace(table, values=np.stack(columns, axis=1), domains=asked.domains)


def parts(table: Table) -> Iterator[tuple[Table, Table, np.random.Generator]]:
    """Yield what is learnt and what is predicted, for each draw of each fold."""
    fold = folds(table.labels, cells.FOLDS, cells.SEED)
    for draw in range(max(1, cells.repeats(table) // 4)):
        for held in range(cells.FOLDS):
            learnt, others = (table.part(np.flatnonzero(is_part)) for is_part in (fold != held, fold == held))
            yield learnt, others, np.random.default_rng([cells.SEED, draw, held])


def bayes(table: Table, epsilon: float) -> float:
    """Return the accuracy of naive Bayes from noisy counts, as `release naive-bayes` makes them consistent."""
    right = []
    for learnt, others, draw in parts(table):
        scale, tables = len(table.domains) / epsilon, []
        for values, size in zip(learnt.values.T, table.domains, strict=True):
            counts = np.bincount(values * table.classes + learnt.labels, minlength=size * table.classes)
            tables.append(_two_sided(counts.reshape(size, -1), scale, draw))
        by_class = np.average([one.sum(axis=0) for one in tables], axis=0, weights=[1 / n for n in table.domains])
        score: NDArray[np.float64] = np.log(np.maximum(np.rint(by_class), 0) + 1) * np.ones((len(others.labels), 1))
        for counts, values in zip(tables, others.values.T, strict=True):
            moved = np.maximum(counts + np.rint((by_class - counts.sum(axis=0)) / len(counts)), 0) + 1
            score += np.log(moved / moved.sum(axis=0))[values]
        right.append((score.argmax(axis=1) == others.labels).mean())
    return float(np.mean(right))


def random_cuts(table: Table, epsilon: float) -> tuple[float, int, int]:
    """Return the best accuracy of a forest of random cuts, with its number of trees and their depth."""
    found = []
    for trees in TREES:
        right = np.mean([_random_cuts(*part, trees, epsilon) for part in parts(table)], axis=0)
        found += [(float(one), trees, depth) for depth, one in enumerate(right, 1)]
    return max(found)


def _random_cuts(learnt: Table, others: Table, draw: np.random.Generator, trees: int, epsilon: float) -> list[float]:
    """Return the accuracy for each depth; leaves say their noisy majority, and trees vote."""
    at_depths = _leaves(np.concatenate([learnt.values, others.values]), learnt.domains, trees, draw)
    right, rows = [], len(learnt.labels)
    for depth, leaves in enumerate(at_depths, 1):
        cells_of = leaves[:, :rows] * learnt.classes + learnt.labels
        counts = np.stack([np.bincount(one, minlength=learnt.classes << depth) for one in cells_of])
        noisy = counts + np.floor(draw.exponential(trees / epsilon, counts.shape))
        labels = noisy.reshape(trees, -1, learnt.classes).argmax(axis=2)
        votes = np.take_along_axis(labels, leaves[:, rows:], axis=1)[..., None] == np.arange(learnt.classes)
        right.append(float((votes.sum(axis=0).argmax(axis=1) == others.labels).mean()))
    return right


def _leaves(values: Ints, domains: Sequence[int], trees: int, draw: np.random.Generator) -> Iterator[Ints]:
    """Yield the leaf of each row at depths 1, 2, ..., int64[trees, rows]; cuts are uniform in what a node has left."""
    lows, ends = np.zeros((trees, 1, len(domains)), dtype=np.int64), np.tile(np.array(domains), (trees, 1, 1))
    leaves, tree = np.zeros((trees, len(values)), dtype=np.int64), np.arange(trees)[:, None]
    for _ in range(DEPTH):
        columns = ((ends - lows >= 2) * draw.random(lows.shape)).argmax(axis=2)
        place = (*np.indices(columns.shape), columns)
        low, end = lows[place], ends[place]
        cuts = np.where(end - low >= 2, low + 1 + np.floor(draw.random(low.shape) * (end - low - 1)), end).astype(int)
        leaves = 2 * leaves + (values[np.arange(len(values)), columns[tree, leaves]] >= cuts[tree, leaves])
        lows, ends = np.repeat(lows, 2, axis=1), np.repeat(ends, 2, axis=1)
        ends[place[0], 2 * place[1], columns] = cuts
        lows[place[0], 2 * place[1] + 1, columns] = cuts
        yield leaves


def _two_sided(counts: Ints, scale: float, draw: np.random.Generator) -> Ints:
    chance = -np.expm1(-1 / scale)
    return counts + draw.geometric(chance, counts.shape) - draw.geometric(chance, counts.shape)


def tree(table: Table, ordered: Ordered, epsilon: str) -> tuple[float, int]:
    """Return the accuracy of what `smc id3 --epsilon` learns where these columns are asked by edges, and its depth."""
    found = chosen(table.bound, Fraction(epsilon), table.domains, table.classes, ordered)
    cell = Cell(epsilon, found.depth, "even", found.stop, Id3Settings().quality)
    return cells.measure(by_edges(table, ordered), cell).mean, found.depth


def compared(directory: Path, name: str, theirs: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """Yield a row for each epsilon."""
    table, ordered = typed(directory, name)
    for epsilon in EPSILONS:
        accuracy, depth = tree(table, ordered, epsilon)
        forest, trees, levels = random_cuts(table, float(epsilon))
        of_peer = [one[3] for one in theirs if one[0] == epsilon]
        multiway, _ = tree(table, (False,) * len(ordered), epsilon)
        yield {
            "table": name, "rows": len(table.labels), "epsilon": epsilon, "ordered": accuracy, "depth": depth,
            "multiway": multiway, "bayes": round(bayes(table, float(epsilon)), 4),
            "random": round(forest, 4), "trees": trees, "levels": levels,
            "diffprivlib": max(of_peer, default=None),
        }  # fmt: skip


@click.command()
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Folder of the tables.")
@click.option("--only", default="", metavar="TEXT", help="Only tables with TEXT in their name.")
@click.option("--ours", is_flag=True, help="Leave diffprivlib out.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write private_ways.json here.")
def main(data: Path, only: str, ours: bool, out: Path | None) -> None:
    """Measure private classifiers beside each other."""
    python = None if ours else install(ROOT / ".bench" / "diffprivlib", DIFFPRIVLIB)
    rows = []
    for name in (name for name in NAMES if only in name):
        theirs = [] if python is None else peer(python, typed(data, name)[0], EPSILONS)
        for row in compared(data, name, theirs):
            click.echo(json.dumps(row))
            rows.append(row)
    if out is not None:
        write_text(out / "private_ways.json", json_rows({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
