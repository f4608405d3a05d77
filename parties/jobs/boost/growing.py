"""Growth of boosted trees from opened values. Each party moves its own rows to their new nodes.

Each step opens a list of integers. A step is a level: a candidate for each open node of the round's trees, -1 for a
leaf. Or a step is the leaves of a round: slope and curvature of each, tree by tree, in the order in which they became
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.boost.columns import Bins, Features
from parties.jobs.boost.objectives import Objective
from protocols.arrays import Floats, Numbers
from protocols.boosting import FINE
from protocols.shares import Following
from smc.kernels import add_slopes, move_rows

Places = NDArray[np.int32]
Weigh = Callable[[Numbers], Floats]  # weights of leaves, from their slopes and curvatures int64[leaves, 2]
Round = Callable[[Numbers], Numbers]
PIECE = 1 << 18  # rows whose slopes are computed at once


@dataclass
class Node:
    """An open node (no field is set), a split by a candidate, or a leaf with its weight."""

    candidate: int | None = None
    children: tuple[Node, ...] = ()
    weight: float | None = None


@dataclass
class Tree:
    """A tree of the round: its root, its open nodes, and its leaves so far."""

    root: Node = field(default_factory=Node)
    level: list[Node] = field(default_factory=list)
    leaves: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.level = [self.root]


@dataclass(eq=False)
class OwnRows:
    """A party's rows: bins uint8[rows, columns], targets float64[rows], and frequencies int64[rows]."""

    bins: Bins
    targets: Floats
    numbers: Numbers


