"""What known attacks on regular LPN cost, in bits: formulas for uniform codes, from the papers that smc.ot.lpn names.

n samples, k secret bits, t noisy positions: one in each of t bins of n / t.
"""

from __future__ import annotations

import math

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


def algebraic(n: int, k: int, t: int) -> float:
    """Degree 2, with `guesses` noise-free positions in `blocks` of the bins; degrees 3 and 4 cost more here."""
    size = n // t
    blocks, guesses = np.arange(t)[:, None], np.arange(256)[None]
    linear = (size - guesses - 1.0) * blocks + (size - 1.0) * (t - blocks)
    products = (linear**2 - (size - guesses - 1.0) ** 2 * blocks - (size - 1.0) ** 2 * (t - blocks)) / 2
    checks = n - k - 1.0
    solvable = linear + products - checks * linear - checks + checks * (checks + 1) / 2 < 1
    left = k + 1 - blocks * guesses
    possible = solvable & (left > 0)
    cost = 2 * np.log2(linear + products) + np.log2(3.0 * np.maximum(left, 1)) - blocks * np.log2(1 - guesses / size)
    return float(cost[possible].min())


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
