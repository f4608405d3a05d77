"""Reconstruction of the distribution of true values from published ones: Bayes' rule on intervals, iterated.

Source: Agrawal, Srikant 2000, in the form of expectation maximisation (Agrawal, Aggarwal, PODS 2001), which converges
to the maximum likelihood. The density of the noise is integrated over each interval, not evaluated at its middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from protocols.arrays import Floats

SHARE = 0.001  # of the chi-square test's threshold at 5%; the iteration stops at a smaller change
ROUNDS = 10_000
SMOOTHED = 100  # with this many intervals, smoothing gives a quarter to each neighbour


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated distribution, float64[k]: `converged`, or stopped after `rounds` of the iteration."""

    probabilities: Floats
    rounds: int
    converged: bool


def reconstruct(
    counts: Floats, chances: Floats, share: float = SHARE, rounds: int = ROUNDS, smooth: bool = False
) -> Estimate:
    """Return the distribution over k true values from counts of m published ones.

    The iteration starts from the uniform distribution. Smoothing (B. Silverman et al., JRSS B 1990) is for intervals:
    without it, the iteration ends in peaks that are noise. Published values that no true value explains are ignored.

    Args:
        counts: published values, float64[m]
        chances: P(published i | true j), float64[m, k]
        share: stop when the chi-square statistic between two rounds is below this share of the test's threshold at 5%
        rounds: most rounds
        smooth: smooth over neighbours at the end of each round
    """
    size = chances.shape[1]
    estimate = np.full(size, 1 / size)
    seen = (counts > 0) & (chances.sum(axis=1) > 0)
    total = float(counts[seen].sum())
    if size == 1 or not total:
        return Estimate(estimate, 0, True)
    chances, shares = chances[seen], counts[seen] / total
    back = np.ascontiguousarray(chances.T)
    threshold = share * chi_square(size - 1)
    for turn in range(1, rounds + 1):
        mixture = chances @ estimate
        after = estimate * (back @ np.divide(shares, mixture, out=np.zeros_like(shares), where=mixture > 0))
        after = _smoothed(after) if smooth else after
        after /= after.sum()
        positive = estimate > 0
        change = total * float(((after - estimate)[positive] ** 2 / estimate[positive]).sum())
        estimate = after
        if change < threshold:
            return Estimate(estimate, turn, True)
    return Estimate(estimate, rounds, False)


def _smoothed(estimate: Floats) -> Floats:
    """Return the estimate smoothed over neighbours; at either end, the missing neighbour's weight stays there.

    Weights are 1/4, 1/2, 1/4 for 100 intervals. With fewer, wider intervals the neighbours' weights are smaller, so
    that the spread is a constant share of the range.
    """
    share = min(len(estimate) / SMOOTHED, 1) ** 2 / 4
    around = np.concatenate([estimate[:1], estimate, estimate[-1:]])
    return np.asarray((1 - 2 * share) * estimate + share * (around[:-2] + around[2:]))


def chi_square(degrees: int, level: float = 0.05) -> float:
    """Return the value that a chi-square variable exceeds with probability `level`, within 1% from two degrees on.

    Source: E. Wilson, M. Hilferty, PNAS 1931.

    Args:
        degrees: Degrees of freedom, at least 1.
        level: Probability that the variable exceeds the returned value.
    """
    spread = 2 / (9 * degrees)
    return float(degrees * (1 - spread + NormalDist().inv_cdf(1 - level) * math.sqrt(spread)) ** 3)
