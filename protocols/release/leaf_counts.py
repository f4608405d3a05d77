"""Noisy counts of the leaves of an opened tree by class: the rows of a leaf, and how many of them have its class.

Ideal functionality. Inputs: each party's own rows, the tree, public. Output to both: for each leaf and class, the
number of both parties' rows plus one sample of a public law of noise. Leakage: nothing else. Security is that of the
engine; the noise is drawn as in `protocols.release.numbers`.

Privacy. A row is in one leaf and has one class, so all counts together are a histogram of disjoint cells: an added or
removed row changes one count by 1, a replaced row two. With `DiscreteLaplace(1 / epsilon)`, or 2 / epsilon, all counts
together are epsilon-private. The tree itself is not: `protocols.id3` opens exact decisions.

Cost: one noisy sum for each leaf and class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Counts, Indices, LevelCounts
from protocols.problem import Problem
from protocols.release.laws import Law
from protocols.release.numbers import noisy_sums
from protocols.tree import Leaf, Open, Split, Tree, walk
from smc.engines import Engine


def leaves_of(tree: Tree) -> int:
    """Return the number of leaves of a tree."""
    return sum(isinstance(node, Leaf) for node, _ in walk(tree))


def leaf_counts(engine: Engine, problem: Problem, own: Counts, tree: Tree, law: Law) -> NDArray[np.int64]:
    """Open both parties' rows by leaf, in reading order, and class, with noise: int64[leaves, classes].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the tree.
        own: Source of this party's counts; private.
        tree: The opened tree; public.
        law: Law of the noise on each count; public.

    Raises:
        InputError: This party has more rows than agreed, or the sums with their noise are too wide.
    """
    mine = own_leaf_counts(problem, own, tree)
    return noisy_leaf_counts(engine, problem, mine, law)


def noisy_leaf_counts(engine: Engine, problem: Problem, own: Indices, law: Law) -> NDArray[np.int64]:
    """Open both parties' rows by leaf and class with noise, int64[leaves, classes].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the tree.
        own: This party's rows by leaf and class, int64[leaves, classes]; private.
        law: Law of the noise on each count; public.

    Raises:
        InputError: A count does not fit the bits of the agreed bound, or the sums with their noise are too wide.
    """
    with engine.session.phase("leaf counts"):
        width = max(1, problem.max_rows.bit_length())
        return noisy_sums(engine, own.reshape(-1), width, law).reshape(own.shape)


def own_leaf_counts(problem: Problem, own: Counts, tree: Tree) -> Indices:
    """Return this party's rows by leaf, in reading order, and class: int64[leaves, classes]. The result is private.

    Args:
        problem: Public problem of the tree.
        own: Source of this party's counts; private.
        tree: The opened tree; public.

    Raises:
        InputError: This party has more rows than agreed.
    """
    depths = [depth for node, depth in walk(tree) if isinstance(node, Leaf)]
    found = np.zeros((len(depths), problem.classes), dtype=np.int64)
    for depth in sorted(set(depths)):
        level = own.level(_opened_at(tree, depth), attributes=False)
        found[np.array(depths) == depth] = level.classes
        LevelCounts(found, (), are_shares=level.are_shares).check(*found.shape, problem.max_rows)
    return found


def _opened_at(tree: Tree, depth: int) -> Tree:
    """Return the tree with its leaves at a depth open, and its splits at that depth as leaves of class 0."""
    if isinstance(tree, Split):
        if not depth:
            return Leaf(0)
        return Split(tree.attribute, tuple(_opened_at(child, depth - 1) for child in tree.children))
    return Open() if not depth else tree
