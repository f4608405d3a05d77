"""Compare the forecasts of exact trees, typical and largest, with the costs of trees of ten tables.

    python -m benchmarks.tree_costs DATA     (or: make bench-trees; DATA has the tables; ten minutes, writes
                                             benchmarks/results/tree_costs.json)

Every table is prepared from its raw file as by `smc prepare`, and a coin deals its rows to two parties. The trees are
grown in the clear: the default one of `smc id3`, one a level deeper, one of four levels, the same three with `--splits
multiway`, and the plain one. The bytes of their runs are counted exactly (`cost_model.with_tree`). Large plain trees
are counted level by level in parts, with an error of a few percent. Trees with noise are drawn five times, by default
and with four levels. Their bytes are the median, and `largest` is the maximum of the five.

The trees of up to eight other columns of each table are counted in the same way, except the deeper and plain ones.
docs/cost-trees.md shows the rows for the tables' targets, and the number of near forecasts for both.
"""

from __future__ import annotations

import gzip
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.clear import CLEAR, last_state
from parties.alone.preparing.writing import row_bound
from parties.base import files
from parties.bench.json_rows import json_rows
from parties.cli import run
from parties.jobs.inputs import Inputs
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.private import PrivateTree
from parties.jobs.tree.settings import Id3Settings
from parties.party_file import load as load_party
from parties.sources.opening import open_table
from parties.sources.settings import TableSettings
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from protocols import cost_model
from protocols.counts import Indices, RowCounts
from protocols.openings import levels as of_levels
from protocols.rules import x_log_x
from protocols.tree import Leaf, Split, Tree, walk
from smc.counting import CountingEngine, forecast
from smc.engines import Profile

TARGET = Path(__file__).parent / "results" / "tree_costs.json"
PROFILES = (Profile("mixed"), Profile("lean", "ferret", form="depth"))
Row = dict[str, Any]
HOSPITAL_ROWS = 20_000
SEED = 1
DRAWS = 5  # draws of the noise for a tree
OTHERS, MOST_CLASSES = 8, 30  # number of other target columns, and their largest number of values
LARGEST = 1_500_000  # largest tree that is counted as a whole, by its counts of entropies
TABLES = (  # name, file under DATA, target
    ("balance-scale", "balance-scale.csv", "Class Name"),
    ("car", "car.csv", "class"),
    ("house-votes-84", "house-votes-84.csv", "class"),
    ("tic-tac-toe", "tic-tac-toe.csv", "Class"),
    ("wisconsin", "wisconsin.csv", "Class"),
    ("adult", "adult/adult.csv", "salary-class"),
    ("abalone", "raw/abalone.csv", "Rings"),
    ("fars", "raw/fars.csv.gz", "INJURY_SEVERITY"),
    ("casp", "raw/casp.csv.gz", "RMSD"),
    ("hospital", "raw/make_hospital.py", "Wiederaufnahme"),
)


def raw_file(raw: Path, place: Path) -> Path:
    """Return a table's raw file: the file itself, or one that is unpacked or made by a script in `place`."""
    if raw.suffix == ".py":
        with chdir(place), mock.patch.object(sys, "argv", [str(raw), str(HOSPITAL_ROWS)]):
            runpy.run_path(str(raw))
        raw = place / "a.csv"
    elif raw.suffix == ".gz":
        with gzip.open(raw) as packed, (place / raw.stem).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        raw = place / raw.stem
    return raw


def proposed(raw: Path, target: str, place: Path) -> tuple[TableSettings, Schema]:
    """Return the table and the schema that `smc prepare` makes of a raw file."""
    assert run(["prepare", str(raw), "--target", target, "--table", "rows", "--out", str(place / "out")]) == 0
    table = load_party(place / "out" / "party.toml").tables["rows"]
    return table, schemas.load(table.schema_file)


