"""How likely an event is, as far as trials can tell: the exact limits of Clopper and Pearson (Biometrika 26, 1934).

They hold for every true probability and any number of trials, rare events too. Only the tail of the binomial law is
needed, so there is no dependency for it; tests compare with SciPy.
"""

from __future__ import annotations

import math

import numpy as np

_HALVINGS = 60  # of the interval of probabilities: as many as a double resolves


def lower_limit(successes: int, trials: int, error: float) -> float:
    """Bound the probability from below, but for a chance of `error`: so many successes would be that unlikely."""
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"{successes} successes in {trials} trials")
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if log_tail(successes, trials, middle) > math.log(error):
            high = middle
        else:
            low = middle
    return low


def log_tail(successes: int, trials: int, probability: float) -> float:
    """Return ln P[X >= successes], X binomial, 0 <= probability <= successes / trials, and at least one success."""
    if probability <= 0.0:
        return -math.inf
    if probability >= 1.0:
        return 0.0
    first = (
        math.lgamma(trials + 1)
        - math.lgamma(successes + 1)
        - math.lgamma(trials - successes + 1)
        + successes * math.log(probability)
        + (trials - successes) * math.log1p(-probability)
    )
    # Beyond the mean terms fall as a normal law does, or faster: nothing is left after so many standard deviations.
    ahead = np.arange(successes, min(trials, successes + 20 * math.isqrt(trials) + 100))
    ratios = np.log((trials - ahead) / (ahead + 1)) + math.log(probability) - math.log1p(-probability)
    return first + math.log1p(float(np.exp(np.cumsum(ratios)).sum()))
