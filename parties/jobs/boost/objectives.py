"""What boosting lowers: slopes and curvatures of a row, and what one row changes in sums of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from parties.base.arrays import Floats


class Objective(ABC):
    """A loss of a row's margins, float64[trees a round, rows], and its target."""

    most: float  # a weight is kept within it where it has noise

    @abstractmethod
    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Return slopes, from -1 to 1, and curvatures, from 0 to 1; both as the margins."""

    @abstractmethod
    def squared(self, trees: int) -> Fraction:
        """Return a bound on the sum of the squares of a row's slopes and curvatures."""


class Logistic(Objective):
    """Two classes: target 0 or 1, the margin is the logarithm of the odds of 1."""

    most = 3.0

    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """See `Objective.slopes`."""
        chances = 1 / (1 + np.exp(-np.clip(margins, -30, 30)))
        return chances - target, chances * (1 - chances)

    def squared(self, trees: int) -> Fraction:
        """See `Objective.squared`: |p - y| <= 1, p (1 - p) <= 1/4."""
        return Fraction(17, 16)


class Softmax(Objective):
    """Several classes: target is the class, a margin for each; curvatures 2 p (1 - p), as XGBoost has them."""

    most = 3.0

    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """See `Objective.slopes`."""
        powers = np.exp(margins - margins.max(axis=0))
        chances = powers / powers.sum(axis=0)
        return chances - (np.arange(len(margins))[:, None] == target), 2 * chances * (1 - chances)

    def squared(self, trees: int) -> Fraction:
        """See `Objective.squared`: squares of slopes add up to 2 at most; curvatures, each 1/2 at most, to 2."""
        return Fraction(3)


class Squared(Objective):
    """Numbers, moved and scaled to [-1/2, 1/2]; the margin is the number. Slopes are clipped."""

    most = 1.0

    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """See `Objective.slopes`."""
        return np.clip(margins - target, -1, 1), np.ones(margins.shape)

    def squared(self, trees: int) -> Fraction:
        """See `Objective.squared`."""
        return Fraction(2)


OBJECTIVES: dict[str, Objective] = {"logistic": Logistic(), "softmax": Softmax(), "squared": Squared()}
