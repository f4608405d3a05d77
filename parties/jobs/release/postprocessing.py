"""What is done with opened numbers: it is local, the same for both parties, and costs no privacy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from parties.base.arrays import Counts
from parties.jobs.release.noise import CONFIDENCE, Noise

EACH = 1 - (1 - CONFIDENCE) / 2  # of a count and of all others, so that both are within their reach


def consistent(noisy: Counts, most: int) -> Counts:
    """Counts from 0 up with the same sum, as near to the noisy ones as can be; their sum is at most `most`.

    Noisy counts below 0 are no counts, and to set them to 0 would raise every margin of a table. So what they lack is
    taken from the others in equal parts: the projection onto the counts of that sum (Euclidean distance), rounded. If
    the sum is below 0, all are 0. Margins of the result are sums of it, hence fit each other.
    """
    flat = noisy.reshape(-1)
    total = min(max(int(flat.sum()), 0), most)
    ordered = np.sort(flat)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(flat) + 1)
    places = np.flatnonzero(ordered * counts > sums - total)  # those that stay above 0, by the greatest such place
    if total == 0 or not places.size:
        return np.zeros_like(noisy)
    many = int(places[-1]) + 1
    excess = int(sums[many - 1]) - total  # to be taken from so many in equal parts
    lowered, rest = divmod(excess, many)
    fitting = np.maximum(flat - lowered, 0)
    chosen = np.argsort(-flat, kind="stable")[:many]
    fitting[chosen[many - rest :]] -= 1  # the remainder, one each from the smallest of them
    return np.maximum(fitting, 0).reshape(noisy.shape)


def percentages(fitting: Counts, noisy: Counts, noise: Noise | None, terms: int = 1) -> list[dict[str, float | None]]:
    """Return which percentage of all each count is, and with noise its interval; None where there are no rows.

    `fitting` are counts from 0 up, `noisy` the same as opened, each a sum of `terms` numbers with noise of its own. The
    interval is proved: a share grows with its count and falls with all others, and with 95 % both are within the reach
    of their noise. So it is longer than a count's by itself.
    """
    total, opened = int(fitting.sum()), int(noisy.sum())
    answers: list[dict[str, float | None]] = []
    reach, rest = 0, 0
    if noise is not None:
        reach = noise.reach(terms, EACH)
        rest = noise.reach(terms * (noisy.size - 1), EACH) if noisy.size > 1 else 0
    for count, number in zip(fitting.tolist(), noisy.tolist(), strict=True):
        answer: dict[str, float | None] = {"percent": _percent(Fraction(count, total)) if total else None}
        if noise is not None:
            others = opened - number
            low, high = max(number - reach, 0), max(number + reach, 0)
            most, least = max(others + rest, 0), max(others - rest, 0)
            ends = [Fraction(low, low + most) if low else Fraction(0), Fraction(high, high + least) if high else 1]
            share = Fraction(count, total) if total else ends[0]
            answer |= {"percent_low": _percent(min(*ends, share)), "percent_high": _percent(max(*ends, share))}
        answers.append(answer)
    return answers


def _percent(share: Fraction | int) -> float:
    return float(round(100 * Fraction(share), 6))