def prepared(raw: Path, target: str, place: Path) -> tuple[ExactTree, Indices]:
    """Return the job with its defaults and the distinct rows, int64[lines, attributes + 2]."""
    table, schema = proposed(raw_file(raw, place), target, place)
    with open_table(table, schema, target) as source:
        half = -(-source.check() // 2)
        distinct = np.unique(source.distinct(), axis=0)  # sorted, since the order of a query is not fixed
    return ExactTree(Id3Settings(max_rows=row_bound(half)), schema, target), distinct


def grown(task: ExactTree, distinct: Indices, ours: Indices) -> Tree:
    """Return the tree, grown from the rows of both parties in the clear.

    `ours` are the rows of one party; the rule k holds for each party's own rows. As in `protocols.id3`, the tree grows
    level by level, but here the rows are in memory, each with its node.
    """
    problem, classes = task.problem, task.classes
    rows, labels, numbers = distinct[:, :-2], distinct[:, -2], distinct[:, -1]
    place = np.zeros(len(rows), dtype=np.int64)
    used = np.zeros((1, len(problem.domains)), dtype=bool)
    inherited = np.zeros(1, dtype=np.int64)
    levels: list[tuple[Indices, Indices]] = []  # attribute of every node (-1 for a leaf), and its class
    while len(used):
        nodes = len(used)
        counts = _counted(numbers, (nodes, classes), place, labels)
        majority = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), inherited)
        mixed = counts.max(axis=1) < counts.sum(axis=1)
        chosen, best = np.full(nodes, -1), np.full(nodes, np.inf)
        for attribute, size in enumerate(problem.domains if len(levels) != problem.max_depth else ()):
            table = _counted(numbers, (nodes, size, classes), place, rows[:, attribute], labels)
            score = x_log_x(table.sum(axis=2)).sum(axis=1) - x_log_x(table).sum(axis=(1, 2))
            free = mixed & ~used[:, attribute]
            if problem.rules.k > 1:
                mine = _counted(ours, (nodes, size), place, rows[:, attribute])
                for own in (mine, table.sum(axis=2) - mine):
                    free &= ((own == 0) | (own >= problem.rules.k)).all(axis=1)
            better = free & (score < best - 1e-9)
            chosen[better], best[better] = attribute, score[better]
        levels.append((chosen, majority))
        parents, first, used = _children(problem.domains, chosen, used)
        rows, labels, numbers, ours, place = _below(chosen, first, place, rows, labels, numbers, ours)
        inherited = majority[parents]
    return _tree(problem.domains, levels)


def by_the_protocol(task: ExactTree, distinct: Indices, ours: Indices, profile: Profile = CLEAR) -> Tree:
    """Return the tree by the protocol itself, both parties in this process: by default with sums in the clear."""

    def own(party: int) -> Any:
        numbers = distinct[:, -1] - ours if party else ours
        return task.own_rows(RowCounts(task.domains, task.classes, distinct[:, :-2], distinct[:, -2], numbers))

    tree: Tree = last_state(task, own, profile)
    return tree


def grown_with_noise(task: PrivateTree, distinct: Indices, chance: np.random.Generator) -> Tree:
    """Return one tree with noise, from the rows of both parties in the clear, as `protocols.release.tree` grows it.

    The classes of leaves are all 0: their bytes are the same. The generator is numpy's: nothing is released.
    """
    problem, classes = task.problem, task.classes
    assert problem.quality == "max"
    assert problem.stop
    rows, labels, numbers = distinct[:, :-2], distinct[:, -2], distinct[:, -1]
    place = np.zeros(len(rows), dtype=np.int64)
    used = np.zeros((1, len(problem.domains)), dtype=bool)
    levels: list[Indices] = []
    while len(used):
        nodes = len(used)
        chosen = np.full(nodes, -1)
        if len(levels) < problem.levels:
            score = np.zeros((nodes, len(problem.domains) + 1))
            for attribute, size in enumerate(problem.domains):
                table = _counted(numbers, (nodes, size, classes), place, rows[:, attribute], labels)
                score[:, attribute] = table.max(axis=2).sum(axis=1)
            score[:, -1] = _counted(numbers, (nodes, classes), place, labels).max(axis=1) + problem.bonus
            scale = problem.measure.sensitivity * problem.moved / float(problem.level_epsilon)
            score += chance.geometric(-np.expm1(-1 / scale), score.shape)
            score[:, :-1][used] = -np.inf
            chosen = score.argmax(axis=1)
            chosen[chosen == len(problem.domains)] = -1
        levels.append(chosen)
        _, first, used = _children(problem.domains, chosen, used)
        rows, labels, numbers, place = _below(chosen, first, place, rows, labels, numbers)
    return _tree(problem.domains, [(chosen, np.zeros_like(chosen)) for chosen in levels])


