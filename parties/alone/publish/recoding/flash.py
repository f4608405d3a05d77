"""Flash: every node of the lattice classified, most of them without being counted.

F. Kohlmayer et al., "Flash: Efficient, Stable and Optimal K-Anonymity", 2012. All nodes above a solution are solutions,
and none below a failure is one. So a binary search on a path from a node to the top finds the lowest solution on it.
"""

from __future__ import annotations

import numpy as np

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
