"""One table as text, its counts by `parties.tables.rows` and `RowCounts`, and whether a source counts the same."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parties.sources.cells import load
from parties.tables.schema import Schema
from protocols.counts import Counts, Indices, RowCounts, Rows
from protocols.id3 import Level, Problem, id3
from protocols.tree import Leaf, Open, Split, Tree, open_depth
from smc.engines import make_engine
from smc.local import run_local
from smc.session import Session

# Names and values that SQL, the sources' own queries or a careless program would stumble over.
SCHEMA = Schema(
    {
        "y": ("yes", "no", "?"),
        "select": ("it's", 'say "hi"', "back\\slash", "%s {0} $1"),
        'we"ird. näme': ("ünï ☃", "a.b", "--x;"),
        "c0": ("007", "7", "1.0", "1", "true", "?"),
        "n": ("a", "A", "b c"),
        "GROUP BY": ("only",),
        "outcome": ("good", "bad", "NULL"),
    }
)
TARGET = "outcome"


@dataclass(frozen=True)
class Sample:
    """Rows as text under the schema's names, and the same in a CSV file; `spaced` cells stand between spaces."""

    columns: dict[str, list[str]]
    csv: Path

    @property
    def counts(self) -> RowCounts:
        return reference(self.csv, SCHEMA, TARGET)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return list(zip(*self.columns.values(), strict=True))


def sample(folder: Path, rows: int = 240, seed: int = 7) -> Sample:
    """Rows with missing values (empty cells), space around some, and a column that the schema does not know."""
    rng = random.Random(seed)
    spaces = ("", "", "", " ", "\t", "\u2003", " \u00a0")
    columns: dict[str, list[str]] = {}
    for name, values in SCHEMA.attributes.items():
        cells = [rng.choice(values) for _ in range(rows)]
        columns[name] = [rng.choice(spaces) + ("" if cell == "?" else cell) + rng.choice(spaces) for cell in cells]
    columns["id"] = [str(i) for i in range(rows)]
    path = folder / "sample.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return Sample(columns, path)


def reference(path: Path, schema: Schema, target: str) -> RowCounts:
    """Counts of the rows of a CSV file, in memory."""
    table = load(path, schema, target, 1 << 20)
    return RowCounts(domains(schema, target), len(schema.attributes[target]), table.rows, table.classes)


def domains(schema: Schema, target: str) -> tuple[int, ...]:
    return tuple(len(schema.attributes[name]) for name in schema.features(target))


def random_tree(
    rng: random.Random, sizes: tuple[int, ...], depth: int, leaves: float = 0.3, by_edge: frozenset[int] = frozenset()
) -> Tree:
    """A growing tree with its open nodes, if any, at `depth`; no branch asks an attribute twice, but for those that are
    asked by an edge."""

    def grow(left: tuple[int, ...], depth: int) -> Tree:
        if not depth:
            return Open()
        if not left or rng.random() < leaves:
            return Leaf(0)
        attribute = rng.choice(left)
        if attribute in by_edge:
            edge = rng.choice([*range(1, sizes[attribute]), *[-1] * (sizes[attribute] == 3)])
            return Split(attribute, (grow(left, depth - 1), grow(left, depth - 1)), edge)
        rest = tuple(a for a in left if a != attribute)
        return Split(attribute, tuple(grow(rest, depth - 1) for _ in range(sizes[attribute])))

    return grow(tuple(range(len(sizes))), depth)


def path(depth: int, size: int) -> Tree:
    """One branch to the depth, of first values; all else are leaves."""
    tree: Tree = Open()
    for attribute in reversed(range(depth)):
        others = Open() if attribute == depth - 1 else Leaf(0)
        tree = Split(attribute, (tree, *[others] * (size - 1)))
    return tree


def full(depth: int, size: int) -> Tree:
    tree: Tree = Open()
    for attribute in reversed(range(depth)):
        tree = Split(attribute, (tree,) * size)
    return tree


def assert_same_level(source: Counts, expected: Counts, tree: Tree, attributes: bool = True) -> None:
    left, right = source.level(tree, attributes), expected.level(tree, attributes)
    assert left.classes.dtype == np.int64
    assert np.array_equal(left.classes, right.classes)
    assert len(left.values) == len(right.values)
    for a, b in zip(left.values, right.values, strict=True):
        assert a.dtype == np.int64
        assert np.array_equal(a, b)


def assert_same_counts(source: Rows, expected: RowCounts, schema: Schema = SCHEMA, target: str = TARGET) -> None:
    """The same counts in several trees, and the same distinct rows."""
    sizes = domains(schema, target)
    assert sorted(source.distinct().tolist()) == sorted(expected.distinct().tolist())
    for seed, depth in enumerate(range(min(4, len(sizes) + 1))):
        tree = random_tree(random.Random(seed), sizes, depth, leaves=0.0 if seed < 2 else 0.2)
        assert open_depth(tree) == depth
        assert_same_level(source, expected, tree, attributes=True)
        assert_same_level(source, expected, tree, attributes=False)


def tree_of(counts: Counts, schema: Schema, target: str, engine: Any = "clear") -> Tree:
    """The tree that ID3 finds in these rows and those of a peer with none; every level is checked on the way."""
    sizes = domains(schema, target)
    classes = len(schema.attributes[target])
    nobody = RowCounts(sizes, classes, np.zeros((0, len(sizes)), int), np.zeros(0, int))
    problem = Problem(sizes, classes, max_rows=1000)
    levels: list[Level] = []

    def program(session: Session) -> Tree:
        own = nobody if session.party else counts
        return id3(make_engine(session, engine), problem, own, None if session.party else levels.append)

    left, right = run_local(program)
    assert left == right
    assert levels
    return left


def merged(batches: Iterable[Indices]) -> list[list[int]]:
    """The distinct lines of some pieces, each with how often it is there."""
    totals: Counter[tuple[int, ...]] = Counter()
    for lines in batches:
        assert lines.dtype == np.int64
        for *values, number in lines.tolist():
            totals[tuple(values)] += number
    return sorted([*values, number] for values, number in totals.items())
