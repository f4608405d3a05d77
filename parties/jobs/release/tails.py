"""Tails of the normal and the chi-square law, for intervals and tests."""

from __future__ import annotations

import math
from statistics import NormalDist

from parties.jobs.release.noise import CONFIDENCE

WIDE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)  # standard deviations of an interval, to either side


def chi_square_above(x: float, degrees: int) -> float:
    """Return the probability that chi-square with so many degrees of freedom is above x."""
    if degrees % 2:
        tail, term, freedom = math.erfc(math.sqrt(x / 2)), math.sqrt(x / 2) * math.exp(-x / 2) / math.gamma(1.5), 1
    else:
        tail, term, freedom = math.exp(-x / 2), x / 2 * math.exp(-x / 2), 2
    while freedom < degrees:
        tail, freedom = tail + term, freedom + 2
        term *= x / freedom
    return min(1.0, tail)


def chi_square_quantile(level: float, degrees: int) -> float:
    """Return the number that chi-square with so many degrees of freedom is above with this probability, below 1e9."""
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_above(middle, degrees) > level else (low, middle)
    return high
