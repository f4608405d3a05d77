"""Tests by betting: how much of a null hypothesis is left after an opponent has bet against it.

Who begins with 1 and bets a share b of it on numbers X_1, X_2, ... has prod (1 + b X_i) in the end. If the X_i are
independent, each at least -1 / b, and their mean is at most 0, that is 1 at most on the average, so it reaches 1 /
error with probability `error` at most (Markov): whatever the law of the X_i, with no limit theorem and for any number
of them. So is a mean over several ways to bet, and a bet that was chosen on other samples. (Shafer, "Testing by
betting", JRSS A 184, 2021; Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86,
2024.)

Where X falls as a number r grows of which the hypothesis speaks, all r that are refuted lie below some r: that is a
lower limit of the truth, and one bet finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from parties.base.arrays import Floats

_HALVINGS = 30


def log_capital(gains: Floats, share: float, times: Floats | None = None) -> float:
    """Return ln prod (1 + share gain)^times; minus infinity if a gain may ruin, whether or not it came."""
    least = 1 + share * float(gains.min())
    if least <= 0:
        return -math.inf
    each = np.log1p(share * gains)
    return float(each.sum() if times is None else (each * times).sum())


def log_mean(logarithms: list[float]) -> float:
    """Return ln of the mean of numbers whose logarithms these are."""
    most = max(logarithms)
    if most == -math.inf:
        return most
    return most + math.log(sum(math.exp(logarithm - most) for logarithm in logarithms) / len(logarithms))


def last_refuted(logarithm: Callable[[float], float], error: float, most: float) -> float:
    """Return the greatest number from 0 to `most` with a capital of 1 / error, which falls; 0 if none has."""
    wanted = -math.log(error)
    if logarithm(0.0) < wanted:
        return 0.0
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if logarithm(middle) >= wanted else (low, middle)
    return low
