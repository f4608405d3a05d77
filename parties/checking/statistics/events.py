"""Bets on events whose probabilities on two neighbouring tables a privacy promise keeps close.

For an event A that favours the first table and B that favours the second, (L, delta)-privacy bounds P[A | 1] -
e^L P[A | 2] and P[B | 2] - e^L P[B | 1] by delta. So with an outcome x of the first table and y of the second,

    X = [x in A] - e^L [y in A] + [y in B] - e^L [x in B] - 2 delta

has a mean of at most 0. Each pair of outcomes is a number to bet on (`parties.checking.statistics.betting`), which
shows the loss on both sides together. If one side alone shows more, the other two terms and one delta are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.checking.statistics.betting import last_refuted, log_capital
from protocols.arrays import Floats

FOR_FIRST, FOR_SECOND = 1, 2  # bits of a cell: the events that an outcome is in
CELLS = 4
MOST_LOSS = 50.0  # end of the search
_SIDES = (FOR_FIRST, FOR_SECOND, FOR_FIRST | FOR_SECOND)
_SHARES = np.geomspace(0.01, 0.75, 12)  # shares of the ruinous bet
_STEPS = 30
Cells = NDArray[np.int64]


@dataclass(frozen=True)
class Bet:
    """A bet on the events of one or both sides.

    Attributes:
        sides: `FOR_FIRST`, `FOR_SECOND`, or both as a bit mask: the events that take part.
        delta: Delta of the promise.
        share: Share of the capital in each bet.
    """

    sides: int
    delta: float
    share: float = 0.0

    def gains(self, loss: float) -> Floats:
        """Return X for each cell of x and of y, float64[CELLS, CELLS], under the hypothesis of this loss."""
        cells = np.arange(CELLS) & self.sides
        speaks, against = (cells & FOR_FIRST > 0).astype(np.float64), (cells & FOR_SECOND > 0).astype(np.float64)
        factor = math.exp(loss)
        of_first, of_second = speaks - factor * against, against - factor * speaks
        capital: Floats = of_first[:, None] + of_second - self.sides.bit_count() * self.delta
        return capital


def loss_shown(choosing: Sequence[NDArray[Any]], testing: Sequence[Cells], delta: float, error: float) -> float:
    """Return a lower confidence limit of the loss at this delta.

    Args:
        choosing: Counts of the outcomes by cell, int64[CELLS], for each table; the bet is chosen by these.
        testing: Cell of each outcome, in order, for each table; the bet is made with these.
        delta: The delta of the promise.
        error: Probability that the limit is wrong.
    """
    bet = _best(choosing, len(testing[0]), delta, error)
    times = np.bincount(CELLS * testing[0] + testing[1], minlength=CELLS**2).astype(np.float64)
    return last_refuted(lambda loss: log_capital(bet.gains(loss).reshape(-1), bet.share, times), error, MOST_LOSS)


def _best(choosing: Sequence[NDArray[Any]], trials: int, delta: float, error: float) -> Bet:
    """Return the bet that is expected to refute the largest loss in this number of trials."""
    first, second = ((counts + 1 / CELLS) / (counts.sum() + 1) for counts in choosing)
    chances = first[:, None] * second
    limits = []
    for sides in _SIDES:
        low, high, share = 0.0, MOST_LOSS, 0.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            best, growth = _grown(Bet(sides, delta).gains(middle), chances)
            if trials * growth >= -math.log(error):
                low, share = middle, best
            else:
                high = middle
        limits.append((low, share, sides))
    _, share, sides = max(limits)
    if not share:  # no refutation is expected: take the bet that grows most at no loss
        share = _grown(Bet(sides, delta).gains(0.0), chances)[0]
    return Bet(sides, delta, share)


def _grown(gains: Floats, chances: Floats) -> tuple[float, float]:
    """Return the share of the capital to bet for the largest growth, and the mean logarithm of that growth.

    `gains` are the gains of each pair of cells for a bet of the whole capital, `chances` their probabilities.
    """
    shares = _SHARES / max(-float(gains.min()), 1e-12)
    grows = (np.log1p(shares[:, None, None] * gains) * chances).sum(axis=(1, 2))
    best = int(grows.argmax())
    return float(shares[best]), float(grows[best])
