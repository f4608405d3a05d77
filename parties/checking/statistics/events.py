"""Bets on events that a promise of privacy keeps about as likely on the one of two neighbouring tables as on the other.

For an event A that speaks for the first table and B that speaks for the second, (L, delta)-privacy says that P[A | 1] -
e^L P[A | 2] and P[B | 2] - e^L P[B | 1] are delta at most. So with an outcome x of the first table and y of the second,

    X = [x in A] - e^L [y in A] + [y in B] - e^L [x in B] - 2 delta

has a mean of at most 0: each pair of outcomes is a number to bet on (`parties.checking.statistics.betting`), and what
is lost on both sides is seen at once. Where one side shows more alone, the other two terms and one delta are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.base.arrays import Floats
from parties.checking.statistics.betting import last_refuted, log_capital

FOR_FIRST, FOR_SECOND = 1, 2  # bits of a cell: in which of the two events an outcome is
CELLS = 4
MOST_LOSS = 50.0  # more is not looked for
_SIDES = (FOR_FIRST, FOR_SECOND, FOR_FIRST | FOR_SECOND)
_SHARES = np.geomspace(0.01, 0.75, 12)  # of what would ruin
_STEPS = 30
Cells = NDArray[np.int64]


@dataclass(frozen=True)
class Bet:
    """A share of the capital on the events of some sides."""

    sides: int
    delta: float
    share: float = 0.0

    def gains(self, loss: float) -> Floats:
        """Return X for each cell of x and each of y, float64[CELLS, CELLS], if what is to be refuted is this loss."""
        cells = np.arange(CELLS) & self.sides
        speaks, against = (cells & FOR_FIRST > 0).astype(np.float64), (cells & FOR_SECOND > 0).astype(np.float64)
        factor = math.exp(loss)
        of_first, of_second = speaks - factor * against, against - factor * speaks
        capital: Floats = of_first[:, None] + of_second - self.sides.bit_count() * self.delta
        return capital


def loss_shown(choosing: Sequence[NDArray[Any]], testing: Sequence[Cells], delta: float, error: float) -> float:
    """Return a lower limit of the loss at this delta, from how often an outcome of either table is in each cell,
    [CELLS].

    The bet is chosen by the counts of `choosing`, and made with the cells of each outcome of `testing`, in order.
    """
    bet = _best(choosing, len(testing[0]), delta, error)
    times = np.bincount(CELLS * testing[0] + testing[1], minlength=CELLS**2).astype(np.float64)
    return last_refuted(lambda loss: log_capital(bet.gains(loss).reshape(-1), bet.share, times), error, MOST_LOSS)


def _best(choosing: Sequence[NDArray[Any]], trials: int, delta: float, error: float) -> Bet:
    """Return the bet that promises to refute the greatest loss in so many trials."""
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
    if not share:  # nothing is promised: what shows most at no loss
        share = _grown(Bet(sides, delta).gains(0.0), chances)[0]
    return Bet(sides, delta, share)


def _grown(gains: Floats, chances: Floats) -> tuple[float, float]:
    """Return the share with which capital grows most, and the logarithm of how much on the average."""
    shares = _SHARES / max(-float(gains.min()), 1e-12)
    grows = (np.log1p(shares[:, None, None] * gains) * chances).sum(axis=(1, 2))
    place = int(grows.argmax())
    return float(shares[place]), float(grows[place])
