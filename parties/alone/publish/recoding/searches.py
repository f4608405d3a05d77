"""Searches of a lattice for the nodes that pass a test: Flash, Incognito and Samarati's algorithm.

Flash: every node of the lattice classified, most of them without being counted.

F. Kohlmayer et al., "Flash: Efficient, Stable and Optimal K-Anonymity", 2012. All nodes above a solution are solutions,
and none below a failure is one. So a binary search on a path from a node to the top finds the lowest solution on it.

Incognito: solutions for growing sets of quasi-identifiers, each set only where all its subsets have solutions.

K. LeFevre, D. DeWitt, R. Ramakrishnan, "Incognito: Efficient Full-Domain K-Anonymity", 2005. A monotone test fails for
a set of quasi-identifiers if it fails for a subset, and passes above every node where it passes.

Samarati's algorithm: the solutions of least height, by binary search on the height.

P. Samarati, "Protecting respondents' identities in microdata release", 2001. If no node of a height passes a monotone
test, none below does.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.hierarchy import ValueCodes
from parties.alone.publish.recoding.lattice import Lattice, Node, Solutions, Test, above, below


def flash(lattice: Lattice, passes: Test) -> Solutions:
    """Return the nodes that pass a monotone test.

    Args:
        lattice: the lattice
        passes: the test
    """
    classified = np.zeros(lattice.shape, dtype=bool)
    solutions = np.zeros(lattice.shape, dtype=bool)
    for nodes in lattice.by_height():
        for node in nodes:
            while not classified[node]:
                _search(_path(lattice, classified, node), classified, solutions, passes)
    return solutions


def _path(lattice: Lattice, classified: Solutions, node: Node) -> list[Node]:
    """Return a path of unclassified nodes from `node` up, each one step above the one before.

    The least generalised column goes up first.
    """
    path = [node]
    while True:
        open_ = [upper for upper in lattice.successors(path[-1]) if not classified[upper]]
        if not open_:
            return path
        last = path[-1]
        path.append(min(open_, key=lambda upper: _share(upper, last, lattice.heights)))


def _share(upper: Node, lower: Node, heights: Node) -> float:
    """Return how far the only quasi-identifier in which two nodes differ is generalised in `upper`, as a share.

    `heights` are the highest levels, share 1.
    """
    return next(b / h for a, b, h in zip(lower, upper, heights, strict=True) if a != b)


def _search(path: list[Node], classified: Solutions, solutions: Solutions, passes: Test) -> None:
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        node = path[middle]
        if passes(node):
            classified[above(node)] = solutions[above(node)] = True
            high = middle - 1
        else:
            classified[below(node)] = True
            low = middle + 1


def incognito(lattice: Lattice, passes: Test) -> Solutions:
    """Return the nodes of a lattice that pass a monotone test, by Incognito's search over subsets of columns.

    Columns outside a subset are tested at their top level.

    Args:
        lattice: the lattice
        passes: the test
    """
    number = len(lattice.heights)
    passed: dict[tuple[int, ...], Solutions] = {}
    for size in range(1, number + 1):
        for subset in combinations(range(number), size):
            part = Lattice(tuple(lattice.heights[i] for i in subset))
            candidates = np.ones(part.shape, dtype=bool)
            if size > 1:
                for axis in range(size):
                    candidates &= np.expand_dims(passed[subset[:axis] + subset[axis + 1 :]], axis)
            passed[subset] = _bottom_up(lattice, part, subset, candidates, passes)
    return passed[tuple(range(number))]


def _bottom_up(
    lattice: Lattice, part: Lattice, subset: tuple[int, ...], candidates: Solutions, passes: Test
) -> Solutions:
    """Return the nodes that pass, bool[part]: candidates that pass the test, and all nodes above them, untested.

    `part` is the lattice of the quasi-identifiers `subset` alone, `lattice` that of all.
    """
    passing = np.zeros(part.shape, dtype=bool)
    for nodes in part.by_height():
        for node in nodes:
            if candidates[node] and not passing[node] and passes(_whole(lattice, subset, node)):
                passing[above(node)] = True
    return passing


def _whole(lattice: Lattice, subset: tuple[int, ...], node: Node) -> Node:
    """Return the node of the whole lattice with these levels for a subset, and top levels otherwise."""
    whole = list(lattice.top)
    for column, level in zip(subset, node, strict=True):
        whole[column] = level
    return tuple(whole)


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
