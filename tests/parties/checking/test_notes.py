"""Numbers that the lecture notes print, or should have printed, against what this program computes."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from parties.analysis.losses import guessing_limit
from protocols.release.choice import choice_law
from tests.support.places import ROOT

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


def test_what_epsilon_eight_permits() -> None:
    """Note 000: e^8 = 2981, so that 1 and 0.0003 would be near enough."""
    assert round(math.exp(8)) == 2981
    assert round(1 / math.exp(8), 4) == 0.0003


def test_the_table_of_epsilons_in_the_document() -> None:
    """docs/release.md: the factor, and half of the most that p + q can be (note 004)."""
    text = (ROOT / "docs" / "release.md").read_text()
    rows = re.findall(r"^\| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) % \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["0.1", "0.5", "1", "2", "4", "8"]
    for epsilon, factor, guess in rows:
        assert float(factor) == pytest.approx(math.exp(float(epsilon)), rel=5e-3)
        assert float(guess) == pytest.approx(50 * guessing_limit(float(epsilon)), abs=0.05)


def test_the_guesser_of_note_004() -> None:
    """p + q <= 2 e^epsilon / (1 + e^epsilon): 1, a toss, at epsilon 0, and 2, all right, beyond all bounds."""
    assert guessing_limit(0.0) == 1.0
    assert guessing_limit(100.0) == pytest.approx(2.0)
    assert guessing_limit(math.log(3)) == pytest.approx(2 * 3 / 4)


PRICES = (1.0, 3.01, 3.02)
BUYERS = (1.0, 1.0, 3.01)


def revenue(price: float, buyers: tuple[float, ...] = BUYERS) -> float:
    return price * sum(limit >= price for limit in buyers)


def test_the_price_that_three_buyers_pay() -> None:
    """Note 000: u(1) = 3, u(3.01) = 3.01, u(3.02) = 0; one step too far loses all: no use for noise on a price."""
    assert [revenue(price) for price in PRICES] == [3.0, 3.01, 0.0]


@pytest.mark.parametrize("epsilon", [1, 4])
def test_our_choice_of_a_price_and_the_exponential_mechanism(epsilon: int) -> None:
    """Exact probabilities over {1, 3.01, 3.02}, in cents; a buyer moves a revenue by 3.02 at most.

    The notes' mechanism is exp(epsilon u / (2 D)), normalised. Ours, with the candidates in a random order, is
    permute-and-flip, and its expected revenue is never less.
    """
    cents = np.array([round(100 * revenue(price)) for price in PRICES])
    weights = np.exp(epsilon * cents / (2 * 302))
    exponential = weights / weights.sum()
    ours = np.zeros(3)
    masses = choice_law(Fraction(epsilon), 302, monotone=False, candidates=3).probabilities()
    noise = np.array([float(masses[g]) for g in range(len(masses))])
    for order in permutations(range(3)):
        ours[list(order)] += winners(cents[list(order)], noise) / 6
    assert ours == pytest.approx(permute_and_flip(weights / weights.max()), abs=1e-9)
    assert ours @ cents >= exponential @ cents
    assert np.max(np.abs(np.log(ours / exponential))) < epsilon  # neither is much else than the other


def winners(scores: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Who wins, the first among equals, with independent noise of this law."""
    below = np.concatenate([[0.0], np.cumsum(noise)])
    values = np.arange(len(noise))
    chances = []
    for i, score in enumerate(scores):
        rest = [
            below[np.clip(score + values - other + (j > i), 0, len(noise))] for j, other in enumerate(scores) if j != i
        ]
        chances.append(float(np.sum(noise * np.prod(rest, axis=0))))
    return np.array(chances)


def permute_and_flip(keep: np.ndarray) -> np.ndarray:
    """Candidates in a random order; the first whose coin of bias exp(epsilon (u - max u) / (2 D)) falls 1."""
    chances = np.zeros(len(keep))
    orders = list(permutations(range(len(keep))))
    for order in orders:
        still = 1.0
        for candidate in order:
            chances[candidate] += still * keep[candidate] / len(orders)
            still *= 1 - keep[candidate]
    return chances


def moved_by_one_value(function: object, size: int) -> float:
    """The most that a statistic of so many values on a grid in [0, 1] changes when one of them does."""
    assert callable(function)
    worst = 0.0
    for rest in combinations_with_replacement(GRID, size - 1):
        values = [function(np.array([*rest, value])) for value in GRID]
        worst = max(worst, max(values) - min(values))
    return worst


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_how_far_one_row_moves_a_statistic(size: int) -> None:
    """Note 004: a mean (b - a) / n, a standard deviation at most 1 / sqrt n; maximum and median not less than 1/2."""
    assert moved_by_one_value(np.mean, size) == pytest.approx(1 / size)
    assert moved_by_one_value(np.std, size) <= 1 / math.sqrt(size) + 1e-12
    assert moved_by_one_value(np.max, size) == 1.0
    assert moved_by_one_value(np.median, size) == (1.0 if size % 2 else 0.5)
