"""A party's counts for a level of the tree: its private input to ID3, from rows in memory or elsewhere.

A source of counts is called once for each level, for all open nodes and attributes together. Rows in memory are counted
here; `parties.sources` queries databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protocols.tree import Forest, Open, Split, Tree, child_of, open_nodes
from smc.errors import InputError

BATCH = 1 << 16  # lines of a batch
HELD = 1 << 30  # bytes of rows, in the narrowest integers, up to which `Pieces` keeps them in memory

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Numbers of a party's rows in the n open nodes of a growing tree, in reading order.

    `classes` is int64[n, classes]; `values` holds int64[n, values of the attribute, classes] for each attribute, in
    schema order; without attributes it is empty. If rows are repeated (weights, draws), `distinct` has the counts with
    each row once. `are_shares` marks shares of joint numbers (`protocols.inputs`), to which no bound on rows applies.
    `groups` has two numbers in place of the classes, see `protocols.feasibility.Grouped`.
    """

    classes: Indices
    values: tuple[Indices, ...]
    distinct: LevelCounts | None = None
    are_shares: bool = False
    groups: LevelCounts | None = None

    def check(self, nodes: int, classes: int, max_rows: int) -> None:
        """Raise InputError for counts of another shape, or of more rows than agreed.

        Args:
            nodes: Expected number of open nodes.
            classes: Expected number of classes.
            max_rows: Upper bound on the sum of all counts; public.

        Raises:
            InputError: The shape of `classes` is not (nodes, classes), or there are more rows than `max_rows`.
        """
        rows = int(self.classes.sum())
        if rows > max_rows and not self.are_shares:
            raise InputError(
                f"{rows} rows are more than the agreed maximum of {max_rows}; raise max_rows at both parties"
            )
        if self.classes.shape != (nodes, classes):
            raise InputError(f"counts have shape {self.classes.shape}, expected ({nodes}, {classes})")


class Counted(Protocol):
    """Problem of trees, as far as it decides which counts a level needs."""

    @property
    def domains(self) -> tuple[int, ...]:
        """Number of values of each attribute."""

    @property
    def classes(self) -> int:
        """Number of classes."""

    def counts_attributes(self, depth: int, left: int) -> bool:
        """Return whether a level's rows are counted by each attribute's values too.

        Args:
            depth: Depth of the level.
            left: Greatest number of attributes left at a node of the level.
        """


def level_sizes(problem: Counted, levels: Iterable[tuple[int, int]]) -> list[int]:
    """Return how many numbers the counts of each level have.

    Args:
        problem: The public parameters.
        levels: Number of nodes of each level, and the greatest number of attributes left at a node.
    """
    values = sum(problem.domains)
    return [
        nodes * problem.classes * (1 + values * problem.counts_attributes(depth, left))
        for depth, (nodes, left) in enumerate(levels)
    ]


class Counts(Protocol):
    """Source of counts. A caller may pass a tree more than once."""

    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        """Count this party's rows in the open nodes of a tree.

        Args:
            tree: The tree so far; public.
            attributes: True to count by each attribute's values too.

        Returns:
            The counts, open nodes in reading order; `values` is empty without `attributes`.
        """


class ForestCounts(Protocol):
    """Source of counts for all trees. A caller may pass trees more than once."""

    def level(self, forest: Forest, attributes: bool) -> LevelCounts:
        """Count this party's rows in the open nodes of all trees.

        Args:
            forest: The trees so far; public.
            attributes: True to count by each attribute's values too.

        Returns:
            The counts, tree by tree, open nodes in reading order; `values` is empty without `attributes`.
        """


