"""Loss functions of boosting: slopes and curvatures of a row, and a row's largest effect on their sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from typing_extensions import override

from protocols.arrays import Floats


class Objective(ABC):
    """A loss of a row's margins, float64[trees per round, rows], and its target."""

    most: float  # bound on a leaf weight that has noise

    @abstractmethod
    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Return slopes, from -1 to 1, and curvatures, from 0 to 1: the first and the second derivative of the loss, or
        a bound.

        Args:
            margins: Score of each row by the trees so far, float64[trees per round, rows].
            target: Number or class index of each row, float64[rows].

        Returns:
            The slopes and the curvatures, both in the shape of the margins.
        """

    @abstractmethod
    def squared(self, trees: int) -> Fraction:
        """Return a bound on the sum of the squares of a row's slopes and curvatures in the `trees` trees of a round."""


class Logistic(Objective):
    """Two classes: the target is 0 or 1, the margin is the logarithm of the odds of 1."""

    most = 3.0

    @override
    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Return p - y and p (1 - p); p is the predicted probability."""
        chances = 1 / (1 + np.exp(-np.clip(margins, -30, 30)))
        return chances - target, chances * (1 - chances)

    def squared(self, trees: int) -> Fraction:
        """Return 1 + 1/16: |p - y| <= 1 is the slope, p (1 - p) <= 1/4 the curvature. A round has one tree."""
        return Fraction(17, 16)


class Softmax(Objective):
    """Several classes: the target is the class, with one margin for each; curvatures are 2 p (1 - p), as in XGBoost."""

    most = 3.0

    @override
    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Return p - y, and the bound 2 p (1 - p) on the second derivative, for each class."""
        powers = np.exp(margins - margins.max(axis=0))
        chances = powers / powers.sum(axis=0)
        return chances - (np.arange(len(margins))[:, None] == target), 2 * chances * (1 - chances)

    def squared(self, trees: int) -> Fraction:
        """Return 2 + 1: the squares of the slopes add up to 2 at most. The curvatures, each at most 1/2, add up to 2,
        so their squares add up to 1 at most."""
        return Fraction(3)


class Squared(Objective):
    """Squared loss of a target of numbers, which are shifted and scaled to [-1/2, 1/2].

    The margin is the predicted number. Slopes are clipped to [-1, 1].
    """

    most = 1.0

    @override
    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Return the clipped error, and 1 as the second derivative."""
        return np.clip(margins - target, -1, 1), np.ones(margins.shape)

    def squared(self, trees: int) -> Fraction:
        """Return 1 + 1: the slope is at most 1 in absolute value, the curvature is 1. A round has one tree."""
        return Fraction(2)


OBJECTIVES: dict[str, Objective] = {"logistic": Logistic(), "softmax": Softmax(), "squared": Squared()}
