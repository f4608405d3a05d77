"""Convex losses L(z) of a linear classifier, z = c w.d for a row d of class c = 1 or -1, with |L'| <= 1.

`smoothness` bounds L'': it is the constant c of Chaudhuri, Monteleoni, Sarwate (JMLR 2011), 1/4 for the logistic loss
and 1 / (2 h) for Huber's, which is the hinge loss with its corner rounded over a width of 2 h.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from typing_extensions import override

from protocols.arrays import Floats

LossName: TypeAlias = Literal["logistic", "huber"]


class Loss(ABC):
    """A loss and its derivatives, elementwise on float64[...]."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Greatest second derivative."""

    @property
    def at_zero(self) -> float:
        """L(0), the loss of weights 0."""
        return float(self.value(np.zeros(1))[0])

    @abstractmethod
    def value(self, z: Floats) -> Floats:
        """Return the loss L(z)."""

    @abstractmethod
    def slope(self, z: Floats) -> Floats:
        """Return L'(z), from -1 to 0."""

    @abstractmethod
    def curvature(self, z: Floats) -> Floats:
        """Return L''(z); at the two corners of Huber's slope, that of one side."""


@dataclass(frozen=True)
class Logistic(Loss):
    """Logistic loss ln(1 + e^-z)."""

    @property
    @override
    def smoothness(self) -> float:
        return 0.25

    @override
    def value(self, z: Floats) -> Floats:
        return np.logaddexp(0, -z)

    @override
    def slope(self, z: Floats) -> Floats:
        return -_sigmoid(-z)

    @override
    def curvature(self, z: Floats) -> Floats:
        return _sigmoid(z) * _sigmoid(-z)


@dataclass(frozen=True)
class Huber(Loss):
    """Huber loss: 0 above 1 + h, 1 - z below 1 - h, and between them the parabola (1 + h - z)^2 / (4 h)."""

    h: float = 0.5

    @property
    @override
    def smoothness(self) -> float:
        return 1 / (2 * self.h)

    @override
    def value(self, z: Floats) -> Floats:
        distance = np.clip(1 + self.h - z, 0, 2 * self.h)
        return distance**2 / (4 * self.h) + np.maximum(1 - self.h - z, 0)

    @override
    def slope(self, z: Floats) -> Floats:
        return -np.clip((1 + self.h - z) / (2 * self.h), 0, 1)

    @override
    def curvature(self, z: Floats) -> Floats:
        return np.where(np.abs(1 - z) < self.h, 1 / (2 * self.h), 0.0)


def loss(name: LossName, h: float) -> Loss:
    """Return the loss function with this name.

    Args:
        name: logistic or huber.
        h: Half the width of the rounded corner of Huber's loss; not used by the logistic loss.
    """
    return Logistic() if name == "logistic" else Huber(h)


def radius(of: Loss, regularisation: float) -> float:
    """Return an upper bound of |w| for the minimiser w of J(v) = lambda / 2 |v|^2 + mean of L, whatever the rows.

    It is the smaller of two bounds: lambda w is a mean of vectors of norm at most 1, and J(w) <= J(0).

    Args:
        of: the loss
        regularisation: lambda
    """
    return min(1 / regularisation, math.sqrt(2 * of.at_zero / regularisation))


def _sigmoid(z: Floats) -> Floats:
    small = np.exp(-np.abs(z))
    values: Floats = np.where(z >= 0, 1, small) / (1 + small)
    return values
