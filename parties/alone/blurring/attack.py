"""What blurred rows tell that the interval metric does not admit.

Spectral filtering: columns that depend on each other lie near few directions, independent noise lies in all of them, so
a projection on the strong directions removes most of it from single rows (H. Kargupta, S. Datta, Q. Wang, K. Sivakumar,
"On the privacy preserving properties of random data perturbation techniques", ICDM 2003). Entropy: 2^h(X) is the length
of the interval over which a uniform value would be as uncertain, and 1 - 2^-I(X; W) the share of it that publishing
takes away (D. Agrawal, C. Aggarwal, PODS 2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from parties.alone.blurring.domain import Domain, Observation
from parties.base.arrays import Floats


@dataclass(frozen=True, eq=False)
class Filtered:
    """`values`: estimates of the true values, float64[columns, rows]; `strong` of so many directions were strong."""

    values: Floats
    strong: int


def filtered(published: Floats, variances: Floats) -> Filtered:
    """Remove independent noise of known variances, float64[columns], from rows, float64[columns, rows].

    Columns are scaled so that the noise of each has variance 1: the noise's own directions then have eigenvalues of at
    most (1 + sqrt(columns / rows))^2 (Marchenko, Pastur), and what is stronger is data. Along a strong direction with
    eigenvalue v a share (v - 1) / v of what is seen is data.
    """
    columns, rows = published.shape
    scales = np.sqrt(variances)[:, None]
    middle = published.mean(axis=1, keepdims=True)
    scaled = (published - middle) / scales
    strengths, directions = np.linalg.eigh(scaled @ scaled.T / max(rows - 1, 1))
    strong = strengths > (1 + math.sqrt(columns / rows)) ** 2
    along = directions[:, strong]
    shares = 1 - 1 / strengths[strong]
    values = (along * shares) @ (along.T @ scaled) * scales + middle
    return Filtered(values, int(strong.sum()))


@dataclass(frozen=True)
class Entropies:
    """In units of the column: how uncertain a true value is before and after it was published; the share lost."""

    before: float
    after: float

    @property
    def lost(self) -> float:
        """1 - 2^-I(X; W): 0 if what is published tells nothing."""
        return 1 - self.after / self.before if self.before else 0.0


def entropies(domain: Domain, observed: Observation, probabilities: Floats) -> Entropies:
    """Return the privacy of a column with this distribution, float64[k]: 2^h(X), and 2^h(X | W).

    Within an interval values are taken as uniform; points count as intervals of width 1.
    """
    widths = np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
    before = _entropy(probabilities) + float((probabilities * np.log2(widths)).sum())
    joint = observed.chances * probabilities
    information = _entropy(probabilities) + _entropy(joint.sum(axis=1)) - _entropy(joint.ravel())
    return Entropies(2**before, 2 ** (before - max(information, 0.0)))


def _entropy(probabilities: Floats) -> float:
    present = probabilities[probabilities > 0]
    return float(-(present * np.log2(present)).sum())
