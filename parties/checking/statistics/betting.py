"""Tests by betting: a null hypothesis is refuted by the gains of bets against it.

A player who starts with capital 1 and bets a share b of it on numbers X_1, X_2, ... ends with prod (1 + b X_i). If the
X_i are independent, each at least -1 / b, with mean at most 0, then the expected final capital is at most 1. So it
reaches 1 / error with probability at most `error` (Markov), for any law of the X_i, without a limit theorem, and for
any number of them. The same holds for a mean over several bets, and for a bet chosen on other samples. (Shafer,
"Testing by betting", JRSS A 184, 2021; Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting",
JRSS B 86, 2024.)

If X falls as the hypothesis's number r grows, all refuted r lie below some r. That is a lower confidence limit, and one
bet finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from protocols.arrays import Floats

_HALVINGS = 30


def log_capital(gains: Floats, share: float, times: Floats | None = None) -> float:
    """Return ln prod (1 + share gain)^times; minus infinity if a gain may ruin the player, whether or not it
    occurred.

    Args:
        gains: Possible or observed numbers X.
        share: Share of the capital in each bet.
        times: Frequency of each number; None for once each.
    """
    least = 1 + share * float(gains.min())
    if least <= 0:
        return -math.inf
    each = np.log1p(share * gains)
    return float(each.sum() if times is None else (each * times).sum())


def log_mean(logarithms: list[float]) -> float:
    """Return the logarithm of the mean of numbers, given their logarithms."""
    largest = max(logarithms)
    if largest == -math.inf:
        return largest
    return largest + math.log(sum(math.exp(logarithm - largest) for logarithm in logarithms) / len(logarithms))


def last_refuted(logarithm: Callable[[float], float], error: float, most: float) -> float:
    """Return the largest number from 0 to `most` whose capital reaches 1 / error; 0 if none does.

    Args:
        logarithm: Logarithm of the capital for a number; it falls.
        error: Probability of a false refutation.
        most: Upper end of the search.
    """
    threshold = -math.log(error)
    if logarithm(0.0) < threshold:
        return 0.0
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if logarithm(middle) >= threshold else (low, middle)
    return low
