"""What known attacks on regular LPN cost, in bits: formulas for uniform codes, from the papers that smc.ot.lpn names.

n samples, k secret bits, t noisy positions: one in each of t bins of n / t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

ELIMINATION = 2.8  # the exponent of solving a dense linear system


def choose(n: int, m: int) -> float:
    """log2 of a binomial coefficient."""
    i = np.arange(m)
    return float(np.log2((n - i) / (m - i)).sum())


def pooled_gauss(n: int, k: int, t: int) -> float:
    return ELIMINATION * math.log2(k) + choose(n, t) - choose(n - k, t)


def statistical(n: int, k: int, t: int) -> float:
    """Statistical decoding 2.0: part of the secret is guessed."""
    k -= int(pooled_gauss(n, k, t))
    return math.log2(k + 1) + 2 * t * math.log2((n - t + 1) / (n - k - t))


def dumer(n: int, k: int, t: int) -> float:
    costs = []
    for p in range(0, 10, 2):
        for window in range(k % 2, 60, 2):
            lists = choose((k + window) // 2, p // 2)
            matches = 2 * lists - window
            gauss = (n - k - window) * n / math.log2(n - k - window)
            work = math.log2(n) + math.log2(gauss + 2 * 2**lists + 2 * 2**matches)
            success = choose(n - k - window, t - p) - choose(n, t) + 2 * lists
            costs.append(work - min(success, 0))
    return min(costs)


class Macaulay:
    """Systems of equations after `guesses` noise-free positions in each of `blocks` of the bins: axes of arrays.

    By degree: `monomials`, and `remaining`, those that the equations leave undetermined; no degree-0 term counts.
    """

    def __init__(self, n: int, k: int, t: int) -> None:
        size = n // t
        blocks, guesses = np.arange(t, dtype=float)[:, None], np.arange(min(256, size - 1), dtype=float)[None]
        checks = n - k - 1.0
        guessed = [_choose(blocks, i) * (size - guesses - 1) ** i for i in range(5)]
        others = [_choose(t - blocks, i) * (size - 1.0) ** i for i in range(5)]
        parity = [(-1) ** i * _choose(np.full((1, 1), checks + i - 1), i) for i in range(5)]
        numerator = [sum(guessed[i] * others[degree - i] for i in range(degree + 1)) for degree in range(5)]
        series = [sum(numerator[i] * parity[degree - i] for i in range(degree + 1)) for degree in range(5)]
        self.monomials = {degree: sum(numerator[1 : degree + 1]) for degree in (2, 3, 4)}
        self.remaining = {degree: sum(series[1 : degree + 1]) for degree in (2, 3, 4)}
        self.unknown = k + 1 - blocks * guesses
        self.blocks, self.tries = blocks, -blocks * np.log2(1 - guesses / size)

    def solvable(self, degree: int) -> np.ndarray:
        return np.asarray((self.remaining[degree] < 1) & (self.unknown > 0))


def _choose(n: np.ndarray, m: int) -> np.ndarray:
    """A binomial coefficient of small m."""
    product = np.ones_like(n)
    for i in range(m):
        product = product * (n - i) / (i + 1)
    return product


def algebraic(n: int, k: int, t: int, degrees: Sequence[int] = (2, 3, 4)) -> float:
    """The cheapest of these degrees, solved by Wiedemann's algorithm for each guess."""
    system = Macaulay(n, k, t)
    costs = []
    for degree in degrees:
        solve = 2 * np.log2(system.monomials[degree]) + np.log2(3 * np.maximum(system.unknown, 1))
        costs.append((solve + system.tries)[system.solvable(degree)].min(initial=math.inf))
    return float(min(costs))


def algebraic_in_two_steps(n: int, k: int, t: int, degrees: Sequence[int] = (2, 3, 4)) -> float:
    """AGB 2.0 (eprint 2025/1476), as the estimator of its authors computes it over the field of two elements.

    After a few guesses the matrix is reduced by elimination, once for many further guesses; what each of these leaves
    is solved by elimination of the small rest.
    """
    system = Macaulay(n, k, t)
    best = math.inf
    for degree in degrees:
        later = np.where(system.solvable(degree), system.tries, math.inf)  # the cheapest with at least these guesses
        later = np.minimum.accumulate(np.minimum.accumulate(later[::-1, ::-1]), axis=1)[::-1, ::-1]
        monomials = system.monomials[degree]
        remaining = np.maximum(system.remaining[degree], 1)
        rank = np.maximum(monomials - remaining, 2)
        dense = math.log2(5.64) + ELIMINATION * np.log2(monomials)  # Strassen's algorithm
        first = np.minimum(dense, np.log2(monomials) + 2 * np.log2(rank) - np.log2(np.log2(rank)))
        second = math.log2(5.64) + ELIMINATION * np.log2(np.minimum(remaining, rank))
        cost = np.logaddexp2(first + system.tries, second + later)
        best = min(best, float(cost[(system.unknown > 0) & (system.blocks > 1)].min()))
    return best


def hybrid(n: int, k: int, t: int, bin_size: int | None = None, most: int = 8) -> float:
    """Theorem 1 of "A Hybrid Algorithm for the Regular Syndrome Decoding Problem" (eprint 2025/1284, (9) to (13)).

    `size` - `rest` positions of every bin are guessed to be free of noise, in `more` bins one more; `bins` of them,
    at most `most`, are searched through. `bin_size`: of the whole bins, where only n / t positions of each take part.
    """
    size = n // t
    whole = bin_size or size
    best = math.inf
    for bins in range(most + 1):
        blocks = t - bins
        more = np.arange(blocks + 1.0)[:, None]
        rest = np.arange(max(2, size - k // blocks - 1), size + 1.0)[None]
        guessed = size - rest
        unknown = k - more - blocks * guessed
        searched = bins * size
        v = unknown - searched
        z = v + 2 * bins + bins * v + bins * (bins - 1) / 2
        quadratic = more * (rest - 1) * (rest - 2) / 2 + (blocks - more) * rest * (rest - 1) / 2
        possible = (v >= 0) & (quadratic - v * (v + 1) / 2 >= 2.5 * z)
        if not possible.any():
            continue
        left = n - k - (n - k) // size * (rest - 1)
        reduce = np.log2(n - k) + np.log2(np.maximum(left * (unknown + left), 1))
        solve = ELIMINATION * np.log2(np.maximum(unknown**2 + 3 * unknown, 2) / 2)
        rows = np.log2(np.maximum(2.5 * z, 1))
        columns = np.log2(np.maximum(v + 2 * searched + searched * v + searched * (searched - 1) / 2, 1))
        search = bins * math.log2(whole) + np.logaddexp2(ELIMINATION * rows, rows + columns)
        tries = -more * np.log2(1 - (guessed + 1) / whole) - (blocks - more) * np.log2(1 - guessed / whole)
        cost = tries + np.logaddexp2(np.logaddexp2(reduce, solve), search)
        best = min(best, float(cost[possible].min()))
    return best