def _children(domains: tuple[int, ...], chosen: Indices, used: Any) -> tuple[Indices, Indices, Any]:
    """Return each child's parent, each node's first child (-1 for a leaf), and the attributes used above each child."""
    splits = np.flatnonzero(chosen >= 0)
    sizes = np.array(domains, dtype=np.int64)[chosen[splits]]
    first = np.full(len(chosen), -1)
    first[splits] = np.cumsum(sizes) - sizes
    used = used.copy()
    used[splits, chosen[splits]] = True
    return np.repeat(splits, sizes), first, np.repeat(used[splits], sizes, axis=0)


def _below(chosen: Indices, first: Indices, place: Indices, rows: Indices, *columns: Indices) -> Iterator[Indices]:
    """Yield the given columns of the rows in split nodes, and last the rows' nodes one level below."""
    kept = first[place] >= 0
    rows, before = rows[kept], place[kept]
    yield rows
    yield from (column[kept] for column in columns)
    yield first[before] + rows[np.arange(len(rows)), chosen[before]]


def _tree(domains: tuple[int, ...], levels: list[tuple[Indices, Indices]]) -> Tree:
    """Return the tree from each level's attributes (-1 for a leaf) and classes."""
    trees: list[Tree] = []
    for chosen, labels in reversed(levels):
        children = iter(trees)
        trees = [
            Leaf(int(label)) if a < 0 else Split(int(a), tuple(next(children) for _ in range(domains[a])))
            for a, label in zip(chosen, labels, strict=True)
        ]
    return trees[0]


def _counted(numbers: Indices, shape: tuple[int, ...], *columns: Indices) -> Indices:
    """Return how many rows have each combination of indices, int64[shape]."""
    cell = np.ravel_multi_index(columns, shape)
    return np.bincount(cell, weights=numbers, minlength=int(np.prod(shape))).astype(np.int64).reshape(shape)


