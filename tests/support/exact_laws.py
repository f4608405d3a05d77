"""Exact laws of what is published, from the exact law of the noise: fractions, no samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate

ExactLaw = dict[int, Fraction]


def shifted(law: Mapping[int, Fraction], value: int) -> ExactLaw:
    """A number with noise."""
    return {value + noise: chance for noise, chance in law.items()}


def together(first: Mapping[int, Fraction], second: Mapping[int, Fraction], span: int = 1 << 20) -> ExactLaw:
    """Two independent numbers, published together: one outcome for each pair."""
    return {one * span + two: p * q for one, p in first.items() for two, q in second.items()}


def chosen(scores: Sequence[int], law: Mapping[int, Fraction]) -> ExactLaw:
    """The first candidate with the greatest score after independent noise from 0 up."""
    top = max(law)
    masses = [law.get(noise, Fraction(0)) for noise in range(top + 1)]
    below = [Fraction(0), *accumulate(masses)]  # P[noise < g]

    def less_than(limit: int) -> Fraction:
        return below[min(max(limit, 0), top + 1)]

    result = {}
    for place, score in enumerate(scores):
        whole = Fraction(0)
        for noise, mass in enumerate(masses):
            for other, rival in enumerate(scores):
                if other != place:
                    mass *= less_than(score + noise - rival + (other > place))
            whole += mass
        result[place] = whole
    return result
