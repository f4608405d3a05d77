"""What shadow models are: the trees and weights of this program, exact or with noise, learnt from one's own rows.

A tree says classes, so it is sure or not; weights say probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from parties.alone.attacks.membership import Learn, Sure
from parties.alone.comparing import logistic
from parties.alone.comparing.learners import Predict, classifier, in_the_clear
from parties.base.arrays import Codes, Floats
from protocols.counts import Unpartitioned
from protocols.id3 import Problem, id3
from protocols.release import tree as noisy
from protocols.release.defaults import chosen
from protocols.release.tree_problem import Problem as NoisyProblem
from protocols.rules import NO_RULES, Rules


@dataclass(frozen=True)
class Shape:
    """Columns' and classes' numbers of values; what `smc id3` is asked for: depth (None: no bound), k, epsilon."""

    domains: tuple[int, ...]
    classes: int
    depth: int | None = None
    k: int = 1
    epsilon: float | None = None

    def tree(self) -> Learn:
        """Return the learner of an exact tree; of one with noise, if there is an epsilon."""
        return self._exact if self.epsilon is None else self._noisy

    def weights(self) -> Learn:
        """Return the learner of logistic regression, on an indicator for each value."""

        def learn(rows: Codes, labels: Codes) -> Sure:
            fitted = logistic.fit(self.domains, self.classes, rows, labels)
            return lambda others, classes: fitted.probabilities(others)[np.arange(len(others)), classes]

        return learn

    def _exact(self, rows: Codes, labels: Codes) -> Sure:
        rules = NO_RULES if self.k == 1 else Rules(k=self.k, against="public")
        problem = Problem(self.domains, self.classes, max(1, len(labels)), max_depth=self.depth, rules=rules)
        grown = in_the_clear(
            self.domains, self.classes, rows, labels, lambda engine, counts: id3(engine, problem, counts)
        )
        return _is_right(classifier(grown))

    def _noisy(self, rows: Codes, labels: Codes) -> Sure:
        problem = self.noisy_problem(len(labels))
        grown = in_the_clear(
            self.domains,
            self.classes,
            rows,
            labels,
            lambda engine, counts: noisy.private_tree(engine, problem, Unpartitioned(counts))[0],
        )
        return _is_right(classifier(grown))

    def noisy_problem(self, rows: int) -> NoisyProblem:
        """Return what a tree with noise of at most so many rows is grown by, as `smc id3 --epsilon` chooses it."""
        assert self.epsilon is not None
        epsilon = Fraction(str(self.epsilon))
        depth = chosen(max(1, rows), epsilon, self.domains, self.classes).depth if self.depth is None else self.depth
        levels = min(depth, len(self.domains))
        return NoisyProblem(
            self.domains,
            self.classes,
            max(1, rows),
            max_depth=depth,
            epsilon=epsilon,
            leaf_epsilon=epsilon / (levels + 1),
        )


def _is_right(predict: Predict) -> Sure:
    def sure(rows: Codes, labels: Codes) -> Floats:
        return (predict(rows) == labels).astype(np.float64)

    return sure
