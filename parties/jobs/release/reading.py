"""A party's own counts for a question, from any source of counts: its table's engine is asked as a tree asks it.

Rows are told apart by a tree that is decided already: a split for every column with a condition and for every column
whose values are told apart, a leaf where a row is not meant, an open node where it is. The source counts the open nodes
by the values of one more column, its target. So nothing of a question is known to a source, and each is one query.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, product
from typing import Any

import numpy as np

from parties.jobs.release.predicates import Predicate
from parties.tables.schema import Schema
from protocols.counts import Counts, Indices, Rows
from protocols.tree import Leaf, Open, Split, Tree
from smc.errors import InputError

MOST_WAYS = 3  # columns that are counted together
MAX_CELLS = 1 << 16  # that a query tells apart: more than that are refused


@dataclass(frozen=True)
class Cells:
    """Rows that are meant, told apart by the values of some columns: a cell for each combination of wanted values."""

    schema: Schema
    where: Predicate
    by: tuple[str, ...] = ()

    @cached_property
    def domains(self) -> tuple[tuple[str, ...], ...]:
        """The wanted values of each column that tells rows apart."""
        return tuple(self.where.values(column, self.schema) for column in self.by)

    @property
    def number(self) -> int:
        """The number of cells."""
        return math.prod(map(len, self.domains))

    @property
    def labels(self) -> list[dict[str, str]]:
        """The values of each cell by their columns, in the order of the counts."""
        return [dict(zip(self.by, values, strict=True)) for values in product(*self.domains)]

    @property
    def words(self) -> str:
        """The cells as part of a sentence; nothing for all rows."""
        if not self.by:
            return self.where.words()
        each = " and ".join(f"{name} ({', '.join(values)})" for name, values in zip(self.by, self.domains, strict=True))
        return f", for each value of {each}" + (f", of rows{self.where.words()}" if self.where.wanted else "")

    def check(self) -> None:
        """`InputError` if there are too many cells."""
        columns = dict.fromkeys([*self.where.columns, *self.by])
        told_apart = math.prod(len(self.where.values(column, self.schema)) for column in columns)
        if told_apart > MAX_CELLS:
            raise InputError(
                f"the question tells {told_apart} cells apart, at most {MAX_CELLS} are counted: "
                "name fewer columns, or fewer values in where"
            )

    def count(self, counts: Counts, target: str) -> Indices:
        """Return how many own rows each cell has, int64[wanted values of the first column, of the second, ...].

        `counts` has all columns of the schema in its order, the target apart.
        """
        splits = _splits(self.where, self.by, target)
        tree = _tree(self.where, splits, self.schema, target)
        (open_nodes,) = (counts.level(tree, attributes=False).classes,)
        shape = [len(self.where.values(column, self.schema)) for column in splits]
        table = open_nodes.reshape(*shape, -1)[..., _places(self.where, target, self.schema)]
        names = [*splits, target]
        hidden = tuple(place for place, name in enumerate(names) if name not in self.by)
        left = [name for name in names if name in self.by]
        return np.transpose(table.sum(axis=hidden), [left.index(name) for name in self.by])

    def answers(self, numbers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return a number for each cell as a result has them."""
        return [{"cell": label, **number} for label, number in zip(self.labels, numbers, strict=True)]

    # Of questions on the values of one column, the last one, in groups that the others make.

    @cached_property
    def groups(self) -> Cells:
        """The groups."""
        return Cells(self.schema, self.where, self.by[:-1])

    def by_group(self, counts: Counts) -> Indices:
        """Return how many own rows have each value in each group, int64[groups, values]."""
        return self.count(counts, self.by[-1]).reshape(self.groups.number, -1)

    def check_groups(self) -> None:
        """`InputError` if there are too many groups; of values there may be any number where they are summed."""
        if self.groups.number > MAX_CELLS:
            raise InputError(
                f"by: makes {self.groups.number} groups, at most {MAX_CELLS} are summed: name fewer columns"
            )

    def sums(self, rows: Rows, *vectors: Indices) -> Indices:
        """Return the sums over own rows of numbers that each value of the last column has, int64[vectors, groups].

        A vector is int64[wanted values]. The rows are read in pieces, once.
        """
        totals = np.zeros((len(vectors), self.groups.number), dtype=np.int64)
        for group, values, numbers in self._grouped(rows):
            for total, vector in zip(totals, vectors, strict=True):
                np.add.at(total, group, vector[values] * numbers)  # integers: exact
        return totals

    def ranges(self, rows: Rows, range_of: Indices, number: int) -> Indices:
        """Return how many own rows have a value of each range in each group, int64[groups, number].

        `range_of` is int64[wanted values], -1 for one in no range. The rows are read in pieces, once.
        """
        counts = np.zeros(self.groups.number * number, dtype=np.int64)
        for group, values, numbers in self._grouped(rows):
            places = range_of[values]
            has_one = places >= 0
            cells = (group * number + places)[has_one]
            counts += np.bincount(cells, weights=numbers[has_one], minlength=len(counts)).astype(np.int64)
        return counts.reshape(-1, number)

    def _grouped(self, rows: Rows) -> Iterator[tuple[Indices, Indices, Indices]]:
        """Yield own rows in pieces: of each its group, the value of the last column, and how many such there are."""
        for codes, numbers in _pieces(rows, self.schema, self.by[-1], self.where, self.by):
            group = np.zeros(len(numbers), dtype=np.int64)
            for name, domain in zip(self.groups.by, self.groups.domains, strict=True):
                group = group * len(domain) + codes[name]
            yield group, codes[self.by[-1]], numbers

    def grouped(self, numbers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a result with a number for each group."""
        return {"column": self.by[-1], "by": list(self.groups.by), "numbers": self.groups.answers(numbers)}


def used(schema: Schema, columns: Sequence[str], target: str | None = None) -> Schema:
    """Return the schema of what is read: these columns, or one if there are none, in the schema's order."""
    names = list(columns) or [next(iter(schema.attributes))]
    return schema.only([*names, *([] if target is None else [target])])


def pairs(counts: Counts, schema: Schema, target: str, where: Predicate) -> dict[str, Indices]:
    """Return how many own rows each value of each column has in each class, int64[wanted values, wanted classes] a
    column."""
    splits = _splits(where, (), target)
    level = counts.level(_tree(where, splits, schema, target), attributes=True)
    classes = _places(where, target, schema)
    return {
        column: table.sum(axis=0)[np.ix_(_places(where, column, schema), classes)]
        for column, table in zip(schema.features(target), level.values, strict=True)
    }


def marginals(
    rows: Rows, schema: Schema, target: str, where: Predicate, sets: Sequence[tuple[str, ...]]
) -> list[Indices]:
    """Return how many own rows each combination of values of some columns has: a table for each of the sets of columns.

    A table is int64[wanted values of the first column, of the second, ...]. All are counted in one pass.
    """
    shapes = [tuple(len(where.values(name, schema)) for name in names) for names in sets]
    from smc.kernels import count

    columns = list(dict.fromkeys(chain(*sets)))
    sizes = np.array([*(len(where.values(name, schema)) for name in columns), 1])  # and a column of one value
    padded = [[*names, *[None] * MOST_WAYS][:MOST_WAYS] for names in sets]
    places = np.array([[len(columns) if name is None else columns.index(name) for name in names] for names in padded])
    *starts, cells = accumulate(map(math.prod, shapes), initial=0)
    counts = np.zeros(cells, dtype=np.int64)
    for codes, numbers in _pieces(rows, schema, target, where, columns):
        table = np.array([*(codes[name] for name in columns), np.zeros_like(numbers)])
        count(table, np.ascontiguousarray(numbers), places, sizes, np.array(starts), counts)
    tables = np.split(counts, starts[1:])
    return [table.reshape(shape) for table, shape in zip(tables, shapes, strict=True)]


def _pieces(
    rows: Rows, schema: Schema, target: str, where: Predicate, columns: Iterable[str]
) -> Iterator[tuple[dict[str, Indices], Indices]]:
    """Yield own rows that are meant in pieces: of each the places of the columns' values, and how many such there are.

    A place is among the wanted values of a column.
    """
    order = [*schema.features(target), target]
    ranks = {column: _ranks(where, column, schema) for column in chain(where.columns, columns)}
    for lines in rows.batches():
        codes = {column: ranks[column][lines[:, order.index(column)]] for column in ranks}
        numbers, meant = lines[:, -1], np.ones(len(lines), dtype=bool)
        for column in where.columns:
            meant &= codes[column] >= 0
        if not meant.all():
            codes, numbers = {column: code[meant] for column, code in codes.items()}, numbers[meant]
        yield codes, numbers


def fingerprint(source: Callable[[bytes], bytes], numbers: Indices) -> Callable[[bytes], bytes]:
    """Return a keyed digest of the source's and of our `numbers`: the noise of a job is for these numbers and no
    others."""

    def digest(key: bytes) -> bytes:
        data = source(key) + numbers.astype("<i8").tobytes()
        return hmac.new(key, b"smc own numbers 1\0" + data, hashlib.sha256).digest()

    return digest


def _places(where: Predicate, column: str, schema: Schema) -> list[int]:
    """Return where the wanted values of a column stand among its values."""
    wanted = set(where.values(column, schema))
    return [place for place, value in enumerate(schema.attributes[column]) if value in wanted]


def _ranks(where: Predicate, column: str, schema: Schema) -> Indices:
    """Return the place of each value of a column among the wanted ones, -1 of the others."""
    places = _places(where, column, schema)
    ranks: Indices = np.full(len(schema.attributes[column]), -1, dtype=np.int64)
    ranks[places] = np.arange(len(places))
    return ranks


def _splits(where: Predicate, by: Sequence[str], target: str) -> list[str]:
    """Return the columns that the tree asks: those with a condition only, then those that tell rows apart."""
    conditions = [column for column in where.columns if column not in by]
    return [column for column in [*conditions, *by] if column != target]


def _tree(where: Predicate, splits: Sequence[str], schema: Schema, target: str) -> Tree:
    """Return the decided tree, its open nodes in the order of the wanted values, the first column's slowest."""
    features = schema.features(target)
    tree: Tree = Open()
    for column in reversed(splits):
        wanted = set(where.values(column, schema))
        children = tuple(tree if value in wanted else Leaf(0) for value in schema.attributes[column])
        tree = Split(features.index(column), children)
    return tree
