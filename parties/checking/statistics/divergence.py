"""Test of a promise of zero-concentrated privacy from samples of a mechanism's output.

M is rho-zCDP if the Renyi divergence of order a of M(x) from M(x'), and of M(x') from M(x), is at most a rho for all a
above 1 (Bun, Steinke 2016); so the Kullback-Leibler divergence is at most rho. For every function f it is at least
E[f(M(x))] - ln E[e^f(M(x'))] (Donsker, Varadhan 1975), so at least E[f(M(x))] - E[e^f(M(x'))] + 1. For both directions,
with outcomes X and X', rho-zCDP thus leaves

    f(X) - e^f(X') + 1 - f(X') - e^-f(X) + 1 - 2 rho

a mean of at most 0: numbers to bet on (`parties.checking.statistics.betting`). The best f resembles the logarithm of
the likelihood ratio. For normal noise that grows with an outcome's position in the direction from x to x'. It is fixed
before the samples, as is every bet here; the capital is shared among bets on steeper or flatter f.

This needs no delta. An epsilon at a delta that samples can show, such as 0.1, permits nearly everything if epsilon at
10^-5 is a quarter; the mean detects an additional distance of half a standard deviation.
"""

from __future__ import annotations

import math

import numpy as np

from parties.checking.statistics.betting import last_refuted, log_capital, log_mean
from protocols.arrays import Floats

STEEPER = (1.0, 2.0)  # times the likelihood ratio of a kept promise
CLIPPED = (0.5, 2.0, 8.0)  # bounds on |f|
SHARES = (0.6, 0.2)  # shares of the ruinous bet
MOST_RHO = 100.0  # end of the search


def rho_shown(first: Floats, second: Floats, rho: float, error: float) -> float:
    """Return a lower confidence limit of rho from equally many outcomes of each table.

    The outcomes of the first table are X' above, those of the second X.

    Args:
        first: Outcomes of the first table, about 0.
        second: Outcomes of the second table, about 1.
        rho: The promise, for which the bets are optimised.
        error: Probability that the limit is wrong.
    """
    bets = []
    for steeper in STEEPER:
        towards = [2 * rho * steeper * (outcomes - 0.5) for outcomes in (first, second)]
        for most in CLIPPED:
            of_first, of_second = (np.clip(losses, -most, most) for losses in towards)
            gains = of_second - of_first - np.expm1(of_first) - np.expm1(-of_second)
            ruin = 2 * (most + math.expm1(most) + rho)
            bets += [(gains, share / ruin) for share in SHARES]
    return last_refuted(
        lambda candidate: log_mean([log_capital(gains - 2 * candidate, share) for gains, share in bets]),
        error,
        MOST_RHO,
    )


def most_apart(rho: float) -> float:
    """Return the largest difference of an event's probabilities that rho permits (Pinsker; Bretagnolle, Huber)."""
    return min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))
