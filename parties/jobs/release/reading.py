"""A party's own counts for a question, from any source of counts: its table's engine is asked as a tree asks it.

Rows are told apart by a tree that is decided already: a split for every column with a condition and for every column
whose values are told apart, a leaf where a row is not meant, an open node where it is. The source counts the open nodes
by the values of one more column, its target. So nothing of a question is known to a source, and each is one query.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from parties.jobs.release.predicates import Predicate
from parties.tables.schema import Schema
from protocols.counts import Counts, Indices
from protocols.tree import Leaf, Open, Split, Tree
from smc.errors import InputError

MAX_CELLS = 1 << 16  # that a query tells apart: more than that are refused


@dataclass(frozen=True)
class Question:
    """Rows that are meant, told apart by the values of some columns: a cell for each combination of wanted values."""

    where: Predicate
    by: tuple[str, ...] = ()

    def domains(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """Return the wanted values of each column that tells rows apart."""
        return tuple(self.where.values(column, schema) for column in self.by)

    def check(self, schema: Schema) -> None:
        """`InputError` if there are too many cells."""
        columns = dict.fromkeys([*self.where.columns, *self.by])
        cells = math.prod(len(self.where.values(column, schema)) for column in columns)
        if cells > MAX_CELLS:
            raise InputError(
                f"the question tells {cells} cells apart, at most {MAX_CELLS} are counted: "
                "name fewer columns, or fewer values in where"
            )


def used(schema: Schema, columns: Sequence[str], target: str | None = None) -> Schema:
    """Return the schema of what is read: these columns, or one if there are none, in the schema's order."""
    names = list(columns) or [next(iter(schema.attributes))]
    return schema.only([*names, *([] if target is None else [target])])


def cells(counts: Counts, schema: Schema, target: str, question: Question) -> Indices:
    """Return how many own rows each cell has, int64[wanted values of the first column, of the second, ...].

    `counts` has all columns of the schema in its order, the target apart.
    """
    splits = _splits(question, target)
    (open_nodes,) = (counts.level(_tree(question.where, splits, schema, target), attributes=False).classes,)
    shape = [len(question.where.values(column, schema)) for column in splits]
    wanted = _places(question.where, target, schema)
    table = open_nodes.reshape(*shape, -1)[..., wanted]
    names = [*splits, target]
    hidden = tuple(place for place, name in enumerate(names) if name not in question.by)
    left = [name for name in names if name in question.by]
    return np.transpose(table.sum(axis=hidden), [left.index(name) for name in question.by])


def pairs(counts: Counts, schema: Schema, target: str, where: Predicate) -> dict[str, Indices]:
    """Return how many own rows each value of each column has in each class, int64[wanted values, wanted classes] a
    column."""
    splits = _splits(Question(where), target)
    level = counts.level(_tree(where, splits, schema, target), attributes=True)
    classes = _places(where, target, schema)
    found = {}
    for column, table in zip(schema.features(target), level.values, strict=True):
        found[column] = table.sum(axis=0)[np.ix_(_places(where, column, schema), classes)]
    return found


def marginals(
    counts: Counts, schema: Schema, target: str, where: Predicate, sets: Sequence[tuple[str, ...]]
) -> list[Indices]:
    """Return how many own rows each combination of values of some columns has: a table for each of the sets of columns.

    A table is int64[wanted values of the first column, of the second, ...]. Sets that differ in one column are counted
    by one query: all pairs of d columns take d - 1.
    """
    found: dict[tuple[str, ...], Indices] = {}
    others = {one: tuple(name for name in one if name != target) for one in sets}
    for by in dict.fromkeys(names[:-1] for names in others.values()):
        splits = _splits(Question(where, by), target)
        level = counts.level(_tree(where, splits, schema, target), attributes=True)
        shape = [len(where.values(name, schema)) for name in splits]
        hidden = tuple(place for place, name in enumerate(splits) if name not in by)
        classes = _places(where, target, schema)
        tables = dict(zip(schema.features(target), level.values, strict=True))
        for one, names in others.items():
            if names[:-1] != by:
                continue
            table = level.classes[:, classes]
            if names:
                table = tables[names[-1]][:, _places(where, names[-1], schema)][..., classes]
            table = table.reshape(*shape, *table.shape[1:]).sum(axis=hidden)
            order = [*names, target]
            if target not in one:
                table, order = table.sum(axis=-1), list(names)
            found[one] = np.ascontiguousarray(np.transpose(table, [order.index(name) for name in one]))
    return [found[one] for one in sets]


def fingerprint(source: Callable[[bytes], bytes], own: Indices) -> Callable[[bytes], bytes]:
    """Return a keyed digest of the source's and of the own numbers: the noise of a job is for these numbers and no
    others."""

    def digest(key: bytes) -> bytes:
        data = source(key) + own.astype("<i8").tobytes()
        return hmac.new(key, b"smc own numbers 1\0" + data, hashlib.sha256).digest()

    return digest


def _places(where: Predicate, column: str, schema: Schema) -> list[int]:
    """Return where the wanted values of a column stand among its values."""
    wanted = set(where.values(column, schema))
    return [place for place, value in enumerate(schema.attributes[column]) if value in wanted]


def _splits(question: Question, target: str) -> list[str]:
    """Return the columns that the tree asks: those with a condition only, then those that tell rows apart."""
    conditions = [column for column in question.where.columns if column not in question.by]
    return [column for column in [*conditions, *question.by] if column != target]


def _tree(where: Predicate, splits: Sequence[str], schema: Schema, target: str) -> Tree:
    """Return the decided tree, its open nodes in the order of the wanted values, the first column's slowest."""
    features = schema.features(target)
    tree: Tree = Open()
    for column in reversed(splits):
        wanted = set(where.values(column, schema))
        children = tuple(tree if value in wanted else Leaf(0) for value in schema.attributes[column])
        tree = Split(features.index(column), children)
    return tree
