"""Openings of an ID3, defined once for the run, the cost model and the records.

A level opens whether each node is a leaf, the class of each leaf, and the attribute of each split unless only one
remains. That is the level of the tree itself, and nothing else. For a target of one class nothing is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocols.grower import Grower
from protocols.opened import Bounds, index_below
from protocols.problem import Problem
from protocols.tree import Forest, Leaf, Open, Split, Tree
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

KINDS = ("whether a node is a leaf", "class of a leaf", "attribute of a split")


def index_width(count: int) -> int:
    """Return the number of bits that hold an index below `count`."""
    return (count - 1).bit_length()


@dataclass(frozen=True, eq=False)
class Decisions:
    """First opening of a level: `leaves` bool[nodes], and the leaves' classes `labels` int64[nodes], 0 for a split."""

    leaves: NDArray[np.bool_]
    labels: NDArray[np.int64]

    def bits(self, classes: int) -> BitMatrix:
        """Return the decisions as opened, uint8[1 + index width, nodes]."""
        labels = bitpack.from_integers(self.labels.tolist(), index_width(classes))
        return np.vstack([self.leaves, labels]).astype(np.uint8)

    @classmethod
    def read(cls, bits: BitMatrix, classes: int, last: bool | NDArray[np.bool_]) -> Decisions:
        """Return the decisions from the opened bits, the inverse of `bits`.

        Args:
            bits: The opened bits, uint8[1 + index width, nodes]: 1 for a leaf, then the index of its class.
            classes: Number of classes.
            last: True for nodes that must be leaves, one bool for all or bool[nodes].

        Raises:
            ProtocolError: The bits cannot come from an honest run.
        """
        splits = index_below(bits[:1] ^ np.uint8(1), np.where(last, 1, 2), "whether a last node splits")
        leaves = splits == 0
        return cls(leaves, index_below(bits[1:], np.where(leaves, classes, 1), "a leaf's class"))


def choice_bits(choices: Sequence[int], left: int) -> BitMatrix:
    """Return the second opening of a level, uint8[index width, splits].

    Args:
        choices: Position of each split's attribute among its attributes left.
        left: Upper bound on the attributes left at a node.
    """
    return bitpack.from_integers(choices, index_width(left))


def read_choices(bits: BitMatrix, left: Bounds) -> NDArray[np.int64]:
    """Return the positions of the chosen attributes, the inverse of `choice_bits`, int64[splits].

    Args:
        bits: The opened bits, uint8[index width, splits].
        left: Number of attributes left, one number for all or int64[splits].

    Raises:
        ProtocolError: The bits cannot come from an honest run.
    """
    return index_below(bits, left, "a node's attribute")


@dataclass(frozen=True)
class OpenedLevel:
    """Openings of one level: the decisions, with the classes of leaves, and the attributes of splits.

    `choices` has the position of each split's attribute among the candidates of the split. It is None if no split has
    two candidates. A split has at most `left` candidates, a node of the level at most `offered`.
    """

    decisions: Decisions
    choices: list[int] | None
    left: int
    offered: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of nodes and of splits, and the greatest number of attributes that a node can choose from."""
        nodes, leaves, _ = self.counts()
        return nodes, nodes - leaves, self.offered

    def counts(self) -> tuple[int, int, int]:
        """Return the number of opened values of each kind, in the order of `KINDS`."""
        nodes, leaves = len(self.decisions.leaves), int(self.decisions.leaves.sum())
        return nodes, leaves, len(self.choices or ())


def levels(problem: Problem, forest: Forest) -> Iterator[OpenedLevel]:
    """Yield the openings of the run that finds these trees, level by level, down to the first undecided level.

    Args:
        problem: The public parameters of the run.
        forest: The trees, decided in part or everywhere.
    """
    grower = Grower(problem.domains, problem.runs, (Open(),) * len(forest), problem.candidates)
    ahead: list[Tree] = list(forest)
    for _ in grower.levels() if problem.classes > 1 else ():
        if any(isinstance(tree, Open) for tree in ahead):
            return
        labels = [tree.label if isinstance(tree, Leaf) else 0 for tree in ahead]
        decisions = Decisions(np.array([isinstance(tree, Leaf) for tree in ahead]), np.array(labels, dtype=np.int64))
        splits = [(node, tree) for node, tree in zip(grower.nodes, ahead, strict=True) if isinstance(tree, Split)]
        left = max((len(node.candidates) for node, _ in splits), default=0)
        choices = [node.candidates.index(tree.attribute) for node, tree in splits] if splits and left > 1 else None
        yield OpenedLevel(decisions, choices, left, max(len(node.candidates) for node in grower.nodes))
        for node, tree in splits:
            node.attribute = tree.attribute
        ahead = [child for _, tree in splits for child in tree.children]


def opened(problem: Problem, forest: Forest, depth: int | None = None) -> dict[str, int]:
    """Return the number of opened values by kind, a name in `KINDS`.

    Args:
        problem: The public parameters of the run.
        forest: The trees, decided in part or everywhere.
        depth: The level to count; None for all levels.
    """
    counts = [level.counts() for level in levels(problem, forest)]
    chosen = counts if depth is None else counts[depth : depth + 1]
    return dict(zip(KINDS, (sum(column) for column in zip((0, 0, 0), *chosen, strict=True)), strict=True))
