"""The private tree as a black box: a whole tree of one level, with its choice and its leaf classes.

There are an attribute of three values, two classes, and "stop", whose score with its bonus is one above the attribute's
on table 0. The added row raises only the attribute's score, and changes the most frequent class of a leaf in which the
classes were equally frequent. So the outcome of a split with a certain class in this leaf shows both parts of epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from parties.checking.mechanism import Mechanism
from parties.checking.promise import Draw, Promise, pure
from parties.checking.statistics.losses import Outcomes
from protocols.counts import Indices, LevelCounts
from protocols.release.tree import private_tree
from protocols.release.tree_problem import Problem
from protocols.tree import Forest, Leaf, Split, Tree
from smc.engines import Engine

EVEN = 3  # rows of each class in the even leaf
VALUES, CLASSES = 3, 2


def mechanism(promise: Promise) -> Mechanism:
    """Return the test case of a noisy tree with one level (quality `max`, with "stop")."""
    problem = problem_of(promise.epsilon, promise.replaced)
    tables = tables_of(problem.bonus, promise.replaced)
    tables_text = f"rows by value and class {tables[0].tolist()}, or {EVEN} and {tables[1][1, 1]} of the second value"
    return pure("tree", tables_text, promise, draw(problem, tables))


def draw(problem: Problem, tables: Sequence[Indices]) -> Draw:
    """Return a sampler of trees on two neighbouring tables. It grows a forest in which every tree has all rows.

    Args:
        problem: Settings of the tree.
        tables: Counts of both tables, int64[values, classes] each.
    """

    def outcomes(engine: Engine, table: int, copies: int) -> Outcomes:
        whole = tables[table]
        forest = replace(problem, trees=copies, max_rows=copies * int(whole.sum()))
        counts = whole // 2 if engine.party else whole - whole // 2
        return np.array([_number(grown) for grown in private_tree(engine, forest, _Copies(counts))], dtype=np.int64)

    return outcomes


class _Copies:
    """Counts of a forest in which every tree has the same rows."""

    def __init__(self, counts: Indices) -> None:
        self._own = counts

    def level(self, forest: Forest, attributes: bool) -> LevelCounts:
        classes = [lines for tree in forest if not isinstance(tree, Leaf) for lines in self._lines(tree)]
        values = (np.array([self._own] * len(classes)),) if attributes else ()
        return LevelCounts(np.array(classes).reshape(-1, CLASSES), values)

    def _lines(self, tree: Tree) -> list[Indices]:
        return list(self._own) if isinstance(tree, Split) else [self._own.sum(axis=0)]


def problem_of(epsilon: Fraction, replaced: bool) -> Problem:
    """Return the settings of one tree; `draw` replaces the bound on rows.

    Args:
        epsilon: Privacy loss that the tree promises.
        replaced: Whether neighbouring tables differ by a replaced row.
    """
    return Problem((VALUES,), CLASSES, 1, max_depth=1, epsilon=epsilon, leaf_epsilon=epsilon / 2, replace=replaced)


def tables_of(bonus: int, replaced: bool) -> tuple[Indices, Indices]:
    """Return two neighbouring tables as counts by value and class.

    In these tables, the score of "stop" is the number of rows of class 0 plus the bonus.

    Args:
        bonus: Bonus of "stop".
        replaced: Whether the tables differ by a replaced row.
    """
    below = 1 + replaced  # distance of the attribute's score below that of "stop"
    third = max(bonus - below, 0)
    first = np.array([[third + 3, 0], [EVEN, EVEN], [0, third]])
    second = first.copy()
    second[1] += (-1, 1) if replaced else (0, 1)
    return first, second


def _number(tree: Tree) -> int:
    if isinstance(tree, Leaf):
        return tree.label
    assert isinstance(tree, Split)
    labels = [child.label for child in tree.children if isinstance(child, Leaf)]
    return CLASSES + sum(label * CLASSES**place for place, label in enumerate(labels))
