"""Measures how near the typical forecast of an exact tree is to what trees of public tables cost, and the most it can.

    python -m benchmarks.tree_costs DATA            (the tables' directory; writes benchmarks/results/tree_costs.json)

Every table is prepared from its raw file as `smc prepare` does, its rows dealt to two parties by a coin. The tree that
`smc id3` finds by default is grown in the clear, and the bytes of that tree's run are counted (`cost_model.with_tree`,
exact). docs/cost.md shows the rows.
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
from typing import Any, cast
from unittest import mock

import numpy as np

from parties.alone.preparing.writing import row_bound
from parties.base import files
from parties.bench.json_rows import json_rows
from parties.cli import run
from parties.jobs.inputs import Inputs
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.party_file import load as load_party
from parties.sources.opening import open_table
from parties.tables import schema as schemas
from protocols.counts import Indices, RowCounts
from protocols.rules import x_log_x
from protocols.tree import Leaf, Open, Split, Tree, open_depth, walk
from smc.counting import forecast
from smc.engines import Profile

TARGET = Path(__file__).parent / "results" / "tree_costs.json"
PROFILES = (Profile("mixed"), Profile("lean", "ferret", form="depth"))
Row = dict[str, Any]
HOSPITAL_ROWS = 20_000
SEED = 1
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


def prepared(raw: Path, target: str, place: Path) -> tuple[ExactTree, Indices]:
    """Return the job with its defaults and the distinct rows, int64[lines, attributes + 2]."""
    if raw.suffix == ".py":
        with chdir(place), mock.patch.object(sys, "argv", [str(raw), str(HOSPITAL_ROWS)]):
            runpy.run_path(str(raw))
        raw = place / "a.csv"
    elif raw.suffix == ".gz":
        with gzip.open(raw) as packed, (place / raw.stem).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        raw = place / raw.stem
    assert run(["prepare", str(raw), "--target", target, "--table", "rows", "--out", str(place / "out")]) == 0
    table = load_party(place / "out" / "party.toml").tables["rows"]
    schema = schemas.load(table.schema_file)
    with open_table(table, schema, target) as source:
        half = -(-source.check() // 2)
        distinct = np.unique(source.distinct(), axis=0)  # in an order of their own: that of a query is any
    return ExactTree(Id3Settings(max_rows=row_bound(half)), schema, target), distinct


def dealt(task: ExactTree, distinct: Indices) -> list[RowCounts]:
    """Return both parties' rows."""
    ours = np.random.default_rng(SEED).binomial(distinct[:, -1], 0.5)
    rows, labels = distinct[:, :-2], distinct[:, -2]
    return [RowCounts(task.domains, task.classes, rows, labels, n) for n in (ours, distinct[:, -1] - ours)]


def grown(task: ExactTree, parties: list[RowCounts]) -> Tree:
    """Return the tree, from the rows of both parties in the clear; k holds for each party's own."""
    problem, tree, depth, inherited = task.problem, cast(Tree, Open()), 0, [0]
    whole = [party.level(Open(), attributes=False).classes[0] for party in parties]
    while open_depth(tree) is not None:
        levels = [party.level(tree, attributes=True) for party in parties]
        feasible = [
            np.all(
                [problem.rules.keeps(own.values[a], rows).all(axis=1) for own, rows in zip(levels, whole, strict=True)],
                0,
            )
            for a in range(len(problem.domains))
        ]
        values = [left + right for left, right in zip(levels[0].values, levels[1].values, strict=True)]
        scores = [x_log_x(v.sum(axis=2)).sum(axis=1) - x_log_x(v).sum(axis=(1, 2)) for v in values]
        decisions: list[Tree] = []
        majorities: list[int] = []
        for node, (counts, used) in enumerate(
            zip(levels[0].classes + levels[1].classes, attributes_above(tree), strict=True)
        ):
            label = int(counts.argmax()) if counts.sum() else inherited[node]
            free = [a for a in range(len(problem.domains)) if a not in used and feasible[a][node]]
            if counts.max() == counts.sum() or not free or depth == problem.max_depth:
                decisions.append(Leaf(label))
                continue
            chosen = min(free, key=lambda a: float(scores[a][node]))
            decisions.append(Split(chosen, (Open(),) * problem.domains[chosen]))
            majorities += [label] * problem.domains[chosen]
        tree, inherited, depth = filled(tree, iter(decisions)), majorities, depth + 1
    return tree


def attributes_above(tree: Tree, used: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield the attributes on the way to each open node."""
    if isinstance(tree, Open):
        yield used
    elif isinstance(tree, Split):
        for child in tree.children:
            yield from attributes_above(child, (*used, tree.attribute))


def filled(tree: Tree, decisions: Iterator[Tree]) -> Tree:
    """Return the tree with its open nodes decided, in reading order."""
    if isinstance(tree, Open):
        return next(decisions)
    if isinstance(tree, Split):
        return Split(tree.attribute, tuple(filled(child, decisions) for child in tree.children))
    return tree


def measured(name: str, raw: Path, target: str) -> Iterator[Row]:
    """Yield what a table's tree costs and what was forecast: at the default depth, and one level deeper."""
    with tempfile.TemporaryDirectory() as place:
        task, distinct = prepared(raw, target, Path(place))
    parties = dealt(task, distinct)
    depth = task.settings.max_depth
    assert depth is not None
    for deepest in (depth, depth + 1):
        deeper = ExactTree(task.settings.model_copy(update={"max_depth": deepest}), task.schema, target)
        tree = grown(deeper, parties)
        for profile in PROFILES:
            yield {
                "table": name,
                "rows": int(distinct[:, -1].sum()),
                "columns": len(task.domains),
                "max_depth": deepest,
                "default": deepest == depth,
                "leaves": sum(isinstance(node, Leaf) for node, _ in walk(tree)),
                "profile": str(profile),
                "bytes": forecast(deeper.with_result(tree), profile).bytes,
                "typical": forecast(deeper.program(Inputs()), profile).bytes,
                "most": deeper.most(profile),
            }


def main() -> None:
    """Measure all tables and write the rows."""
    rows = [row for name, file, target in TABLES for row in measured(name, Path(sys.argv[1]).absolute() / file, target)]
    files.write_text(TARGET, json_rows({"rows": rows}) + "\n")


if __name__ == "__main__":
    main()
