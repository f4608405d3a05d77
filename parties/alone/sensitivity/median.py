"""Median of n integers in public bounds, and its sensitivity: local, and after k replacements.

Neighbouring tables differ by one number replaced, so n is public. The median is the lower one, x[m], m = (n - 1) // 2,
of the sorted numbers; x[i] is the lower bound for i < 0, the upper one for i >= n. Then

    A_k = max over t = 0..k + 1 of x[m + t] - x[m + t - k - 1]

is the greatest local sensitivity of all tables at a distance of at most k: k numbers and one more are replaced, so that
the median moves from one end of a window to the other (Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling
in private data analysis", STOC 2007, section 3.1). A_0 is the local sensitivity LS(x), A_n the global one, the distance
of the bounds. For neighbours x and x', A_k(x) <= A_(k + 1)(x').
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from protocols.arrays import Numbers
from smc.errors import InputError

MOST_VALUES = 1 << 20  # greatest number of integers between the bounds


class Table:
    """Sorted integers int64[n] in public bounds; each number outside is clipped to the nearest bound.

    Raise InputError without numbers, and for bounds in the wrong order or too far apart.
    """

    def __init__(self, numbers: ArrayLike, low: int, high: int) -> None:
        if not low < high:
            raise InputError(f"low and high: the bounds are {low} and {high}, the first must be less than the second")
        if high - low >= MOST_VALUES:
            raise InputError(f"low and high: the bounds are {high - low:,} apart, must be less than {MOST_VALUES:,}")
        self.low, self.high = low, high
        self.numbers: Numbers = np.sort(np.clip(np.asarray(numbers, dtype=np.int64), low, high))
        if not len(self):
            raise InputError("there are no numbers, so there is no median; give at least one row")

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def middle(self) -> int:
        """m, the index of the median."""
        return (len(self) - 1) // 2

    @property
    def median(self) -> int:
        """Lower median."""
        return int(self.numbers[self.middle])

    @property
    def most(self) -> int:
        """Global sensitivity of the median: the largest change by one replaced row, over all tables."""
        return self.high - self.low

    @cached_property
    def _padded(self) -> Numbers:
        beyond = len(self) + 1
        return np.concatenate([np.full(beyond, self.low), self.numbers, np.full(beyond, self.high)])

    def change(self, distance: int) -> int:
        """Return A_k for k = `distance`: the greatest local sensitivity of any table made from this one by at most k
        replacements."""
        length = min(distance, len(self)) + 1
        median_index = len(self) + 1 + self.middle
        ends = self._padded[median_index : median_index + length + 1]
        return int((ends - self._padded[median_index - length : median_index + 1]).max())

    @property
    def local(self) -> int:
        """Local sensitivity LS(x)."""
        return self.change(0)

    def distance(self, bound: int) -> int:
        """Return the least number of replacements that give a local sensitivity above `bound`; n + 1 if none does.

        It differs by 1 at most between neighbouring tables.
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
        """Return SS(x) = max over k of e^(-beta k) A_k; it differs by a factor of at most e^beta between neighbours."""
        size = len(self)
        best = max(self.change(0), math.exp(-beta * size) * self.most)
        intervals = [(0, size)]
        while intervals:
            low, high = intervals.pop()
            between = (low + high) // 2
            if low == between or math.exp(-beta * low) * self.change(high) <= best:
                continue  # both factors are monotone: no value between is greater
            best = max(best, math.exp(-beta * between) * self.change(between))
            intervals += [(low, between), (between, high)]
        return best
