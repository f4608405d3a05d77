"""A party's own counts for a question, from any source of counts.

Rows are grouped by a decided tree: it splits on every column with a condition and every grouping column. An unselected
row ends in a leaf, a selected one in an open node. The source counts the open nodes by the values of one more column,
its target. So a source needs no knowledge of questions, and each question is one query.
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
from numpy.typing import NDArray

from parties.jobs.release.predicates import Predicate
from parties.tables.schema import Schema
from protocols.counts import Counts, Indices, Rows
from protocols.joint_counts import JointCounts
from protocols.tree import Leaf, Open, Split, Tree
from smc.errors import InputError

MOST_WAYS = 3  # columns that are counted together
MAX_CELLS = 1 << 16  # largest number of cells of one query
MOST_WEIGHTS = 1 << 24  # weights of all values in all sums


@dataclass(frozen=True)
class Cells:
    """Selected rows grouped by some columns: a cell for each combination of selected values."""

    schema: Schema
    where: Predicate
    by: tuple[str, ...] = ()

    @cached_property
    def domains(self) -> tuple[tuple[str, ...], ...]:
        """Selected values of each grouping column."""
        return tuple(self.where.values(column, self.schema) for column in self.by)

    @property
    def number(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.domains))

    @property
    def labels(self) -> list[dict[str, str]]:
        """Values of each cell by column, in the order of the counts."""
        return [dict(zip(self.by, values, strict=True)) for values in product(*self.domains)]

    @property
    def words(self) -> str:
        """Description of the cells as part of a sentence; empty for all rows."""
        if not self.by:
            return self.where.words()
        each = " and ".join(f"{name} ({', '.join(values)})" for name, values in zip(self.by, self.domains, strict=True))
        return f", for each value of {each}" + (f", of rows{self.where.words()}" if self.where.wanted else "")

    def check(self) -> None:
        """Raise InputError if there are too many cells."""
        columns = dict.fromkeys([*self.where.columns, *self.by])
        cells = math.prod(len(self.where.values(column, self.schema)) for column in columns)
        if cells > MAX_CELLS:
            raise InputError(
                f"the question needs {cells} cells, more than {MAX_CELLS}; name fewer columns, or fewer values in where"
            )

    def count(self, counts: Counts, target: str) -> Indices:
        """Return this party's row count of each cell, int64[selected values of the first column, of the second,
        ...].

        Args:
            counts: Source with all columns of the schema in its order, except the target.
            target: Column by whose values the source counts.
        """
        if isinstance(counts, JointCounts):
            return self._count_apart(counts, target)
        splits = _splits(self.where, self.by, target)
        tree = _tree(self.where, splits, self.schema, target)
        (open_nodes,) = (counts.level(tree, attributes=False).classes,)
        shape = [len(self.where.values(column, self.schema)) for column in splits]
        table = open_nodes.reshape(*shape, -1)[..., _places(self.where, target, self.schema)]
        names = [*splits, target]
        summed_axes = tuple(axis for axis, name in enumerate(names) if name not in self.by)
        remaining = [name for name in names if name in self.by]
        return np.transpose(table.sum(axis=summed_axes), [remaining.index(name) for name in self.by])

    def _count_apart(self, counts: JointCounts, target: str) -> Indices:
        """Return shares of the joint numbers of `count`, of rows whose columns lie apart."""
        if target not in self.by:
            return self.sums_apart(counts, target).reshape([*map(len, self.domains)])
        others = Cells(self.schema, self.where, tuple(name for name in self.by if name != target))
        weights = np.eye(len(self.schema.attributes[target]), dtype=np.int64)[
            :, _places(self.where, target, self.schema)
        ]
        table = others.sums_apart(counts, target, weights).reshape(*map(len, others.domains), -1)
        return np.moveaxis(table, -1, self.by.index(target))

    def sums_apart(self, counts: JointCounts, target: str, weights: Indices | None = None) -> Indices:
        """Return shares of sums over the rows of each cell, whose columns lie apart: int64[cells, sums].

        Args:
            counts: Source with all columns of the schema in its order, except the target.
            target: Column by whose values the source counts; no grouping column.
            weights: Weight of each of its values in each sum, int64[values, sums]; None to count the rows.
        """
        order = [*self.schema.features(target), target]
        fixed = {
            name: _selected(self.where.values(name, self.schema), name, self.schema) for name in self.where.columns
        }
        boxes, needed = [], order if weights is None else order[:-1]  # weights select the target's values
        for values in product(*self.domains):
            one = {name: _selected([value], name, self.schema) for name, value in zip(self.by, values, strict=True)}
            boxes.append({order.index(name): chosen for name, chosen in (fixed | one).items() if name in needed})
        return counts.sums(boxes, weights)

    def answers(self, numbers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return for each cell a JSON object: its values by column, as `cell`, and the fields of its number."""
        return [{"cell": label, **number} for label, number in zip(self.labels, numbers, strict=True)]

    # For questions on the values of the last column, in groups formed by the other columns.

    @cached_property
    def groups(self) -> Cells:
        """The cells without the last grouping column: one for each group."""
        return Cells(self.schema, self.where, self.by[:-1])

    def by_group(self, counts: Counts) -> Indices:
        """Return this party's row count of each value in each group, int64[groups, values]."""
        return self.count(counts, self.by[-1]).reshape(self.groups.number, -1)

    def check_groups(self) -> None:
        """Raise InputError if there are too many groups. The number of summed values is not limited."""
        if self.groups.number > MAX_CELLS:
            raise InputError(f"by: makes {self.groups.number} groups, more than {MAX_CELLS}; name fewer columns")

    def sums(self, rows: Rows, *vectors: Indices) -> Indices:
        """Return sums over this party's rows of numbers for each value of the last column, int64[vectors, groups].

        The rows are read once, in pieces.

        Args:
            rows: This party's rows.
            vectors: Numbers to sum, one for each selected value of the last column: int64[selected values] each.
        """
        if isinstance(rows, JointCounts):
            target = self.by[-1]
            weights = np.zeros((len(self.schema.attributes[target]), len(vectors)), dtype=np.int64)
            weights[_places(self.where, target, self.schema)] = np.array(vectors).T
            return self.groups.sums_apart(rows, target, weights).T
        totals = np.zeros((len(vectors), self.groups.number), dtype=np.int64)
        for group, values, numbers in self._grouped(rows):
            for total, vector in zip(totals, vectors, strict=True):
                np.add.at(total, group, vector[values] * numbers)  # integers: exact
        return totals

    def ranges(self, rows: Rows, range_of: Indices, number: int) -> Indices:
        """Return the number of this party's rows with a value in each range in each group, int64[groups, number].

        The rows are read once, in pieces.

        Args:
            rows: This party's rows.
            range_of: Range of each value, int64[selected values]; -1 for none.
            number: Number of ranges.
        """
        if isinstance(rows, JointCounts):
            if len(range_of) * number > MOST_WEIGHTS:
                raise InputError(
                    f"column: {len(range_of):,} values and {number:,} answers are too many for columns that lie apart; "
                    "round them in the schema"
                )
            return self.sums(rows, *(range_of == np.arange(number)[:, None]).astype(np.int64)).T
        counts = np.zeros(self.groups.number * number, dtype=np.int64)
        for group, values, numbers in self._grouped(rows):
            range_indices = range_of[values]
            has_range = range_indices >= 0
            cells = (group * number + range_indices)[has_range]
            counts += np.bincount(cells, weights=numbers[has_range], minlength=len(counts)).astype(np.int64)
        return counts.reshape(-1, number)

    def _grouped(self, rows: Rows) -> Iterator[tuple[Indices, Indices, Indices]]:
        for codes, numbers in pieces(rows, self.schema, self.by[-1], self.where, self.by):
            group = np.zeros(len(numbers), dtype=np.int64)
            for name, domain in zip(self.groups.by, self.groups.domains, strict=True):
                group = group * len(domain) + codes[name]
            yield group, codes[self.by[-1]], numbers

    def grouped(self, numbers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a JSON object with the last column, the grouping columns, and these numbers, each with the values of
        its group."""
        return {"column": self.by[-1], "by": list(self.groups.by), "numbers": self.groups.answers(numbers)}


def used(schema: Schema, columns: Sequence[str], target: str | None = None) -> Schema:
    """Return the schema of the given columns in the schema's order; of its first column if none are given.

    Args:
        schema: The full schema.
        columns: Columns to read.
        target: Further column to read.
    """
    names = list(columns) or [next(iter(schema.attributes))]
    return schema.only([*names, *([] if target is None else [target])])


def pairs(counts: Counts, schema: Schema, target: str, where: Predicate) -> dict[str, Indices]:
    """Return the joint row counts of each column's values and the classes.

    Args:
        counts: Source with all columns of the schema.
        schema: The schema.
        target: Column of the classes.
        where: Predicate of the counted rows.

    Returns:
        int64[selected values, selected classes] for each column.
    """
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
    """Return a marginal for each set of columns, counted in one pass.

    Args:
        rows: This party's rows.
        schema: The schema.
        target: Column of the source's classes.
        where: Predicate of the counted rows.
        sets: Columns of each marginal, at most `MOST_WAYS`.

    Returns:
        int64[selected values of the first column, of the second, ...] for each set.
    """
    if isinstance(rows, JointCounts):
        return [Cells(schema, where, names).count(rows, target) for names in sets]
    shapes = [tuple(len(where.values(name, schema)) for name in names) for names in sets]
    from smc.kernels import count

    columns = list(dict.fromkeys(chain(*sets)))
    # the last entry is a column of one value
    sizes = np.array([*(len(where.values(name, schema)) for name in columns), 1])
    padded = [[*names, *[None] * MOST_WAYS][:MOST_WAYS] for names in sets]
    positions = np.array(
        [[len(columns) if name is None else columns.index(name) for name in names] for names in padded]
    )
    *starts, cells = accumulate(map(math.prod, shapes), initial=0)
    counts = np.zeros(cells, dtype=np.int64)
    for codes, numbers in pieces(rows, schema, target, where, columns):
        table = np.array([*(codes[name] for name in columns), np.zeros_like(numbers)])
        count(table, np.ascontiguousarray(numbers), positions, sizes, np.array(starts), counts)
    tables = np.split(counts, starts[1:])
    return [table.reshape(shape) for table, shape in zip(tables, shapes, strict=True)]


def pieces(
    rows: Rows, schema: Schema, target: str, where: Predicate, columns: Iterable[str]
) -> Iterator[tuple[dict[str, Indices], Indices]]:
    """Yield the selected own rows in pieces: value indices of each column, and the number of rows of each line.

    Columns that lie apart yield one piece: all combinations of the values, with shares of their joint numbers.

    Args:
        rows: Own rows, as category numbers with their counts.
        schema: The agreed schema.
        target: The target, which is the last column of the rows.
        where: Condition that selects rows; an index counts the values that it selects.
        columns: Columns to yield.
    """
    if isinstance(rows, JointCounts):
        cells = Cells(schema, where, tuple(dict.fromkeys(columns)))
        combinations = np.indices([*map(len, cells.domains)]).reshape(len(cells.by), -1)
        yield dict(zip(cells.by, combinations, strict=True)), cells.count(rows, target).reshape(-1)
        return
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
    """Return a function from a key to a digest of the source and of `numbers`.

    A resumed job compares digests: its noise is valid only for these numbers.

    Args:
        source: Fingerprint of the source.
        numbers: This party's numbers.
    """

    def digest(key: bytes) -> bytes:
        data = source(key) + numbers.astype("<i8").tobytes()
        return hmac.new(key, b"smc own numbers 1\0" + data, hashlib.sha256).digest()

    return digest


def _selected(values: Sequence[str], column: str, schema: Schema) -> NDArray[np.bool_]:
    """Return whether each value of a column is among some values, bool[values]."""
    return np.array([value in values for value in schema.attributes[column]])


def _places(where: Predicate, column: str, schema: Schema) -> list[int]:
    selected = set(where.values(column, schema))
    return [index for index, value in enumerate(schema.attributes[column]) if value in selected]


def _ranks(where: Predicate, column: str, schema: Schema) -> Indices:
    """Return the index of each value of a column among the selected ones; -1 for the others."""
    selected = _places(where, column, schema)
    ranks: Indices = np.full(len(schema.attributes[column]), -1, dtype=np.int64)
    ranks[selected] = np.arange(len(selected))
    return ranks


def _splits(where: Predicate, by: Sequence[str], target: str) -> list[str]:
    """Return the columns that the tree splits on: those with only a condition first, then the grouping ones."""
    conditions = [column for column in where.columns if column not in by]
    return [column for column in [*conditions, *by] if column != target]


def _tree(where: Predicate, splits: Sequence[str], schema: Schema, target: str) -> Tree:
    """Return the decided tree; its open nodes are in the order of the selected values, the first column's slowest."""
    features = schema.features(target)
    tree: Tree = Open()
    for column in reversed(splits):
        selected = set(where.values(column, schema))
        children = tuple(tree if value in selected else Leaf(0) for value in schema.attributes[column])
        tree = Split(features.index(column), children)
    return tree