class Unpartitioned:
    """Source of counts in which one tree has all rows."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def level(self, forest: Forest, attributes: bool) -> LevelCounts:
        """Count this party's rows in the open nodes of the only tree; see `ForestCounts.level`.

        Args:
            forest: The tree so far, alone; public.
            attributes: True to count by each attribute's values too.

        Raises:
            ValueError: The forest does not have exactly one tree.
        """
        (tree,) = forest
        return self._counts.level(tree, attributes)


class NoRows:
    """Source of counts that are all 0, for any number of trees."""

    def __init__(self, domains: Sequence[int], classes: int) -> None:
        self._domains = domains
        self._classes = classes

    def level(self, forest: Forest, attributes: bool) -> LevelCounts:
        """Return zeros for all open nodes; see `ForestCounts.level`.

        Args:
            forest: The trees so far; public.
            attributes: True for zeros by each attribute's values too.
        """
        nodes = open_nodes(forest)
        shapes = self._domains if attributes else ()
        tables = tuple(np.zeros((nodes, size, self._classes), dtype=np.int64) for size in shapes)
        return LevelCounts(np.zeros((nodes, self._classes), dtype=np.int64), tables)


class Rows(Counts, Protocol):
    """Source of counts that can also list its rows."""

    def distinct(self) -> Indices:
        """Return the distinct rows, int64[lines, attributes + 2]: attribute values, class, number of equal rows."""

    def lines(self) -> Iterator[Indices]:
        """Yield the distinct rows in batches, in rising order: it depends on the rows only, not on their order."""

    def batches(self) -> Iterator[Indices]:
        """Yield all rows in batches of bounded size, with the columns of `distinct`; equal rows may have several lines.

        Each call is a pass over all rows, in any order. The caller's result must not depend on the order.
        """


def added(domains: Sequence[int], classes: int, pieces: Iterable[Indices], tree: Tree, attributes: bool) -> LevelCounts:
    """Count rows that come in pieces, in memory for one piece; see `Counts.level`.

    Args:
        domains: Number of values of each attribute.
        classes: Number of classes.
        pieces: The rows, with the columns of `Rows.distinct`.
        tree: The tree so far; public.
        attributes: True to count by each attribute's values too.
    """
    total = NoRows(domains, classes).level((tree,), attributes)
    for lines in pieces:
        part = RowCounts(domains, classes, lines[:, :-2], lines[:, -2], lines[:, -1]).level(tree, attributes)
        for whole, table in zip((total.classes, *total.values), (part.classes, *part.values), strict=True):
            whole += table
    return total


class Pieces:
    """Rows in pieces, for several passes: up to `HELD` bytes in all are kept, more are read again by each pass."""

    def __init__(self, read: Callable[[], Iterable[Indices]]) -> None:
        self._read = read
        self._held: list[NDArray[np.integer]] | None = None
        self._may_hold = True

    def __iter__(self) -> Iterator[Indices]:
        """Yield the pieces of one pass."""
        if self._held is not None:
            yield from (lines.astype(np.int64) for lines in self._held)
            return
        held: list[NDArray[np.integer]] = []
        size = 0
        for lines in self._read():
            if self._may_hold:
                held.append(kept := narrow(lines))
                size += kept.nbytes
                self._may_hold = size <= HELD
            else:
                held.clear()
            yield lines
        if self._may_hold:
            self._held = held

    def numbers(self) -> NDArray[np.integer]:
        """Return the number of equal rows of each line, int[lines]."""
        return np.concatenate([np.zeros(0, dtype=np.int8), *(narrow(lines[:, -1]) for lines in self)])


def narrow(numbers: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return numbers of 0 or more, or -1, in the smallest sufficient integer type, because it is read faster."""
    greatest = numbers.max(initial=0)
    kind = next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if greatest <= np.iinfo(kind).max)
    return numbers.astype(kind)


class Dealt:
    """Counts of distinct rows with `numbers`, int[lines], in place of their own; each level reads the rows again.

    `pieces` yields the rows in the same order in every pass, with the columns of `Rows.distinct`.
    """

    def __init__(
        self, domains: Sequence[int], classes: int, pieces: Iterable[Indices], numbers: NDArray[np.integer]
    ) -> None:
        self._domains, self._classes, self._pieces, self._numbers = domains, classes, pieces, numbers

    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        """Count the rows at the open nodes of a tree; see `Counts.level`.

        Args:
            tree: The tree so far; public.
            attributes: True to count by each attribute's values too.
        """
        return added(self._domains, self._classes, self.batches(), tree, attributes)

    def batches(self) -> Iterator[Indices]:
        """Yield the distinct rows whose number is not 0, see `Rows.batches`."""
        end = 0
        for lines in self._pieces:
            start, end = end, end + len(lines)
            numbers = self._numbers[start:end]
            dealt = numbers > 0
            yield np.column_stack([lines[dealt, :-1], numbers[dealt]])


