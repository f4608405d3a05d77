"""Exact confidence limits of a probability (Clopper and Pearson, Biometrika 26, 1934).

The limits hold for every true probability and any number of trials, also for rare events. They need only the tail of
the binomial law, so no dependency is added; tests compare with SciPy.
"""

from __future__ import annotations

import math

import numpy as np

_HALVINGS = 60  # halvings of the interval of probabilities: the resolution of a double


def lower_limit(successes: int, trials: int, error: float) -> float:
    """Return the lower confidence limit of a probability.

    Args:
        successes: Number of successes.
        trials: Number of trials, at least 1.
        error: Probability that the limit exceeds the true probability, at most.

    Raises:
        ValueError: There are no trials, or more successes than trials.
    """
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
    """Return ln P[X >= successes] for a binomial X.

    Args:
        successes: At least 1.
        trials: Number of trials.
        probability: Probability of a success, 0 to successes / trials.
    """
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
    # Beyond the mean the terms fall at least as fast as a normal law: after this number of standard deviations they
    # vanish.
    ahead = np.arange(successes, min(trials, successes + 20 * math.isqrt(trials) + 100))
    ratios = np.log((trials - ahead) / (ahead + 1)) + math.log(probability) - math.log1p(-probability)
    return first + math.log1p(float(np.exp(np.cumsum(ratios)).sum()))
