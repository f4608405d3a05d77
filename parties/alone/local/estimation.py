"""Unbiased estimates of true shares from the frequencies of randomised reports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.mechanism import Estimates
from protocols.arrays import Floats


def on_simplex(shares: Floats) -> Floats:
    """Return the nearest shares (Euclidean distance) that are at least 0 and sum to 1, float64[names].

    The true shares are of this kind, so the error never grows. If most of many names are held by nobody, nearly all of
    their noise is removed. The result is biased: small shares shrink. Source: Duchi and others, ICML 2008 (the
    projection).
    """
    ordered = np.sort(shares)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(shares) + 1)
    return np.maximum(shares - excess[np.flatnonzero(ordered > excess)[-1]], 0)


def absent(truth: float, other: float) -> float:
    """Return the variance, from one report, of the estimated share of a value that nobody holds.

    Args:
        truth: probability that a report names a value which the person holds
        other: probability that a report names a value which the person does not hold
    """
    return other * (1 - other) / (truth - other) ** 2


def binomial(
    names: tuple[str, ...],
    successes: NDArray[Any],
    trials: NDArray[Any],
    truth: float,
    other: float,
    scale: float = 1.0,
) -> Estimates:
    """Return estimated shares: (successes / trials - other) / (truth - other), times `scale`; NaN without trials.

    The estimate is unbiased. Its variance is that of a binomial share, divided by (truth - other)^2.

    Args:
        names: names of the values
        successes: reports that name each value, int64[names]
        trials: reports that could name each value, int64[names]
        truth: probability that a report names a value which the person holds
        other: probability that a report names a value which the person does not hold
        scale: factor from a share to the unit of the estimates
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = successes / trials
        deviations = np.sqrt(seen * (1 - seen) / trials) * scale / (truth - other)
        return Estimates(names, (seen - other) * scale / (truth - other), deviations)