class Growing:
    """Trees of all rounds so far, and the node of each of this party's rows in this round's trees.

    Without `rows` it has only the trees."""

    def __init__(
        self, features: Features, objective: Objective, trees: int, depth: int, weigh: Weigh, rows: OwnRows | None
    ) -> None:
        self.features, self.objective, self.trees, self.depth, self.weigh = features, objective, trees, depth, weigh
        self.rows = rows
        self.rounds: list[list[Node]] = []
        number = 0 if rows is None else len(rows.targets)
        self._margins = np.zeros((trees, number))
        self._places: list[Places] = []
        self._slopes: list[Numbers] = []
        self._begin()

    @property
    def splitting(self) -> bool:
        """Whether the next step is a level."""
        return self.level < self.depth and any(tree.level for tree in self.now)

    @property
    def open_nodes(self) -> int:
        """Number of nodes that the next level decides."""
        return sum(len(tree.level) for tree in self.now)

    @property
    def leaves(self) -> int:
        """Number of leaves that this round's trees have if no open node is split any more."""
        return sum(len(tree.leaves) + len(tree.level) for tree in self.now)

    def step(self, opened: Sequence[int]) -> None:
        """Apply the opened values of the next step."""
        if self.splitting:
            self._split(opened)
        else:
            self._finish(np.array(opened, dtype=np.int64).reshape(-1, 2))

    # Own sums.

    def own_sums(self) -> tuple[Numbers, Numbers]:
        """Return a party's sums of slopes and curvatures in units of 2^-FINE: for open nodes, int64[nodes, 2], and for
        the first child of each candidate, int64[nodes, candidates, 2]."""
        assert self.rows is not None
        parts = []
        for tree, places, slopes in zip(self.now, self._places, self._slopes, strict=True):
            sums = np.zeros((len(tree.level), len(self.features.columns), self.features.size, 2), dtype=np.int64)
            if len(places):
                add_slopes(self.rows.bins, places, slopes, sums)
            parts.append(sums)
        sums = np.concatenate(parts)
        return sums[:, 0].sum(axis=1), self.features.left(sums)

    def own_leaves(self) -> Numbers:
        """Return this party's sums of slopes and curvatures for each leaf, int64[leaves, 2], in units of 2^-FINE."""
        parts = []
        for tree, places, slopes in zip(self.now, self._places, self._slopes, strict=True):
            self._close(tree, places)
            leaf = -1 - places
            sums = np.zeros((len(tree.leaves), 2), dtype=np.int64)
            for start in range(0, len(leaf), PIECE):  # exact in doubles: at most 2^18 rows, each below 2^20
                some = slice(start, start + PIECE)
                for side in (0, 1):
                    weights = slopes[some, side].astype(np.float64)
                    sums[:, side] += np.bincount(leaf[some], weights, len(sums)).astype(np.int64)
            parts.append(sums)
        return np.concatenate(parts)

    def check(self, opened: Sequence[int]) -> None:
        """Raise ValueError if the next step cannot open these values: their number or a candidate is wrong."""
        lengths = self.open_nodes if self.splitting else 2 * self.leaves
        candidates = len(self.features.candidates)
        if len(opened) != lengths or (self.splitting and not all(-1 <= number < candidates for number in opened)):
            raise ValueError("the opened values are not those of the next step")

    # Growth.

    def _begin(self) -> None:
        self.now, self.level = [Tree() for _ in range(self.trees)], 0
        if self.rows is None:
            return
        number = len(self.rows.targets)
        self._places = [np.zeros(number, dtype=np.int32) for _ in range(self.trees)]
        self._slopes = [np.zeros((number, 2), dtype=np.int64) for _ in range(self.trees)]
        for start in range(0, number, PIECE):
            some = slice(start, start + PIECE)
            for side, all_ in enumerate(self.objective.slopes(self._margins[:, some], self.rows.targets[some])):
                integers = np.rint(all_ * (1 << FINE)).astype(np.int64) * self.rows.numbers[some]
                for tree, of_tree in enumerate(integers):
                    self._slopes[tree][some, side] = of_tree

    def _split(self, opened: Sequence[int]) -> None:
        start = 0
        for number, tree in enumerate(self.now):
            chosen, level = opened[start : start + len(tree.level)], tree.level
            start += len(level)
            splits, tree.level = np.zeros((len(level), 5), dtype=np.int32), []
            for place, (node, candidate) in enumerate(zip(level, chosen, strict=True)):
                if candidate < 0:
                    tree.leaves.append(node)
                    splits[place, 3:] = -len(tree.leaves)
                    continue
                node.candidate, node.children = candidate, (Node(), Node())
                column, cut = self.features.candidates[candidate]
                by_itself = not self.features.columns[column].ordered
                splits[place] = column, cut, by_itself, len(tree.level), len(tree.level) + 1
                tree.level += node.children
            if self.rows is not None and len(self._places[number]) and level:
                move_rows(self.rows.bins, self._places[number], splits)
        self.level += 1

    def _close(self, tree: Tree, places: Places | None) -> None:
        if tree.level and places is not None:
            inside = places >= 0
            places[inside] = -1 - len(tree.leaves) - places[inside]
        tree.leaves += tree.level
        tree.level = []

    def _finish(self, sums: Numbers) -> None:
        for number, tree in enumerate(self.now):
            self._close(tree, self._places[number] if self.rows is not None else None)
            some, sums = sums[: len(tree.leaves)], sums[len(tree.leaves) :]
            weights = self.weigh(some)
            for leaf, weight in zip(tree.leaves, weights.tolist(), strict=True):
                leaf.weight = weight
            if self.rows is not None and len(self._places[number]):
                self._margins[number] += weights[-1 - self._places[number]]
        self.rounds.append([tree.root for tree in self.now])
        self._begin()


class OwnSums(Following):
    """A party's own sums of slopes and curvatures for each step.

    A level has the sums of its open nodes, then those of the first child of each candidate split. A step on leaves has
    the sums of the leaves. `rounded` are the functions that round the sums of levels and of leaves; these are in units
    of 2^-FINE.
    """

    def __init__(self, growing: Callable[[], Growing], rounded: tuple[Round, Round]) -> None:
        super().__init__()
        self._new, self._rounded = growing, rounded

    @override
    def begin(self) -> None:
        self._growing = self._new()

    @override
    def take(self, step: tuple[int, ...]) -> None:
        self._growing.check(step)
        self._growing.step(step)

    @override
    def own(self) -> Numbers:
        of_levels, of_leaves = self._rounded
        if self._growing.splitting:
            nodes, left = self._growing.own_sums()
            return of_levels(np.concatenate([nodes.reshape(-1), left.reshape(-1)]))
        return of_leaves(self._growing.own_leaves().reshape(-1))
