"""Joint quantile of both parties' values on a public grid, by a search that cuts the range into 16 parts a round.

Ideal functionality. Inputs: from each party, for every grid position, the number of its values up to that position;
public: the grid, the share p = a / b. Output to both: the first position j with b F(j) >= a n, where F(j) is the number
of both parties' values up to position j, and n the number of all values. For p = 0 this is the least value: the first
position j with F(j) >= 1, or the last position if there are no values. Leakage: nothing else. Every opened threshold
follows from the output: it is 1 from that position on and 0 before, because F is monotone. Security is that of the
engine.

Paper: Aggarwal, Mishra, Pinkas, "Secure Computation of the k-th Ranked Element" (EUROCRYPT 2004; J. Cryptology 23,
2010), whose bisection compares both parties' ranks. They also check the consistency of answers against a malicious
party. This module does not.

The exact answer is the value of a row, or the cell of the grid in which it lies. A coarser grid reveals less.

Cost of a grid of g positions, sides of w bits: ceil(log16 g) rounds of at most 15 thresholds each.
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
    """Return the number of rounds of the search for a quantile on a grid of `places` positions."""
    count = 0
    while places > 1:
        count, places = count + 1, -(-places // PARTS)
    return count


def most_opened(places: int) -> int:
    """Return an upper bound on the number of opened thresholds; no position is opened twice."""
    return min(places - 1, (PARTS - 1) * rounds(places))


def quantile(
    engine: Engine,
    up_to: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    rows: int,
    places: int,
    share: Fraction,
    bound: int,
) -> int:
    """Open the position of the quantile on the grid.

    Args:
        engine: The engine of this session.
        up_to: A function from grid positions, int64[n], to the number of this party's values up to each of them,
            int64[n]; its results are private.
        rows: Number of this party's values; private.
        places: Number of positions of the grid, 1 or more; public.
        share: The share p, from 0 to 1: 1/2 for the median, 0 for the least value. Public.
        bound: Upper bound on the values of a party; public.

    Returns:
        The position, from 0; both parties learn it.

    Raises:
        InputError: This party has more than `bound` values, or the bound does not fit a threshold.
    """
    a, b = share.numerator, share.denominator
    first, count = 0, places  # the result is one of the positions `first` to `first + count - 1`
    while count > 1:
        step = -(-count // PARTS)
        candidates = np.arange(first + step - 1, first + count - 1, step, dtype=np.int64)
        sides = b * up_to(candidates) - a * rows - (a == 0 and engine.party == 0)
        reached = decided(engine, np.asarray(sides, dtype=np.int64), b * bound)
        below = int((reached == 0).sum())
        first, count = first + below * step, min(step, count - below * step)
    return first
