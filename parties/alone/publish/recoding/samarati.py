"""Samarati's algorithm: the solutions of the least height, by binary search on the height.

P. Samarati, "Protecting respondents' identities in microdata release", 2001. If no node of a height passes a monotone
test, none below does.
"""

from __future__ import annotations

import numpy as np

from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.hierarchy import ValueCodes
from parties.alone.publish.recoding.lattice import Lattice, Node, Test

MOST_CELLS = 2048  # distinct in a table whose matrix of distance vectors is made


def samarati(lattice: Lattice, passes: Test, holds: Test) -> list[Node]:
    """Return the nodes of the least height at which some hold, all of them; none if nothing holds.

    `passes` is monotone and true of all that `holds`; if the two are one, binary search is all there is.
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
    """The rows that k-anonymity suppresses at each node, without a generalised table being computed.

    Of two cells the distance vector has, for each quasi-identifier, the lowest level at which they are one group: at a
    node they are one class if no entry is above it. The matrix has a row a cell with fewer than k rows, the outliers,
    for other cells are never suppressed.
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
        """Return the rows in classes of fewer than k."""
        levels: ValueCodes = np.array(node, dtype=np.int32)
        joined = (self._vectors <= levels[:, None, None]).all(axis=0)
        return int(self._counts[self._outliers][joined @ self._counts < self._k].sum())
