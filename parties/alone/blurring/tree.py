"""Binary tree on intervals and categories: Gini index, pruned by description length (Mehta et al., KDD 1995)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protocols.arrays import Floats

IntervalCodes: TypeAlias = NDArray[np.int32]
Places: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf with its rows by class, int64[classes]."""

    counts: Places


@dataclass(frozen=True, eq=False)
class Branch:
    """A split: rows with an interval or category in `below`, bool[k], go to `low`, others to `high`."""

    counts: Places
    column: int
    below: NDArray[np.bool_]
    low: Node
    high: Node


Node: TypeAlias = Leaf | Branch


@dataclass(frozen=True)
class Axis:
    """A column's number of intervals in order, or of categories, which have no order."""

    size: int
    ordered: bool = True


class View(Protocol):
    """The rows of a node, each cell as the index of its interval or category."""

    def codes(self) -> IntervalCodes:
        """Return the index of each cell's interval, int32[columns, rows of the node]."""

    def part(self, column: int, rows: NDArray[np.bool_]) -> View:
        """Return the view of the selected rows, bool[rows], after a split on a column.

        Args:
            column: Index of the column of the split.
            rows: Which rows go to this branch, bool[rows].
        """


@dataclass(frozen=True, eq=False)
class Fixed:
    """Intervals that stay as they were assigned at the root."""

    matrix: IntervalCodes

    def codes(self) -> IntervalCodes:
        """Return the interval of each row in each column."""
        return self.matrix

    def part(self, column: int, rows: NDArray[np.bool_]) -> Fixed:
        """Return the same intervals for the selected rows.

        Args:
            column: Index of the column of the split.
            rows: Which rows go to this branch, bool[rows].
        """
        return Fixed(self.matrix[:, rows])


@dataclass(frozen=True)
class Growth:
    """Parameters of growth: least rows of a leaf, greatest depth, and whether the tree is pruned."""

    min_rows: int = 1
    max_depth: int | None = None
    prune: bool = True


def grow(view: View, classes: Places, number: int, axes: Sequence[Axis], how: Growth) -> Node:
    """Grow a tree from the rows of a view.

    Args:
        view: intervals of the rows
        classes: class of each row, int64[rows] below `number`
        number: number of classes
        axes: the columns
        how: parameters of growth
    """
    node = _grown(view, classes, number, axes, how, 0)
    return _pruned(node, axes)[0] if how.prune else node


def predict(node: Node, codes: IntervalCodes) -> Places:
    """Return the class counts of each row's leaf, int64[rows, classes].

    Args:
        node: root of the tree
        codes: intervals of the rows, int32[columns, rows]
    """
    counts = np.empty((codes.shape[1], len(node.counts)), dtype=np.int64)
    waiting: list[tuple[Node, Places]] = [(node, np.arange(codes.shape[1]))]
    while waiting:
        branch, rows = waiting.pop()
        if isinstance(branch, Leaf):
            counts[rows] = branch.counts
            continue
        low = branch.below[codes[branch.column, rows]]
        waiting += [(branch.low, rows[low]), (branch.high, rows[~low])]
    return counts


def leaves(node: Node) -> int:
    """Return the number of leaves of a tree."""
    return 1 if isinstance(node, Leaf) else leaves(node.low) + leaves(node.high)


def depth(node: Node) -> int:
    """Return the number of splits on the longest path."""
    return 0 if isinstance(node, Leaf) else 1 + max(depth(node.low), depth(node.high))


def _grown(view: View, classes: Places, number: int, axes: Sequence[Axis], how: Growth, level: int) -> Node:
    counts = np.bincount(classes, minlength=number).astype(np.int64)
    if (counts > 0).sum() < 2 or len(classes) < 2 * how.min_rows or level == (how.max_depth or 100):
        return Leaf(counts)
    codes = view.codes()
    best, column, below = math.inf, -1, np.zeros(0, dtype=np.bool_)
    for i, axis in enumerate(axes):
        if axis.size < 2:
            continue
        table = np.bincount(codes[i] * number + classes, minlength=axis.size * number).reshape(axis.size, number)
        order = np.arange(axis.size) if axis.ordered else _ranked(table)
        score, cut = _cut(np.cumsum(table[order], axis=0)[:-1].astype(np.float64), counts, how.min_rows)
        if score < best - 1e-12:
            best, column, below = score, i, np.isin(np.arange(axis.size), order[: cut + 1])
    if column < 0 or best > _impurity(counts.astype(np.float64)) - 1e-9:
        return Leaf(counts)
    low = below[codes[column]]
    parts = [_grown(view.part(column, go), classes[go], number, axes, how, level + 1) for go in (low, ~low)]
    return Branch(counts, column, below, *parts)


def _ranked(table: Places) -> Places:
    """Return the order of categories by rising share of the node's most frequent class.

    With two classes, the best subset is then one of the cuts.
    """
    most = int(np.argmax(table.sum(axis=0)))
    return np.argsort(table[:, most] / np.maximum(table.sum(axis=1), 1), kind="stable")


def _cut(low: Floats, counts: Places, least: int) -> tuple[float, int]:
    """Return the Gini index of the best cut, both sides weighted by rows, and the cut's index.

    `low` are the rows below each cut by class, float64[cuts, classes]; `counts` are all rows by class. Each side
    must have `least` rows; without such a cut, return infinity and -1.
    """
    high = counts - low
    scores = _impurity(low) + _impurity(high)
    scores[np.minimum(low.sum(axis=1), high.sum(axis=1)) < least] = math.inf
    at = int(np.argmin(scores))
    score = float(scores[at])
    if not math.isfinite(score):
        return math.inf, -1
    # Empty intervals make equal cuts: take the middle one, the farthest from both sides.
    same = np.flatnonzero((low == low[at]).all(axis=1))
    return score, int(same[(len(same) - 1) // 2])


def _impurity(counts: Floats) -> Floats:
    total = counts.sum(axis=-1)
    return np.asarray(total - (counts**2).sum(axis=-1) / np.maximum(total, 1))


def _pruned(node: Node, axes: Sequence[Axis]) -> tuple[Node, float]:
    """Return the subtree of least description length, and that length in bits."""
    alone = 1 + _bits(node.counts)
    if isinstance(node, Leaf):
        return node, alone
    low, first = _pruned(node.low, axes)
    high, second = _pruned(node.high, axes)
    # A split encodes that it is a split, its column and its cut; for categories, any subset.
    axis = axes[node.column]
    split = 1 + math.log2(len(axes)) + (math.log2(axis.size - 1) if axis.ordered else axis.size - 1)
    if alone <= split + first + second:
        return Leaf(node.counts), alone
    return Branch(node.counts, node.column, node.below, low, high), split + first + second


def _bits(counts: Places) -> float:
    """Return the stochastic complexity of classes: bits to encode them, with their probabilities."""
    total, number = float(counts.sum()), len(counts)
    if not total or number < 2:
        return 0.0
    present = counts[counts > 0]
    entropy = float((present * np.log2(total / present)).sum())
    free = (number - 1) / 2
    return (
        entropy + free * math.log2(total / 2) + (number / 2 * math.log(math.pi) - math.lgamma(number / 2)) / math.log(2)
    )
