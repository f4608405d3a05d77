"""The median of n whole numbers in public bounds, and how far it can move: at once, and after k replacements.

Neighbouring tables differ by one number replaced, so n is public. The median is the lower one, x[m], m = (n - 1) // 2,
of the sorted numbers; x[i] is the lower bound for i < 0, the upper one for i >= n. Then

    A_k = max over t = 0..k + 1 of x[m + t] - x[m + t - k - 1]

is the greatest local sensitivity of all tables at a distance of at most k: k numbers and one more are replaced so that
the median moves from one end of a window to the other (Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling
in private data analysis", STOC 2007, section 3.1). A_0 is the local sensitivity LS(x), A_n the global one, the distance
of the bounds. Of a replaced number it is told that A_k(x) <= A_(k + 1)(x').
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from parties.base.arrays import Numbers
from smc.errors import InputError

MOST_VALUES = 1 << 20  # whole numbers between the bounds


class Table:
    """Numbers int[n] in public bounds; what lies outside is moved to the nearest bound, which one row's does alone.

    `InputError` for bounds that are none, or too far apart, and without numbers.
    """

    def __init__(self, numbers: ArrayLike, low: int, high: int) -> None:
        if not low < high:
            raise InputError(f"low and high: the bounds are {low} and {high}, the first must be less than the second")
        if high - low >= MOST_VALUES:
            raise InputError(f"low and high: the bounds are {high - low:,} apart, must be less than {MOST_VALUES:,}")
        self.low, self.high = low, high
        self.numbers: Numbers = np.sort(np.clip(np.asarray(numbers, dtype=np.int64), low, high))
        if not len(self):
            raise InputError("there are no numbers, so there is no median")

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def middle(self) -> int:
        """m, the place of the median."""
        return (len(self) - 1) // 2

    @property
    def median(self) -> int:
        """The lower median."""
        return int(self.numbers[self.middle])

    @property
    def most(self) -> int:
        """The global sensitivity."""
        return self.high - self.low

    @cached_property
    def _padded(self) -> Numbers:
        beyond = len(self) + 1
        return np.concatenate([np.full(beyond, self.low), self.numbers, np.full(beyond, self.high)])

    def change(self, distance: int) -> int:
        """Compute A_k: the greatest local sensitivity of a table at most so far from this one."""
        length = min(distance, len(self)) + 1
        place = len(self) + 1 + self.middle
        ends = self._padded[place : place + length + 1]
        return int((ends - self._padded[place - length : place + 1]).max())

    @property
    def local(self) -> int:
        """LS(x)."""
        return self.change(0)

    def distance(self, bound: int) -> int:
        """Return how many numbers must be replaced for a local sensitivity of more than `bound`; n + 1 if no number
        does.

        Of neighbouring tables it differs by 1 at most.
        """
        low, high = 0, len(self) + 1  # A_k grows with k
        while low < high:
            between = (low + high) // 2
            if self.change(between) > bound:
                high = between
            else:
                low = between + 1
        return low

    def smooth(self, beta: float) -> float:
        """Compute SS(x) = max over k of e^(-beta k) A_k: neighbours' differ by a factor of e^beta at most."""
        size = len(self)
        best = max(self.change(0), math.exp(-beta * size) * self.most)
        left = [(0, size)]
        while left:
            low, high = left.pop()
            between = (low + high) // 2
            if low == between or math.exp(-beta * low) * self.change(high) <= best:
                continue  # both factors are monotone: nothing between is greater
            best = max(best, math.exp(-beta * between) * self.change(between))
            left += [(low, between), (between, high)]
        return best
