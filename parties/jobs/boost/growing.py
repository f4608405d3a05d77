"""Growth of boosted trees from opened values, and a party's own sums, by one pass over its rows for each step.

Each step opens a list of integers. A step is a level: a candidate for each open node of the round's trees, -1 for a
leaf. Or a step is the leaves of a round: slope and curvature of each, tree by tree, in the order in which they became
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.boost.columns import Bins, Features
from parties.jobs.boost.objectives import Objective
from protocols.arrays import Floats, Numbers
from protocols.boosting import FINE
from protocols.counts import HELD
from protocols.shares import Following
from smc.kernels import add_slopes, move_rows

Places = NDArray[np.int32]
Weigh = Callable[[Numbers], Floats]  # weights of leaves, from their slopes and curvatures int64[leaves, 2]
Round = Callable[[Numbers], Numbers]
Lines = tuple[Bins, Floats, Numbers]  # rows: bins uint8[rows, columns], targets float64[rows], frequencies int64[rows]


@dataclass
class Node:
    """An open node (no field is set), a split by a candidate, or a leaf with its weight."""

    candidate: int | None = None
    children: tuple[Node, ...] = ()
    weight: float | None = None


@dataclass
class Tree:
    """A tree of the round: its root, its open nodes, its leaves so far, and its splits level by level."""

    root: Node = field(default_factory=Node)
    level: list[Node] = field(default_factory=list)
    leaves: list[Node] = field(default_factory=list)
    splits: list[Places] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.level = [self.root]

    def route(self, bins: Bins) -> Places:
        """Return the place of each row: the index of its open node, or -1 - i in leaf i."""
        places = np.zeros(len(bins), dtype=np.int32)
        for splits in self.splits:
            move_rows(bins, places, splits)
        return places

    def split(self, features: Features, chosen: Sequence[int]) -> None:
        """Split each open node by its candidate. With -1 it becomes a leaf."""
        splits, level, self.level = np.zeros((len(chosen), 5), dtype=np.int32), self.level, []
        for place, (node, candidate) in enumerate(zip(level, chosen, strict=True)):
            if candidate < 0:
                self.leaves.append(node)
                splits[place, 3:] = -len(self.leaves)
                continue
            node.candidate, node.children = candidate, (Node(), Node())
            column, cut = features.candidates[candidate]
            by_itself = not features.columns[column].ordered
            splits[place] = column, cut, by_itself, len(self.level), len(self.level) + 1
            self.level += node.children
        self.splits += [splits] if level else []


class Growing:
    """Trees of all rounds so far. It has no rows."""

    def __init__(self, features: Features, trees: int, depth: int, weigh: Weigh) -> None:
        self.features, self.trees, self.depth, self.weigh = features, trees, depth, weigh
        self.rounds: list[list[Tree]] = []
        self._begin()

    @property
    def splitting(self) -> bool:
        """Whether the next step is a level."""
        return any(tree.level for tree in self.now)

    @property
    def open_nodes(self) -> int:
        """Number of nodes that the next level decides."""
        return sum(len(tree.level) for tree in self.now)

    @property
    def leaves(self) -> int:
        """Number of leaves of this round's trees."""
        return sum(len(tree.leaves) for tree in self.now)

    def step(self, opened: Sequence[int]) -> None:
        """Apply the opened values of the next step."""
        if self.splitting:
            self._split(opened)
        else:
            self._finish(np.array(opened, dtype=np.int64).reshape(-1, 2))

    def check(self, opened: Sequence[int]) -> None:
        """Raise ValueError if the next step cannot open these values: their number or a candidate is wrong."""
        lengths = self.open_nodes if self.splitting else 2 * self.leaves
        candidates = len(self.features.candidates)
        if len(opened) != lengths or (self.splitting and not all(-1 <= number < candidates for number in opened)):
            raise ValueError("the opened values are not those of the next step")

    def _begin(self) -> None:
        self.now, self.level = [Tree() for _ in range(self.trees)], 0

    def _split(self, opened: Sequence[int]) -> None:
        self.level += 1
        start = 0
        for tree in self.now:
            chosen = opened[start : start + len(tree.level)]
            start += len(chosen)
            tree.split(self.features, chosen)
            if self.level == self.depth:  # the last nodes are leaves
                tree.split(self.features, [-1] * len(tree.level))

    def _finish(self, sums: Numbers) -> None:
        for tree in self.now:
            some, sums = sums[: len(tree.leaves)], sums[len(tree.leaves) :]
            for leaf, weight in zip(tree.leaves, self.weigh(some).tolist(), strict=True):
                leaf.weight = weight
        self.rounds.append(self.now)
        self._begin()


