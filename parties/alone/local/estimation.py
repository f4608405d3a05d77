"""From how often something was said to how often it is true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.mechanism import Estimates
from parties.base.arrays import Floats


def on_simplex(shares: Floats) -> Floats:
    """Return the shares from 0 up, of sum 1, that are nearest to these (Euclidean distance), float64[names].

    The truth is such, so the error never grows; of many names most are noise, and nearly all of it is gone. Not without
    bias: what is small is drawn to 0. Source: Duchi and others, ICML 2008 (the projection).
    """
    ordered = np.sort(shares)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(shares) + 1)
    return np.maximum(shares - excess[np.flatnonzero(ordered > excess)[-1]], 0)


def absent(truth: float, other: float) -> float:
    """Return the variance, from one report, of the share of what nobody holds: said with probability `other` then."""
    return other * (1 - other) / (truth - other) ** 2


def binomial(
    names: tuple[str, ...],
    successes: NDArray[Any],
    trials: NDArray[Any],
    truth: float,
    other: float,
    scale: float = 1.0,
) -> Estimates:
    """Return shares when something is said with probability `truth` if it holds, and with `other` if not.

    `successes` of the `trials` reports said it, int64[names]. The share (successes / trials - other) / (truth - other)
    is unbiased, and its variance is that of a binomial share divided by (truth - other)^2. No trials: NaN.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = successes / trials
        deviations = np.sqrt(seen * (1 - seen) / trials) * scale / (truth - other)
        return Estimates(names, (seen - other) * scale / (truth - other), deviations)
