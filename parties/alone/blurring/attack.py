"""Leakage of blurred rows that the interval metric does not measure.

Spectral filtering: correlated columns lie near few directions, independent noise lies in all of them. A projection on
the strong directions therefore removes most of the noise from single rows (H. Kargupta, S. Datta, Q. Wang, K.
Sivakumar, "On the privacy preserving properties of random data perturbation techniques", ICDM 2003).

Entropy: 2^h(X) is the length of the interval over which a uniform value would be as uncertain. 1 - 2^-I(X; W) is the
share of it that publishing removes (D. Agrawal, C. Aggarwal, PODS 2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from parties.alone.blurring.domain import Domain, Observation
from protocols.arrays import Floats


@dataclass(frozen=True, eq=False)
class Filtered:
    """Estimates of the true values, float64[columns, rows], and the number of strong directions."""

    values: Floats
    strong: int


def filtered(published: Floats, variances: Floats) -> Filtered:
    """Remove independent noise of known variances from rows by spectral filtering.

    Columns are scaled so that the noise of each has variance 1. The noise's own directions then have eigenvalues of at
    most (1 + sqrt(columns / rows))^2 (Marchenko, Pastur); a direction with a greater one contains data. Along a strong
    direction with eigenvalue v, the share (v - 1) / v of the published values is data.

    Args:
        published: blurred rows, float64[columns, rows]
        variances: variance of each column's noise, float64[columns]
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
    """Uncertainty of a true value before and after publication, in units of the column."""

    before: float
    after: float

    @property
    def lost(self) -> float:
        """Share of the uncertainty that publication removes, 1 - 2^-I(X; W)."""
        return 1 - self.after / self.before if self.before else 0.0


def entropies(domain: Domain, observed: Observation, probabilities: Floats) -> Entropies:
    """Return the entropy-based privacy of a column: 2^h(X), and 2^h(X | W).

    Values are taken as uniform within an interval. Points count as intervals of width 1.

    Args:
        domain: intervals or points of the true values
        observed: bins of the published values
        probabilities: distribution of the true values, float64[k]
    """
    widths = np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
    before = _entropy(probabilities) + float((probabilities * np.log2(widths)).sum())
    joint = observed.chances * probabilities
    information = _entropy(probabilities) + _entropy(joint.sum(axis=1)) - _entropy(joint.ravel())
    return Entropies(2**before, 2 ** (before - max(information, 0.0)))


def _entropy(probabilities: Floats) -> float:
    present = probabilities[probabilities > 0]
    return float(-(present * np.log2(present)).sum())