def bytes_of(task: ExactTree, tree: Tree, profile: Profile) -> int:
    """Return the bytes of a tree's run, both ways. Large trees are counted level by level, in parts."""
    levels = list(of_levels(task.problem, (tree,)))
    problem, splits = (
        task.problem,
        [len(level.decisions.leaves) - int(level.decisions.leaves.sum()) for level in levels],
    )
    if sum(splits) * sum(task.domains) * (task.classes + 1) <= LARGEST:
        return forecast(task.with_result(tree), profile).bytes

    def program(engine: CountingEngine) -> None:
        lefts = attributes_left(problem.domains, tree)
        for depth, (level, inner, left) in enumerate(zip(levels, splits, lefts, strict=True)):
            cost_model.level_in_parts(engine, problem, depth, len(level.decisions.leaves), inner, left, LARGEST // 30)

    return forecast(program, profile).bytes


def attributes_left(domains: tuple[int, ...], tree: Tree) -> Iterator[tuple[int, ...]]:
    """Yield domains for each level: as many as attributes are left there, with their average size."""
    level: list[tuple[Tree, int]] = [(tree, sum(domains))]
    left = len(domains)
    while level:
        inner = [(node, rest) for node, rest in level if isinstance(node, Split)]
        total = max(left, sum(rest for _, rest in inner) // max(1, len(inner)))
        yield tuple(total * (place + 1) // left - total * place // left for place in range(left)) if left else ()
        level = [(child, rest - domains[node.attribute]) for node, rest in inner for child in node.children]
        left -= 1


def measured(name: str, raw: Path, target: str) -> Iterator[Row]:
    """Yield the costs and forecasts of a table's trees, for its target and for other columns."""
    with tempfile.TemporaryDirectory() as place:
        task, distinct = prepared(raw, target, Path(place))
    schema, names = task.schema, [*task.schema.features(target), target]
    others = [column for column in names[:-1] if len(schema.attributes[column]) <= MOST_CLASSES]
    for column in (target, *others[:: -(-len(others) // OTHERS)]):
        places = [names.index(name) for name in (*schema.features(column), column)]
        of_column = ExactTree(Id3Settings(max_rows=task.settings.max_rows), schema, column)
        known = {"table": name, "target": column, "first": column == target}
        known |= {"rows": int(distinct[:, -1].sum()), "columns": len(task.domains)}
        for row in _of_target(of_column, distinct[:, [*places, -1]], column == target):
            yield known | row


def _of_target(task: ExactTree, distinct: Indices, first: bool) -> Iterator[Row]:
    """Yield the rows of one target; there are fewer if it is not the table's own, the `first`."""
    ours = np.random.default_rng(SEED).binomial(distinct[:, -1], 0.5)
    depth = task.settings.max_depth
    assert depth is not None
    bound = task.settings.max_rows
    multiway = ExactTree(Id3Settings(max_rows=bound, splits="multiway"), task.schema, task.target).settings
    assert multiway.max_depth is not None
    asked = {
        "default": task.settings,
        "a level more": task.settings.model_copy(update={"max_depth": depth + 1}),
        "four levels": task.settings.model_copy(update={"max_depth": 4}),
        "multiway": multiway,
        "multiway, a level more": multiway.model_copy(update={"max_depth": multiway.max_depth + 1}),
        "multiway, four levels": multiway.model_copy(update={"max_depth": 4}),
        "plain": Id3Settings(max_rows=bound, plain=True),
    }
    for which, settings in asked.items():
        if not first and which.endswith(("a level more", "plain")):
            continue
        deeper = ExactTree(settings, task.schema, task.target)
        tree = (grown if deeper.settings.splits == "multiway" else by_the_protocol)(deeper, distinct, ours)
        for profile in PROFILES if first else PROFILES[:1]:
            cost = bytes_of(deeper, tree, profile)
            yield _row(which, deeper, profile, [tree], [cost])
    noisy = {"noise": {}, "noise, four levels": {"max_depth": 4}, "more noise": {"epsilon": 0.1}}
    for which, changed in noisy.items():
        private = PrivateTree(
            Id3Settings(max_rows=task.settings.max_rows, **{"epsilon": 1.0, **changed}), task.schema, task.target
        )
        trees = [grown_with_noise(private, distinct, np.random.default_rng(seed)) for seed in range(DRAWS)]
        for profile in PROFILES if first else PROFILES[:1]:
            costs = [forecast(private.with_result((tree,)), profile).bytes for tree in trees]
            yield _row(which, private, profile, trees, costs)


def _row(which: str, task: ExactTree | PrivateTree, profile: Profile, trees: list[Tree], costs: list[int]) -> Row:
    """Return the row of some trees: the median of their costs beside the forecast."""
    leaves = sorted(sum(isinstance(node, Leaf) for node, _ in walk(tree)) for tree in trees)
    return {
        "which": which,
        "max_depth": task.settings.max_depth,
        "leaves": leaves[len(leaves) // 2],
        "profile": str(profile),
        "bytes": sorted(costs)[len(costs) // 2],
        "largest": max(costs),
        "typical": forecast(task.cost(Inputs()).program, profile).bytes,
        "most": task.cost(Inputs()).most(profile),
    }


def main() -> None:
    """Measure all tables and write the rows."""
    rows = [row for name, file, target in TABLES for row in measured(name, Path(sys.argv[1]).absolute() / file, target)]
    files.write_text(TARGET, json_rows({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
