"""Accuracy of what the commands' defaults learn with noise, beside other ways with the same epsilon and folds.

    python -m benchmarks.private_trees.ways --out benchmarks/results [--peer]           (or: make bench-private)

Columns of numbers are typed here, as `smc prepare` writes them: wisconsin's and balance-scale's by their numbers, those
of scikit-learn's tables in eight ranges of equal width (digits: four), Adult's age, hours, gains and losses of capital.

- `ordered`: `smc id3 --epsilon` with its defaults. In the simulation an edge is an attribute of two values. So edges
  that a branch has already decided stay candidates; the protocol leaves them out.
- `multiway`: the same with `--splits multiway`, and the default depth for it.
- `bayes`: `smc release naive-bayes` with its defaults. It is the job itself, except that numpy draws the noise, of
  scale `scale`. `doubted` is the share of draws in which the result says that a constant answer may be as good.
- `majority`: the accuracy of the commonest class.
- `random`: a forest of random cuts. All rows vote in each tree, which has its part of epsilon for the classes of its
  leaves (Jagannathan, Pillaipakkamnatt, Wright 2009; Fletcher, Islam 2017). The figure is the best of 3, 7 and 15 trees
  of depth 1 to 8. The program does not have such forests, because of these figures.

The row bound is the one that `smc prepare` writes for a party's half of the training rows. With `--peer` diffprivlib is
measured instead, and kept in private_peers.json. Its figure is the best of its forests' depths and numbers of trees and
of its naive Bayes, with the standard deviation over its draws.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.programs import DATA, DIFFPRIVLIB, ROOT, install
from benchmarks.private_trees import cells
from benchmarks.private_trees.__main__ import peer
from benchmarks.private_trees.cells import Cell
from benchmarks.private_trees.simulation import Ints
from benchmarks.private_trees.tables import Table, folds, load, read_columns
from parties.alone.preparing.writing import row_bound
from parties.base.files import write_text
from parties.bench.json_rows import json_rows
from parties.jobs.kinds.release.naive_bayes import NaiveBayes
from parties.jobs.tree.private import PrivateTree
from parties.jobs.tree.settings import Id3Settings
from parties.models.bayes import NaiveBayesModel
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols.counts import RowCounts
from protocols.edges import Questions
from protocols.tree import child_of

NUMBERS = ("wisconsin", "balance-scale")  # tables with numbers in all columns
OF_SKLEARN = {"wine": 8, "breast_cancer": 8, "iris": 8, "digits": 4}  # number of ranges of each column
ADULT = (0, 8, 9, 10)  # its columns of numbers
NAMES = ("car", "house-votes-84", "tic-tac-toe", "adult", *NUMBERS, *OF_SKLEARN)
EPSILONS = ("0.1", "0.5", "1", "2")
BOTH = 2  # parties
HEADS = {
    "ordered": "`smc id3`, defaults",
    "multiway": "`--splits multiway`",
    "bayes": "`smc release naive-bayes`",
    "random": "random cuts, best",
}
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
    """Return the table of all questions: for an ordered column, whether a row is at or above each edge."""
    asked = Questions(table.domains, ordered)
    columns = [child_of(edge, table.values[:, column]) for column, edge in asked.asked]
    return replace(table, values=np.stack(columns, axis=1), domains=asked.domains)


def parts(table: Table) -> Iterator[tuple[Table, Table, np.random.Generator]]:
    """Yield training rows, test rows and a generator, for each draw of each fold."""
    fold = folds(table.labels, cells.FOLDS, cells.SEED)
    for draw in range(max(1, cells.repeats(table) // 4)):
        for held in range(cells.FOLDS):
            learnt, others = (table.part(np.flatnonzero(is_part)) for is_part in (fold != held, fold == held))
            yield learnt, others, np.random.default_rng([cells.SEED, draw, held])


def bound(table: Table) -> int:
    """Return the public bound on all training rows of a table."""
    learnt = len(table.labels) * (cells.FOLDS - 1) // cells.FOLDS
    return BOTH * row_bound(-(-learnt // BOTH))


def bayes_task(table: Table, epsilon: str) -> NaiveBayes:
    """Return the job with its defaults."""
    columns = {f"c{i}": tuple(map(str, range(size))) for i, size in enumerate(table.domains)}
    schema = Schema({**columns, "class": tuple(map(str, range(table.classes)))}, "class")
    asked = {"epsilon": float(epsilon), "max_rows": bound(table) // BOTH}
    return NaiveBayes.canonical(NaiveBayes.Settings.model_validate(asked), schema)


def bayes(table: Table, epsilon: str) -> Row:
    """Return the accuracy of naive Bayes, the family and scale of its noise, and the share of doubted results."""
    task, right, doubted = bayes_task(table, epsilon), [], []
    (noise,) = task.query.mechanisms
    for learnt, others, draw in parts(table):
        own = task.own_rows(RowCounts(table.domains, table.classes, learnt.values, learnt.labels))
        drawn = draw.normal(0, float(noise.scale), own.shape) if task.settings.delta else 0
        noisy = np.rint(own + drawn).astype(np.int64) if task.settings.delta else _two_sided(own, noise.scale, draw)
        document = task.document(noisy.tolist())
        doubted.append(document["mostly_noise"])
        model = NaiveBayesModel.parse(document)
        score: NDArray[np.float64] = np.log(np.array(list(model.classes.values())) + 1) * np.ones(
            (len(others.labels), 1)
        )
        for values, table_of in zip(others.values.T, model.logarithms.values(), strict=True):
            score += np.array(list(table_of.values()))[values]
        right.append((score.argmax(axis=1) == others.labels).mean())
    return {
        "bayes": round(float(np.mean(right)), 4), "doubted": round(float(np.mean(doubted)), 4),
        "noise": noise.family, "scale": round(float(noise.scale), 4),
    }  # fmt: skip


def majority(table: Table) -> float:
    """Return the share of the commonest class."""
    return round(float(np.bincount(table.labels).max() / len(table.labels)), 4)


def random_cuts(table: Table, epsilon: float) -> tuple[float, int, int]:
    """Return the best accuracy of a forest of random cuts, with its number of trees and their depth."""
    found = []
    for trees in TREES:
        right = np.mean([_random_cuts(*part, trees, epsilon) for part in parts(table)], axis=0)
        found += [(float(one), trees, depth) for depth, one in enumerate(right, 1)]
    return max(found)


def _random_cuts(learnt: Table, others: Table, draw: np.random.Generator, trees: int, epsilon: float) -> list[float]:
    """Return the accuracy for each depth; leaves predict their noisy majority, and trees vote."""
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


def _two_sided(counts: Ints, scale: Fraction, draw: np.random.Generator) -> Ints:
    chance = -np.expm1(-1 / float(scale))
    return counts + draw.geometric(chance, counts.shape) - draw.geometric(chance, counts.shape)


def tree_task(table: Table, ordered: Ordered, epsilon: str, **more: Any) -> PrivateTree:
    """Return the job with its defaults, except the settings `more`."""
    columns = {
        f"c{i}": Domain(read_type({"type": "integer", "low": 0, "high": size - 1, "edges": list(range(1, size))}))
        if cut
        else tuple(map(str, range(size)))
        for i, (size, cut) in enumerate(zip(table.domains, ordered, strict=True))
    }
    schema = Schema({**columns, "class": tuple(map(str, range(table.classes)))}, "class")
    asked = Id3Settings.model_validate({"epsilon": float(epsilon), "max_rows": bound(table) // BOTH, **more})
    task = PrivateTree.canonical(asked, schema)
    assert isinstance(task, PrivateTree)
    return task


def cell_of(task: PrivateTree) -> Cell:
    """Return the cell that simulates the job."""
    problem = task.problem
    assert problem.leaf_epsilon * (problem.max_depth + 1) == problem.epsilon
    return Cell(f"{float(problem.epsilon):g}", problem.max_depth, "even", problem.stop, problem.quality)


def tree(table: Table, ordered: Ordered, epsilon: str, **more: Any) -> tuple[float, Cell]:
    """Return the accuracy of `smc id3 --epsilon` with these columns asked by edges, and its cell."""
    cell = cell_of(tree_task(table, ordered, epsilon, **more))
    asked = table if more.get("splits") == "multiway" else by_edges(table, ordered)
    return cells.measure(asked, cell).mean, cell


def compared(directory: Path, name: str, kept: Mapping[str, Row]) -> Iterator[Row]:
    """Yield a row for each epsilon; random cuts are as they were kept, if they were."""
    table, ordered = typed(directory, name)
    for epsilon in EPSILONS:
        accuracy, cell = tree(table, ordered, epsilon)
        multiway, _ = tree(table, ordered, epsilon, splits="multiway")
        row = {
            "table": name, "rows": len(table.labels), "majority": majority(table), "epsilon": epsilon,
            "ordered": accuracy, "depth": cell.depth, "quality": cell.quality, "stop": cell.stop,
            "multiway": multiway, **bayes(table, epsilon),
        }  # fmt: skip
        if epsilon in kept:
            yield row | {key: kept[epsilon][key] for key in ("random", "trees", "levels")}
            continue
        forest, trees, levels = random_cuts(table, float(epsilon))
        yield row | {"random": round(forest, 4), "trees": trees, "levels": levels}


def of_peer(python: Path, directory: Path, name: str) -> Iterator[Row]:
    """Yield diffprivlib's best for each epsilon."""
    found = peer(python, typed(directory, name)[0], EPSILONS)
    for epsilon in EPSILONS:
        _, depth, trees, accuracy, spread = max((one for one in found if one[0] == epsilon), key=lambda one: one[3])
        best = {"accuracy": accuracy, "spread": spread, "depth": depth, "trees": trees}
        yield {"table": name, "epsilon": epsilon, **best}


