"""Lattice of generalisation: a node has the level of every quasi-identifier, from (0, ..., 0) to the top.

Properties of nodes are arrays with an axis for each quasi-identifier, so that all nodes above a node are one slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Node: TypeAlias = tuple[int, ...]
Test: TypeAlias = Callable[[Node], bool]
Solutions: TypeAlias = NDArray[np.bool_]  # an axis for each quasi-identifier


@dataclass(frozen=True)
class Lattice:
    """Lattice of generalisation levels; `heights` are the top levels of the columns."""

    heights: Node

    @property
    def shape(self) -> Node:
        """Number of levels of each quasi-identifier."""
        return tuple(height + 1 for height in self.heights)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def top(self) -> Node:
        """The node where each column is one value."""
        return self.heights

    def by_height(self) -> list[list[Node]]:
        """Return the nodes by the sum of their levels, in lexical order."""
        heights: list[list[Node]] = [[] for _ in range(sum(self.heights) + 1)]
        for node in np.ndindex(*self.shape):
            heights[sum(node)].append(node)
        return heights

    def successors(self, node: Node) -> Iterator[Node]:
        """Yield the nodes one step above."""
        for i, (level, height) in enumerate(zip(node, self.heights, strict=True)):
            if level < height:
                yield (*node[:i], level + 1, *node[i + 1 :])


def above(node: Node) -> tuple[slice, ...]:
    """Return the slice of a node and all that generalise it."""
    return tuple(slice(level, None) for level in node)


def below(node: Node) -> tuple[slice, ...]:
    """Return the slice of a node and all that it generalises."""
    return tuple(slice(0, level + 1) for level in node)


def minimal(solutions: Solutions) -> list[Node]:
    """Return the solutions without a solution below them."""
    reached = solutions  # a solution, or above one
    for axis in range(solutions.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    covered = np.zeros_like(solutions)
    for axis in range(solutions.ndim):
        lower, upper = [slice(None)] * solutions.ndim, [slice(None)] * solutions.ndim
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        covered[tuple(upper)] |= reached[tuple(lower)]
    return nodes_of(solutions & ~covered)


def nodes_of(solutions: Solutions) -> list[Node]:
    """Return the nodes that are marked as solutions, in lexical order."""
    return [tuple(map(int, node)) for node in np.argwhere(solutions)]
