"""The examiner of privacy promises: it sees what is there, and no more than its error allows.

Every seed is fixed, so a test passes always or never; each examination has a false-alarm rate of 1e-9 besides.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.checking.statistics.losses import Outcomes, examine, excess, guessing_limit

SAMPLES = 100_000


def laplace(epsilon: float, value: int, seed: int, samples: int = SAMPLES) -> Outcomes:
    """An independent discrete Laplace: the difference of two geometric numbers."""
    generator = np.random.default_rng(seed)
    one, two = generator.geometric(1 - math.exp(-epsilon), (2, samples))
    return value + one - two


def law(alpha: Fraction, value: int, reach: int) -> dict[int, Fraction]:
    """The same, exactly, cut off at `reach` and scaled up again."""
    weights = {value + i: alpha ** abs(i) for i in range(-reach, reach + 1)}
    whole = sum(weights.values(), Fraction(0))
    return {outcome: weight / whole for outcome, weight in weights.items()}


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_a_kept_promise_is_nearly_reached_and_never_passed(epsilon: float) -> None:
    found = examine(laplace(epsilon, 7, 1), laplace(epsilon, 8, 2), epsilon)
    assert found.holds
    assert found.loss > epsilon - 0.2
    assert found.guess.recognised + found.guess.rejected == pytest.approx(found.guess.allowed, abs=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_a_broken_promise_is_seen_in_both_ways(epsilon: float) -> None:
    found = examine(laplace(2 * epsilon, 7, 1), laplace(2 * epsilon, 8, 2), epsilon)
    assert found.loss > epsilon
    assert found.guess.least > found.guess.allowed
    assert not found.holds


def test_a_loss_is_seen_whichever_table_shows_it() -> None:
    """An outcome that only one neighbour can have, once in a hundred: nothing for a guesser, all for the loss."""
    rare = np.where(np.random.default_rng(3).random(SAMPLES) < 0.01, 9, laplace(0.5, 0, 4))
    other = laplace(0.5, 0, 5)
    other[other == 9] = 8
    for first, second in ((rare, other), (other, rare)):
        found = examine(first, second, 1.0)
        assert found.loss > 1.0
        assert found.guess.least < found.guess.allowed


def test_delta_forgives_what_it_covers() -> None:
    rare = np.where(np.random.default_rng(3).random(SAMPLES) < 0.01, 99, laplace(0.5, 0, 4))
    assert examine(rare, laplace(0.5, 0, 5), 1.0, delta=0.02).holds
    assert not examine(rare, laplace(0.5, 0, 5), 1.0, delta=0.001).holds


def test_numbers_that_are_published_together() -> None:
    """Each of two keeps 0.75, both together 1.5."""
    tables = [
        np.stack([laplace(0.75, value, seed), laplace(0.75, value, seed + 9)], 1) for value, seed in ((5, 1), (6, 2))
    ]
    assert all(examine(tables[0][:, i], tables[1][:, i], 0.75).holds for i in (0, 1))
    assert examine(*tables, 1.5).holds
    assert not examine(*tables, 0.75).holds


def test_equal_tables_show_nothing() -> None:
    found = examine(laplace(1, 5, 1), laplace(1, 5, 2), 0.01)
    assert found.holds
    assert found.loss == 0.0


def test_outcomes_that_share_nothing() -> None:
    found = examine(np.zeros(1000, np.int64), np.ones(1000, np.int64), 1.0)
    assert (found.guess.recognised, found.guess.rejected) == (1.0, 1.0)
    assert not found.holds


def test_false_alarms_are_as_rare_as_stated() -> None:
    """At an error of 1/20, of 200 examinations of a mechanism that spends all it may, no more than 30 may fail.

    P[more than 30 of 200 | 1/20 each] < 1e-6 (binomial).
    """
    alarms = sum(
        not examine(laplace(1, 0, 2 * i, 2000), laplace(1, 1, 2 * i + 1, 2000), 1.0, error=0.05).holds
        for i in range(200)
    )
    assert alarms <= 30


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="as many outcomes"):
        examine(np.zeros(10, np.int64), np.zeros(11, np.int64), 1.0)


@pytest.mark.parametrize(("epsilon", "limit"), [(0.0, 1.0), (math.log(3), 1.5), (50.0, 2.0)])
def test_what_a_guesser_may_reach(epsilon: float, limit: float) -> None:
    assert guessing_limit(epsilon) == pytest.approx(limit)


@given(st.integers(2, 9), st.integers(1, 8))
def test_the_exact_excess_of_a_law_that_is_cut_off(numerator: int, reach: int) -> None:
    """It is nothing at the law's own epsilon, but for the outcome that the neighbour cannot have."""
    alpha = Fraction(numerator, 10)
    first, second = law(alpha, 0, reach), law(alpha, 1, reach)
    assert excess(first, second, -math.log(alpha)) == pytest.approx(float(first[-reach]), rel=1e-9)
    assert excess(first, first, 0.0) == 0.0


def test_the_excess_counts_both_directions() -> None:
    first = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    second = {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    assert excess(first, second, math.log(2)) == excess(second, first, math.log(2)) == 0.25
