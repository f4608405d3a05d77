"""Flash: every node of the lattice classified, most of them without being counted.

F. Kohlmayer et al., "Flash: Efficient, Stable and Optimal K-Anonymity", 2012. Whatever lies above a solution is one and
whatever lies below a failure is none, so on a path from a node to the top a binary search finds where solutions begin.
"""

from __future__ import annotations

import numpy as np

from parties.alone.publish.recoding.lattice import Lattice, Node, Solutions, Test, above, below


def flash(lattice: Lattice, passes: Test) -> Solutions:
    """Find the nodes that pass a monotone test."""
    known = np.zeros(lattice.shape, dtype=bool)
    solutions = np.zeros(lattice.shape, dtype=bool)
    for nodes in lattice.by_height():
        for node in nodes:
            while not known[node]:
                _search(_path(lattice, known, node), known, solutions, passes)
    return solutions


def _path(lattice: Lattice, known: Solutions, node: Node) -> list[Node]:
    """Find nodes that are not known yet, each one step above the one before: the least generalised goes up first."""
    path = [node]
    while True:
        open_ = [upper for upper in lattice.successors(path[-1]) if not known[upper]]
        if not open_:
            return path
        last = path[-1]
        path.append(min(open_, key=lambda upper: _share(upper, last, lattice.heights)))


def _share(upper: Node, lower: Node, heights: Node) -> float:
    """Return how far the quasi-identifier in which two nodes differ has been generalised."""
    return next(b / h for a, b, h in zip(lower, upper, heights, strict=True) if a != b)


def _search(path: list[Node], known: Solutions, solutions: Solutions, passes: Test) -> None:
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        node = path[middle]
        if passes(node):
            known[above(node)] = solutions[above(node)] = True
            high = middle - 1
        else:
            known[below(node)] = True
            low = middle + 1
