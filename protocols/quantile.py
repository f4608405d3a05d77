"""A quantile of both parties' values, found on a public grid: by halving, sixteen parts a round.

Ideal functionality. Inputs: from each party, as a function of the grid's places, how many of its values are at most
that place's; public: the grid, the share p = a / b. Output to both: the first place j with b F(j) >= a n, where F(j)
is the number of both parties' values that are at most place j's, n that of all. Of p = 0 that is the least value: the
first place j with F(j) >= 1, the last place if nobody has a value.
Leakage: nothing else. Every threshold that is opened on the way follows from the output: it is 1 for places from it on,
0 before (F is monotone). Security is that of the engine.

Paper: Aggarwal, Mishra, Pinkas, "Secure Computation of the k-th Ranked Element" (EUROCRYPT 2004; J. Cryptology 23,
2010), whose bisection compares both parties' ranks; against parties that leave the protocol they need a further check
that answers are consistent, which is not made here.

The exact answer is one of the values that rows have, or a cell of the grid in which one lies: a coarse grid tells less.

Cost of a grid of g places, sides of w bits: ceil(log16 g) rounds of at most 15 thresholds each.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from protocols.threshold import decided
from smc.engines import Engine

PARTS = 16


def rounds(places: int) -> int:
    """Return how often thresholds are opened for a grid of so many places."""
    count = 0
    while places > 1:
        count, places = count + 1, -(-places // PARTS)
    return count


def most_opened(places: int) -> int:
    """Return how many thresholds are opened at most, no place twice."""
    return min(places - 1, (PARTS - 1) * rounds(places))


def quantile(
    engine: Engine,
    up_to: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    rows: int,
    places: int,
    share: Fraction,
    bound: int,
) -> int:
    """Return the quantile's place.

    `up_to` gives how many own values, of `rows`, are at most those of some places.
    `InputError` if this party has more than `bound` values.
    """
    a, b = share.numerator, share.denominator
    first, count = 0, places  # the answer is one of so many places
    while count > 1:
        step = -(-count // PARTS)
        candidates = np.arange(first + step - 1, first + count - 1, step, dtype=np.int64)
        sides = b * up_to(candidates) - a * rows - (a == 0 and engine.party == 0)
        reached = decided(engine, np.asarray(sides, dtype=np.int64), b * bound)
        below = int((reached == 0).sum())
        first, count = first + below * step, min(step, count - below * step)
    return first