def markdown(rows: Sequence[Row], peers: Sequence[Row]) -> str:
    """Return the table of benchmarks/README.md."""
    best = {(row["table"], row["epsilon"]): row["accuracy"] for row in peers}
    lines = [f"| accuracy at epsilon {' / '.join(EPSILONS)} | {' | '.join(HEADS.values())} | diffprivlib 0.6.6, best |"]
    lines.append("|---" * (len(HEADS) + 2) + "|")
    for name in dict.fromkeys(row["table"] for row in rows):
        here = [row for row in rows if row["table"] == name]
        columns = [[row[way] for row in here] for way in HEADS] + [[best[name, row["epsilon"]] for row in here]]
        cells_ = (" / ".join(f"{value:.2f}".removeprefix("0") for value in column) for column in columns)
        lines.append(f"| {name} | {' | '.join(cells_)} |")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Folder of the tables.")
@click.option("--only", default="", metavar="TEXT", help="Only tables with TEXT in their name.")
@click.option("--peer", "theirs", is_flag=True, help="Measure diffprivlib, not ours.")
@click.option("--again", is_flag=True, help="Measure random cuts again, too.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write the JSON here.")
def main(data: Path, only: str, theirs: bool, again: bool, out: Path | None) -> None:
    python = install(ROOT / ".bench" / "diffprivlib", DIFFPRIVLIB) if theirs else None
    file = (out or ROOT / "benchmarks" / "results") / ("private_peers.json" if theirs else "private_ways.json")
    kept: list[Row] = json.loads(file.read_text())["rows"] if file.exists() else []
    rows = []
    for name in NAMES:
        before = {row["epsilon"]: row for row in kept if row["table"] == name}
        if only not in name:
            rows += before.values()
            continue
        for row in of_peer(python, data, name) if python else compared(data, name, {} if again else before):
            click.echo(json.dumps(row))
            rows.append(row)
    if out is not None:
        write_text(file, json_rows({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
