"""Samarati's algorithm: the solutions of least height, by binary search on the height.

P. Samarati, "Protecting respondents' identities in microdata release", 2001. If no node of a height passes a monotone
test, none below does.
"""

from __future__ import annotations

import numpy as np

from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.hierarchy import ValueCodes
from parties.alone.publish.recoding.lattice import Lattice, Node, Test

MOST_CELLS = 2048  # distinct cells of a table up to which the matrix of distance vectors is used


def samarati(lattice: Lattice, passes: Test, holds: Test) -> list[Node]:
    """Return all solutions of the least height that has one; empty without solutions.

    Args:
        lattice: the lattice
        passes: monotone test that all solutions pass
        holds: test of solutions; may equal `passes`, and binary search is then sufficient
    """
    heights = lattice.by_height()
    low, high = 0, len(heights) - 1
    if not passes(lattice.top):
        return []
    while low < high:
        middle = (low + high) // 2
        if any(passes(node) for node in heights[middle]):
            high = middle
        else:
            low = middle + 1
    for nodes in heights[low:]:
        if solutions := [node for node in nodes if passes(node) and holds(node)]:
            return solutions
    return []


class DistanceVectors:
    """Number of rows that k-anonymity suppresses at each node, computed without a generalised table.

    The distance vector of two cells has, for each quasi-identifier, the lowest level at which both are in one group. At
    a node they are in one class if no entry is above the node's. The matrix has a row for each cell with fewer than k
    rows, the outliers; other cells are never suppressed.
    """

    def __init__(self, cells: Cells, k: int) -> None:
        self._k = k
        quasi, self._counts = reduced(cells.quasi, cells.counts)
        self._outliers = np.flatnonzero(self._counts < k)
        self._vectors = np.zeros((len(quasi), len(self._outliers), len(self._counts)), dtype=np.int8)
        for vector, hierarchy, codes in zip(self._vectors, cells.hierarchies, quasi, strict=True):
            for level in range(hierarchy.height):
                groups = hierarchy.groups[level][codes]
                vector += groups[self._outliers, None] != groups[None, :]

    def suppressed(self, node: Node) -> int:
        """Return the number of rows in classes of fewer than k."""
        levels: ValueCodes = np.array(node, dtype=np.int32)
        joined = (self._vectors <= levels[:, None, None]).all(axis=0)
        return int(self._counts[self._outliers][joined @ self._counts < self._k].sum())
