"""Whether a mechanism keeps a promise of zero-concentrated privacy, as far as samples of its output show.

M is rho-zCDP if the Renyi divergence of order a of M(x) from M(x'), and of M(x') from M(x), is a rho at most for all a
above 1 (Bun, Steinke 2016); so the divergence of Kullback and Leibler is rho at most. For every function f it is no
less than E[f(M(x))] - ln E[e^f(M(x'))] (Donsker, Varadhan 1975), so no less than E[f(M(x))] - E[e^f(M(x'))] + 1: of
both directions, for outcomes X and X', rho-zCDP leaves

    f(X) - e^f(X') + 1 - f(X') - e^-f(X) + 1 - 2 rho

a mean of at most 0: numbers to bet on (`parties.checking.statistics.betting`). Best is an f like the logarithm of the
likelihood ratio, which for noise of the normal law grows with how far an outcome lies in the direction from x to x'.
It is known before the samples are, as is every bet made here; the capital is shared among bets on steeper or flatter f.

This needs no delta. An epsilon at a delta that samples show, 0.1 say, permits nearly everything where epsilon at 10^-5
is a quarter; a distance of half a standard deviation more does not escape the mean.
"""

from __future__ import annotations

import math

import numpy as np

from parties.base.arrays import Floats
from parties.checking.statistics.betting import last_refuted, log_capital, log_mean

STEEPER = (1.0, 2.0)  # than the likelihood ratio of a kept promise
CLIPPED = (0.5, 2.0, 8.0)  # f beyond which it grows no more
SHARES = (0.6, 0.2)  # of what would ruin
MOST_RHO = 100.0  # more is not looked for


def rho_shown(first: Floats, second: Floats, rho: float, error: float) -> float:
    """Return a lower limit of rho from outcomes of either table, as many of each: 0 about where the first lies, 1 the
    second.

    The first table's outcome is X' above, the second's X. `rho` is what is promised: what the bets are best for.
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
    """Return the greatest difference of an event's probabilities that rho permits (Pinsker; Bretagnolle, Huber)."""
    return min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))
