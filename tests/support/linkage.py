"""The rule of a match of dirty keys, in the clear and in other words: for tests of `protocols.alignment`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from fractions import Fraction

from protocols.alignment.weights import Comparison

Texts = Sequence[str | None]
Pair = tuple[int, int]


def dice(left: str, right: str) -> Fraction:
    """Dice's coefficient of the bits that the pairs of letters choose."""
    sets = [
        {hashlib.sha256((a + b).encode()).digest()[0] & 127 for a, b in zip(f" {text}", f"{text} ", strict=True)}
        for text in (left, right)
    ]
    return Fraction(2 * len(sets[0] & sets[1]), len(sets[0]) + len(sets[1]))


def weight(comparisons: Sequence[Comparison], left: Texts, right: Texts) -> int:
    """The match weight of two rows."""
    found = 0
    for comparison, a, b in zip(comparisons, left, right, strict=True):
        if a is not None and b is not None:
            reached = (
                level.weight
                for level in comparison.levels
                if (a == b if level.least is None else dice(a, b) >= level.least)
            )
            found += next(reached, comparison.other)
    return found


def matched(
    comparisons: Sequence[Comparison],
    threshold: int,
    rows: tuple[Sequence[Texts], Sequence[Texts]],
    blocks: tuple[Sequence[Texts], Sequence[Texts]],
) -> list[Collection[Pair]]:
    """By rule the pairs that are each other's best partner; with equal weights several for a row."""
    free = [set(range(len(table))) for table in rows]
    found: list[Collection[Pair]] = []
    for left, right in zip(*blocks, strict=True):
        weights = {
            (i, j): weight(comparisons, rows[0][i], rows[1][j])
            for i in free[0]
            for j in free[1]
            if left[i] is not None and left[i] == right[j]
        }
        weights = {pair: value for pair, value in weights.items() if value >= threshold}
        best = {
            pair
            for pair, value in weights.items()
            if all(value >= other for one, other in weights.items() if one[0] == pair[0] or one[1] == pair[1])
        }
        found.append(best)
        for i, j in best:
            free[0].discard(i)
            free[1].discard(j)
    return found
