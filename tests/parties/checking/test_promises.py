"""The promise of each mechanism with a small law, exactly: no samples, no tolerance but the stated distance.

A law within `distance` of a private one keeps epsilon with a delta of (1 + e^epsilon) distance a sample, no more.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.checking.statistics.losses import excess
from protocols.release.choice import choice_law
from protocols.release.gaussian import discrete_gaussian
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law
from protocols.release.response import offset_law
from tests.support.exact_laws import chosen, shifted, together

EPSILONS = st.fractions(Fraction(1, 10), 4, max_denominator=20)
SECURITIES = st.integers(4, 40)


def allowed(law: Law, epsilon: Fraction, samples: int = 1) -> float:
    return float(samples * law.distance) * (1 + math.exp(epsilon)) * (1 + 1e-9)


@given(EPSILONS, st.integers(1, 5), SECURITIES, st.data())
@settings(max_examples=60)
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
@settings(max_examples=15)
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
@settings(max_examples=30)
def test_the_exact_law_of_a_choice_is_whole(scores: list[int]) -> None:
    law = chosen(scores, OneSidedGeometric(Fraction(1), 10).probabilities())
    assert sum(law.values()) == 1
    assert min(law.values()) > 0


@given(EPSILONS, st.integers(2, 9))
@settings(max_examples=30)
def test_a_randomized_response(epsilon: Fraction, answers: int) -> None:
    law = offset_law(epsilon, answers)
    first, second = ({(truth + by) % answers: p for by, p in law.probabilities().items()} for truth in (0, 1))
    assert excess(first, second, float(epsilon)) <= allowed(law, epsilon)


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(7, 2), Fraction(20)])
@pytest.mark.parametrize("moved", [1, 3])
def test_gaussian_noise_by_its_rho(sigma: Fraction, moved: int) -> None:
    """rho = D^2 / (2 sigma^2) keeps (epsilon, e^(-(epsilon - rho)^2 / (4 rho))) for all epsilon (Bun, Steinke 2016)."""
    law = discrete_gaussian(sigma**2)
    masses, rho = law.probabilities(), float(moved**2 / (2 * sigma**2))
    for epsilon in (rho + step * math.sqrt(rho) for step in (0.5, 1, 2, 4, 8)):
        found = excess(masses, shifted(masses, moved), epsilon)
        delta = math.exp(-((epsilon - rho) ** 2) / (4 * rho))
        assert found <= delta + float(law.distance) * (1 + math.exp(epsilon))
        if sigma == 20:
            assert found == pytest.approx(continuous(20 / moved, epsilon), rel=0.02)


def continuous(ratio: float, epsilon: float) -> float:
    """The least delta of the continuous Gaussian with sigma / D = `ratio` (Balle, Wang 2018)."""
    below = NormalDist().cdf
    half, step = 1 / (2 * ratio), epsilon * ratio
    return below(half - step) - math.exp(epsilon) * below(-half - step)


def test_the_sigma_of_the_textbook_is_for_epsilon_below_one() -> None:
    """sqrt(2 ln(1.25 / delta)) / epsilon: enough at 0.9, and too little at 10."""
    delta = 1e-5
    for epsilon, enough in ((0.5, True), (0.9, True), (10.0, False)):
        variance = Fraction(2 * math.log(1.25 / delta) / epsilon**2).limit_denominator(10**9)
        masses = discrete_gaussian(variance).probabilities()
        assert (excess(masses, shifted(masses, 1), epsilon) <= delta) == enough
