"""The promise of each mechanism with a small law, exactly: no samples, no tolerance but the stated distance.

A law within `distance` of a private one keeps epsilon with a delta of (1 + e^epsilon) distance a sample, no more.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.analysis.losses import excess
from protocols.release.choice import choice_law
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law
from tests.support.exact_laws import chosen, shifted, together

EPSILONS = st.fractions(Fraction(1, 10), 4, max_denominator=20)
SECURITIES = st.integers(4, 40)


def allowed(law: Law, epsilon: Fraction, samples: int = 1) -> float:
    return float(samples * law.distance) * (1 + math.exp(epsilon)) * (1 + 1e-9)


@given(EPSILONS, st.integers(1, 5), SECURITIES, st.data())
@settings(deadline=None, max_examples=60)
def test_a_number_with_noise(epsilon: Fraction, sensitivity: int, security: int, data: st.DataObject) -> None:
    law = DiscreteLaplace(sensitivity / epsilon, security)
    moved = data.draw(st.integers(1, sensitivity))
    masses = law.probabilities()
    assert excess(shifted(masses, 7), shifted(masses, 7 + moved), float(epsilon)) <= allowed(law, epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("sensitivity", [1, 4])
def test_a_number_moved_farther_breaks_it(epsilon: Fraction, sensitivity: int) -> None:
    law = DiscreteLaplace(sensitivity / epsilon)
    masses = law.probabilities()
    broken = excess(masses, shifted(masses, sensitivity + 1), float(epsilon))
    assert broken > 1000 * allowed(law, epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_the_whole_epsilon_is_used(epsilon: Fraction) -> None:
    """Less noise would do for no smaller epsilon."""
    masses = DiscreteLaplace(1 / epsilon).probabilities()
    assert excess(masses, shifted(masses, 1), float(epsilon) * 0.99) > 1e-3


@given(EPSILONS, EPSILONS)
@settings(deadline=None, max_examples=15)
def test_two_answers_spend_the_sum(one: Fraction, two: Fraction) -> None:
    laws = [DiscreteLaplace(1 / epsilon, 6) for epsilon in (one, two)]
    here, there = (together(*(shifted(law.probabilities(), value) for law in laws)) for value in (5, 6))
    most = math.exp(one + two) * sum(allowed(law, epsilon) for law, epsilon in zip(laws, (one, two), strict=True))
    assert excess(here, there, float(one + two)) <= most


@pytest.mark.parametrize("group", [2, 4])
def test_a_group_spends_as_often_as_it_has_rows(group: int) -> None:
    law = DiscreteLaplace(Fraction(2))
    masses, epsilon = law.probabilities(), Fraction(1, 2)
    distance = allowed(law, group * epsilon)
    assert excess(masses, shifted(masses, group), float(group * epsilon)) <= distance
    assert excess(masses, shifted(masses, group), float((group - 1) * epsilon)) > 1000 * distance


SCORES = list(product(range(3), repeat=3))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_a_choice_among_scores_that_only_grow(epsilon: Fraction) -> None:
    """All scores of three candidates up to 2, and all neighbours: any of them one more."""
    law = choice_law(epsilon, 1, monotone=True, candidates=3, security=12)
    masses = law.probabilities()
    losses = [
        excess(
            chosen(scores, masses), chosen([a + b for a, b in zip(scores, more, strict=True)], masses), float(epsilon)
        )
        for scores in SCORES
        for more in product(range(2), repeat=3)
    ]
    assert max(losses) <= allowed(law, epsilon, samples=3)


MOVES = [move for move in product((-1, 0, 1), repeat=3) if min(move) < max(move)]


def worst(law: OneSidedGeometric, epsilon: Fraction) -> float:
    """The greatest excess over scores that a row moves by 1 either way."""
    masses = law.probabilities()
    cases = {scores: chosen(scores, masses) for scores in product(range(-1, 4), repeat=3)}
    return max(
        excess(cases[scores], cases[tuple(a + b for a, b in zip(scores, move, strict=True))], float(epsilon))
        for scores in SCORES
        for move in MOVES
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_a_choice_among_scores_that_move_both_ways(epsilon: Fraction) -> None:
    law = choice_law(epsilon, 1, monotone=False, candidates=3, security=12)
    assert worst(law, epsilon) <= allowed(law, epsilon, samples=3)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_the_monotone_rule_does_not_do_for_them(epsilon: Fraction) -> None:
    law = choice_law(epsilon, 1, monotone=True, candidates=3, security=12)
    assert worst(law, epsilon) > 100 * allowed(law, epsilon, samples=3)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=5))
@settings(deadline=None, max_examples=30)
def test_the_exact_law_of_a_choice_is_whole(scores: list[int]) -> None:
    law = chosen(scores, OneSidedGeometric(Fraction(1), 10).probabilities())
    assert sum(law.values()) == 1
    assert min(law.values()) > 0
