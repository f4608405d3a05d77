"""Exact laws of what is published, from the exact law of the noise: fractions, no samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate, combinations

import gmpy2

ExactLaw = dict[int, Fraction]
Chances = Mapping[object, Fraction]
MOST = Fraction(1, 1 << 38)  # that a circuit's law may add to delta


def power(epsilon: Fraction) -> Fraction:
    """A number just below e^epsilon."""
    with gmpy2.context(precision=256, round=gmpy2.RoundDown):
        numerator, denominator = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(epsilon))).as_integer_ratio()
    return Fraction(int(numerator), int(denominator))


def delta(one: Chances, other: Chances, epsilon: Fraction) -> Fraction:
    """What of the chances of either table is not e^epsilon times the other's: exactly, but for what rounds it up."""
    factor, none = power(epsilon), Fraction(0)
    sides = [(one, other), (other, one)]
    return max(sum((max(none, mass - factor * q.get(what, none)) for what, mass in p.items()), none) for p, q in sides)


def shifted(law: Mapping[int, Fraction], value: int) -> ExactLaw:
    """A number with noise."""
    return {value + noise: chance for noise, chance in law.items()}


def together(first: Mapping[int, Fraction], second: Mapping[int, Fraction], span: int = 1 << 20) -> ExactLaw:
    """Two independent numbers, published together: one outcome for each pair."""
    return {one * span + two: p * q for one, p in first.items() for two, q in second.items()}


def chosen(scores: Sequence[int], law: Mapping[int, Fraction], first: bool = False) -> ExactLaw:
    """The greatest score wins after independent noise from 0 up; of equals one at random, or the `first`."""
    top = max(law)
    masses = [law.get(noise, Fraction(0)) for noise in range(top + 1)]
    below = [Fraction(0), *accumulate(masses)]  # P[noise < g]

    def less_than(limit: int) -> Fraction:
        return below[min(max(limit, 0), top + 1)]

    result = {}
    for place, score in enumerate(scores):
        whole = Fraction(0)
        for noise, mass in enumerate(masses):
            ties = [mass]  # by the number of rivals that are equal
            for other, rival in enumerate(scores):
                if other != place:
                    less = less_than(score + noise - rival)
                    equal = less_than(score + noise - rival + 1) - less
                    if first:
                        less, equal = less + equal * (other > place), Fraction(0)
                    ties = [a * less + b * equal for a, b in zip([*ties, 0], [0, *ties], strict=True)]
            whole += sum((part / (count + 1) for count, part in enumerate(ties)), Fraction(0))
        result[place] = whole
    return result


def ranked(scores: Sequence[int], alpha: Fraction, most: int) -> dict[tuple[int, ...], Fraction]:
    """The first candidates in their order, with ideal noise on each score: P(noise = g) = (1 - alpha) alpha^g.

    Each candidate climbs from its score, a step at a time, and stops before each with probability 1 - alpha: who stops
    later is before who stops earlier, and of those who stop together the first. Nobody waits beyond the last score.
    """
    last = max(scores)

    @cache
    def orders(left: tuple[int, ...], level: int) -> dict[tuple[int, ...], Fraction]:
        if not left:
            return {(): Fraction(1)}
        able = [i for i in left if scores[i] <= level]
        found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for stopped in (some for size in range(len(able) + 1) for some in combinations(able, size)):
            chance = (1 - alpha) ** len(stopped) * alpha ** (len(able) - len(stopped))
            if level == last:
                if not stopped:
                    continue  # it begins anew
                chance /= 1 - alpha ** len(able)
            rest = tuple(i for i in left if i not in stopped)
            for order, share in orders(rest, min(level + 1, last)).items():
                found[order + stopped] += chance * share
        return found

    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for order, share in orders(tuple(range(len(scores))), min(scores)).items():
        law[order[:most]] += share
    return law
