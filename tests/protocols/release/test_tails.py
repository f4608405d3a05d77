"""How far out noise lies, against its exact law."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from protocols.release.laplace import DiscreteLaplace
from protocols.release.tails import tail


@pytest.mark.parametrize("scale", ["0.05", "0.5", "1", "2", "7.3", "40"])
@pytest.mark.parametrize("delta", ["0.9", "0.49", "0.1", "0.068", "0.001", "0.000001"])
def test_the_least_place_beyond_which_less_than_delta_lies(scale: str, delta: str) -> None:
    law = DiscreteLaplace(Fraction(scale)).probabilities()
    place = tail(Fraction(scale), Fraction(delta))

    def beyond(least: int) -> Fraction:
        return sum((chance for value, chance in law.items() if value >= least), Fraction(0))

    assert beyond(place) <= Fraction(delta) + Fraction(1, 1 << 40)
    assert place == 0 or beyond(place - 1) > Fraction(delta) - Fraction(1, 1 << 40)


def test_the_threshold_of_the_notes_is_for_real_noise() -> None:
    """At this delta a whole number is above ln(1 / (2 delta)) more often than delta."""
    delta = Fraction("0.068")
    first_above = math.floor(math.log(1 / (2 * delta))) + 1
    law = DiscreteLaplace(Fraction(1)).probabilities()
    assert sum(chance for value, chance in law.items() if value >= first_above) > 1.4 * delta
    assert tail(Fraction(1), delta) == first_above + 1


def test_never_too_small_by_rounding() -> None:
    """delta is the tail itself, in doubles below or above it."""
    for place in range(1, 30):
        exact = Fraction(math.exp(-place)) / (1 + Fraction(math.exp(-1)))
        assert tail(Fraction(1), exact * (1 - Fraction(1, 10**14))) == place + 1
        assert tail(Fraction(1), exact * (1 + Fraction(1, 10**14))) == place
