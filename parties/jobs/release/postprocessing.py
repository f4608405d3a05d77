"""Post-processing of opened numbers: local, equal at both parties, and without privacy loss."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from parties.jobs.release.noise import CONFIDENCE, Noise
from protocols.arrays import Counts

DIGITS = 9  # decimal digits of a number that are equal on every machine
EACH = 1 - (1 - CONFIDENCE) / 2  # confidence of a count's and of the others' interval each, so that both hold together


def consistent(noisy: Counts, max_sum: int) -> Counts:
    """Return the nonnegative counts nearest to noisy ones, in their shape and with their sum, cut to 0 ... `max_sum`.

    The counts are projected onto the nonnegative counts with that sum (Euclidean distance) and rounded. To set negative
    counts to 0 instead would raise every margin of a table. Margins of the result are sums of it, so they are
    consistent.

    Args:
        noisy: Noisy counts, any shape.
        max_sum: Upper bound on the sum.
    """
    flat = noisy.reshape(-1)
    total = min(max(int(flat.sum()), 0), max_sum)
    ordered = np.sort(flat)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(flat) + 1)
    positive = np.flatnonzero(ordered * counts > sums - total)  # indices of sorted counts that stay above 0
    if total == 0 or not positive.size:
        return np.zeros_like(noisy)
    kept = int(positive[-1]) + 1
    excess = int(sums[kept - 1]) - total  # subtracted from the first counts in equal parts
    lowered, rest = divmod(excess, kept)
    fitting = np.maximum(flat - lowered, 0)
    chosen = np.argsort(-flat, kind="stable")[:kept]
    fitting[chosen[kept - rest :]] -= 1  # the remainder: 1 each from the smallest of them
    return np.maximum(fitting, 0).reshape(noisy.shape)


def percentages(fitting: Counts, noisy: Counts, noise: Noise | None, terms: int = 1) -> list[dict[str, float | None]]:
    """Return each count's percentage of all (None if all are 0), with its interval if there is noise.

    The interval is proved: a share grows with its count and falls with the sum of the others, and with 95 % confidence
    both stay within the reach of their noise. So it is wider than an interval for the count alone.

    Args:
        fitting: Nonnegative counts.
        noisy: The counts as opened, before `fitting` was made from them.
        noise: Noise of each number; None if the counts are exact.
        terms: Noisy numbers that each count is the sum of.
    """
    total, opened = int(fitting.sum()), int(noisy.sum())
    answers: list[dict[str, float | None]] = []
    reach, others_reach = 0, 0
    if noise is not None:
        reach = noise.reach(terms, EACH)
        others_reach = noise.reach(terms * (noisy.size - 1), EACH) if noisy.size > 1 else 0
    for count, number in zip(fitting.tolist(), noisy.tolist(), strict=True):
        answer: dict[str, float | None] = {"percent": _percent(Fraction(count, total)) if total else None}
        if noise is not None:
            others = opened - number
            low, high = max(number - reach, 0), max(number + reach, 0)
            most, least = max(others + others_reach, 0), max(others - others_reach, 0)
            ends = [Fraction(low, low + most) if low else Fraction(0), Fraction(high, high + least) if high else 1]
            share = Fraction(count, total) if total else ends[0]
            answer |= {"percent_low": _percent(min(*ends, share)), "percent_high": _percent(max(*ends, share))}
        answers.append(answer)
    return answers


def _percent(share: Fraction | int) -> float:
    return float(round(100 * Fraction(share), 6))


def short(x: float) -> float:
    """Return a number with the digits that are equal on every machine."""
    return float(f"{x:.{DIGITS}g}")
