"""Incognito: solutions for growing sets of quasi-identifiers, each set only where all its subsets have solutions.

K. LeFevre, D. DeWitt, R. Ramakrishnan, "Incognito: Efficient Full-Domain K-Anonymity", 2005. A monotone test fails for
a set of quasi-identifiers if it fails for a subset, and passes above every node where it passes.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from parties.alone.publish.recoding.lattice import Lattice, Node, Solutions, Test, above


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
