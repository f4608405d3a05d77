"""A tree's choice of an attribute by approximate scores, as a black box: Gini's impurity, or entropy.

There are two attributes of two values, two classes, and no "stop". Before a row is added, all rows are of the first
class and have the first value of both attributes, so both attributes are perfect. The added row is of the second class.
It has the first value of one attribute and the second value of the other. So it lowers only the score of the first, by
nearly as much as a row can. A replacement exchanges the two values of this row.

The scores are computed once, by the protocol's own circuits; then many copies of them get noise and are compared.
"""

from __future__ import annotations

import numpy as np

from parties.checking.mechanism import Mechanism
from parties.checking.promise import Promise, pure
from parties.checking.statistics.losses import Outcomes
from protocols.release.tree import chosen, with_noise
from protocols.release.tree_problem import Measure, Problem
from smc.engines import Engine
from smc.primitives import bits as bitpack

ROWS = 99  # of the first class
ATTRIBUTES = 2
NONE, PURE, MIXED = (np.array(rows) for rows in ([[ROWS, 0], [0, 0]], [[ROWS, 0], [0, 1]], [[ROWS, 1], [0, 0]]))


def mechanism(quality: Measure, promise: Promise) -> Mechanism:
    """Return the mechanism by which a tree's root chooses its attribute, with half of the tree's epsilon.

    Args:
        quality: Measure of splits.
        promise: The promise.
    """
    epsilon, rows, replaced = promise.epsilon, (ROWS + 2) // 2, promise.replaced
    problem = Problem((2, 2), 2, rows, 1, 2 * epsilon, epsilon, replace=replaced, quality=quality, stop=False)
    tables = ((PURE, MIXED) if replaced else (NONE, NONE)), (MIXED, PURE)

    def draw(engine: Engine, table: int, copies: int) -> Outcomes:
        counts_of_party = [counts // 2 if engine.party else counts - counts // 2 for counts in tables[table]]
        scores = problem.measure.scores(engine, counts_of_party)
        copied = scores.take(np.tile(np.arange(ATTRIBUTES), copies))
        winners = chosen(engine, problem, ATTRIBUTES, with_noise(engine, problem, ATTRIBUTES, copied))
        return np.array(bitpack.to_integers(engine.reveal(winners)[0]), dtype=np.int64)

    other = "one of the other moved" if replaced else "one of the other, or none"
    return pure(f"tree-{quality}", f"{ROWS} rows of one class, and {other}", promise, draw)