class RowCounts:
    """Counts of rows in memory: category indices int[rows, attributes] and their classes int[rows].

    `numbers`, int[rows], is the multiplicity of each row; None: 1. Raise InputError for shapes that do not fit, or for
    an index outside its domain.
    """

    def __init__(
        self,
        domains: Sequence[int],
        classes: int,
        rows: NDArray[np.integer],
        labels: NDArray[np.integer],
        numbers: NDArray[np.integer] | None = None,
    ) -> None:
        if rows.shape != (len(labels), len(domains)):
            raise InputError(f"rows have shape {rows.shape}, expected ({len(labels)}, {len(domains)})")
        for column, size in zip([*rows.T, labels], [*domains, classes], strict=True):
            if len(column) and not (column.min() >= 0 and column.max() < size):
                raise InputError(f"a category index is outside 0..{size - 1}")
        self._domains = tuple(domains)
        self._classes = classes
        self._rows = rows.astype(np.int16 if max(domains, default=0) <= 1 << 15 else np.int64)
        self._labels = labels.astype(np.int64)
        self._numbers = None if numbers is None else numbers.astype(np.int64)

    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        """Count this party's rows at the open nodes of a tree, by class and by attribute values; see `Counts.level`.

        Args:
            tree: The tree so far; public.
            attributes: True to count by each attribute's values too.
        """
        nodes, count = self._open_node_of_rows(tree)
        inside = nodes >= 0
        nodes, labels = nodes[inside], self._labels[inside]
        numbers = None if self._numbers is None else self._numbers[inside]
        classes = _count((count, self._classes), numbers, nodes, labels)
        if not attributes:
            return LevelCounts(classes, ())
        values = tuple(
            _count((count, size, self._classes), numbers, nodes, self._rows[inside, attribute], labels)
            for attribute, size in enumerate(self._domains)
        )
        return LevelCounts(classes, values)

    def distinct(self) -> Indices:
        """Return the distinct rows, see `Rows.distinct`."""
        rows = np.column_stack([self._rows, self._labels])
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        return np.column_stack([distinct, _count((len(distinct),), self._numbers, which.reshape(-1))])

    def lines(self) -> Iterator[Indices]:
        """Yield the distinct rows in one batch, see `Rows.lines`."""
        yield self.distinct()

    def batches(self) -> Iterator[Indices]:
        """Yield the rows in batches, see `Rows.batches`."""
        for start in range(0, len(self._labels), BATCH):
            part = slice(start, start + BATCH)
            labels = self._labels[part]
            numbers = np.ones(len(labels), dtype=np.int64) if self._numbers is None else self._numbers[part]
            yield np.column_stack([self._rows[part], labels, numbers])

    def _open_node_of_rows(self, tree: Tree) -> tuple[Indices, int]:
        """Return the number of each row's open node, -1 in a leaf, and the number of open nodes."""
        nodes: list[Tree] = [tree]
        first_child, attribute, edge = [], [], []
        for node in nodes:  # the list grows while it is read, level by level
            first_child.append(len(nodes) if isinstance(node, Split) else -1)
            attribute.append(node.attribute if isinstance(node, Split) else 0)
            edge.append(node.edge if isinstance(node, Split) else 0)
            nodes += node.children if isinstance(node, Split) else ()
        below, split_on, edges = np.array(first_child), np.array(attribute), np.array(edge)
        place: Indices = np.zeros(len(self._rows), dtype=np.int64)
        moving = np.arange(len(self._rows)) if below[0] >= 0 else np.zeros(0, dtype=np.int64)
        while moving.size:
            at = place[moving]
            place[moving] = below[at] + child_of(edges[at], self._rows[moving, split_on[at]])
            moving = moving[below[place[moving]] >= 0]
        is_open = np.array([isinstance(node, Open) for node in nodes])
        number = np.where(is_open, np.cumsum(is_open) - 1, -1)
        return number[place], int(is_open.sum())


def _count(shape: tuple[int, ...], numbers: Indices | None, *columns: Indices) -> Indices:
    """Count each combination of indices, int64[shape]; `numbers` is the multiplicity of each row."""
    cell: Indices = np.zeros(len(columns[0]), dtype=np.int64)
    for indices, size in zip(columns, shape, strict=True):
        cell = cell * size + indices
    occurrences = np.bincount(cell, weights=numbers, minlength=int(np.prod(shape)))  # fractions are exact below 2^53
    return occurrences.astype(np.int64).reshape(shape)
