"""Numbers that the lecture notes print, or should have printed, against what this program computes."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from parties.checking.statistics.losses import excess, guessing_limit
from protocols.release.choice import choice_law
from protocols.release.response import offset_law
from tests.support.exact_laws import ExactLaw
from tests.support.places import ROOT

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


def test_what_epsilon_eight_permits() -> None:
    """Note 000: e^8 = 2981, so that 1 and 0.0003 would be near enough."""
    assert round(math.exp(8)) == 2981
    assert round(1 / math.exp(8), 4) == 0.0003


def test_the_table_of_epsilons_in_the_document() -> None:
    """docs/release-guarantee.md: the factor, and half of the most that p + q can be (note 004)."""
    text = (ROOT / "docs" / "release-guarantee.md").read_text()
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


def response(epsilon: Fraction, answers: int) -> list[ExactLaw]:
    """The exact law of the answer to each truth."""
    offsets = offset_law(epsilon, answers).probabilities()
    return [{(truth + offset) % answers: chance for offset, chance in offsets.items()} for truth in range(answers)]


LN_3 = Fraction(math.log(3))


def test_randomized_response_with_fair_coins() -> None:
    """3/4 of the truth, 1/4 of the other: epsilon = ln 3. (Note 000 prints P(No | yes) = 1/2: it is 1/4.)"""
    heads, tails = 1 * Fraction(1, 2) + Fraction(1, 2) * Fraction(1, 2), 0 * Fraction(1, 2) + Fraction(1, 4)
    assert (heads, tails, heads + tails) == (Fraction(3, 4), Fraction(1, 4), 1)
    no, yes = response(LN_3, 2)
    for law, truth in ((no, 0), (yes, 1)):
        assert float(law[truth]) == pytest.approx(0.75, abs=1e-12)
        assert float(law[1 - truth]) == pytest.approx(0.25, abs=1e-12)
    assert excess(no, yes, math.log(3)) < 1e-11
    assert excess(no, yes, math.log(2.99)) > 1e-4


@pytest.mark.parametrize("told", [0.1, 0.5, 0.9])
def test_randomized_response_with_biased_coins(told: float) -> None:
    """With probability q the truth, else a fair coin: epsilon = ln((1 + q) / (1 - q))."""
    epsilon = math.log((1 + told) / (1 - told))
    no, yes = response(Fraction(epsilon), 2)
    assert float(yes[1]) == pytest.approx(told + (1 - told) / 2, abs=1e-12)
    assert excess(no, yes, epsilon) < 1e-11
    assert excess(no, yes, epsilon * 0.99) > 1e-4


@pytest.mark.parametrize("truth", [0.0, 0.2, 1.0])
def test_the_share_that_the_answers_tell(truth: float) -> None:
    """(x - 0.25) / 0.5 of a share x of "yes" is the true share, on the average."""
    no, yes = response(LN_3, 2)
    answered = truth * float(yes[1]) + (1 - truth) * float(no[1])
    assert (answered - 0.25) / 0.5 == pytest.approx(truth, abs=1e-11)


@pytest.mark.parametrize("answers", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_randomized_response_with_several_answers(answers: int, epsilon: Fraction) -> None:
    """e^epsilon / (e^epsilon + k - 1) of the truth, 1 / (e^epsilon + k - 1) of each other."""
    laws = response(epsilon, answers)
    whole = math.exp(epsilon) + answers - 1
    assert float(laws[1][1]) == pytest.approx(math.exp(epsilon) / whole, abs=1e-12)
    assert [float(laws[1][other]) for other in range(answers) if other != 1] == pytest.approx(
        [1 / whole] * (answers - 1), abs=1e-12
    )
    assert all(excess(one, other, float(epsilon)) < 1e-9 for one in laws for other in laws)


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