class OwnSums(Following):
    """A party's own sums of slopes and curvatures for each step.

    A level has the sums of its open nodes, then those of the first child of each candidate split. A step on leaves has
    the sums of the leaves. Up to `HELD` bytes of margins are kept by the digests of their rows, so pieces may come in
    any order; other margins are computed again.
    """

    def __init__(
        self,
        growing: Callable[[], Growing],
        objective: Objective,
        pieces: Callable[[], Iterable[Lines]],
        rounded: tuple[Round, Round],
    ) -> None:
        """Store the sources.

        Args:
            growing: Makes a growth that has not begun.
            objective: Loss function of the trees.
            pieces: Begins a pass over this party's rows; private.
            rounded: Functions that round the sums of levels and of leaves, which are in units of 2^-FINE.
        """
        super().__init__()
        self._new, self._objective, self._pieces, self._rounded = growing, objective, pieces, rounded

    @override
    def begin(self) -> None:
        self._growing = self._new()
        self._kept: dict[bytes, tuple[int, Floats]] = {}  # number of rounds in the margins, and the margins
        self._held = 0

    @override
    def take(self, step: tuple[int, ...]) -> None:
        self._growing.check(step)
        self._growing.step(step)

    @override
    def own(self) -> Numbers:
        of_levels, of_leaves = self._rounded
        growing, features, splitting = self._growing, self._growing.features, self._growing.splitting
        shape = (len(features.columns), features.size, 2) if splitting else (1, 1, 2)  # all leaves have one bin
        nodes = [len(tree.level if splitting else tree.leaves) for tree in growing.now]
        parts = [np.zeros((number, *shape), dtype=np.int64) for number in nodes]
        for bins, targets, numbers in self._pieces():
            both = self._objective.slopes(self._margins(bins), targets)
            slopes = np.stack([np.rint(side * (1 << FINE)).astype(np.int64) * numbers for side in both], axis=-1)
            added = bins if splitting else np.zeros((len(bins), 1), dtype=np.uint8)
            for tree, of_tree, sums in zip(growing.now, slopes, parts, strict=True):
                places = tree.route(bins)
                add_slopes(added, places if splitting else -1 - places, of_tree, sums)
        sums = np.concatenate(parts)
        if not splitting:
            return of_leaves(sums.reshape(-1))
        return of_levels(np.concatenate([sums[:, 0].sum(axis=1).reshape(-1), features.left(sums).reshape(-1)]))

    def _margins(self, bins: Bins) -> Floats:
        """Return the margins of rows by all rounds so far, float64[trees, rows]."""
        digest = blake3(bins.data).digest()
        done, margins = self._kept.get(digest, (0, np.zeros((self._growing.trees, len(bins)))))
        for trees in self._growing.rounds[done:]:
            for tree, of_tree in zip(trees, margins, strict=True):
                of_tree += np.array([leaf.weight for leaf in tree.leaves])[-1 - tree.route(bins)]
        self._held += 0 if digest in self._kept else margins.nbytes
        if digest in self._kept or self._held <= HELD:
            self._kept[digest] = len(self._growing.rounds), margins
        return margins
