"""Noise of Laplace's and of Gauss's law at the device: the weights as whole numbers, by themselves and by the papers.

The greatest ratio and the delta are enumerated over all points and places, in exact arithmetic. Samples have fixed
seeds; bounds of six deviations on some 100 figures fail a right program with probability below 1e-6.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from parties.alone.local.coins import Coins
from parties.alone.local.gauss import PARTS, GaussMean, delta_of, law_of
from parties.alone.local.laplace import LaplaceMean
from parties.alone.local.noise import WHOLE, NoisyMean, spread_out
from parties.alone.local.packing import from_bytes
from parties.alone.local.plan import LocalPlan
from smc.errors import InputError
from smc.primitives.prg import Prg


def laws(made: NoisyMean) -> list[list[int]]:
    """The weight of each place, for each point, from the definition."""
    moved, anywhere = made.law
    rows = []
    for point in range(made.steps + 1):
        row = [anywhere] * made.outcomes
        for place, weight in enumerate(moved.tolist()):
            row[point + place] += weight
        row[-1] += WHOLE - sum(row)
        rows.append(row)
    return rows


def exp(value: float) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(value).exp())


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 9), st.floats(0.05, 15))
def test_no_place_is_likelier_than_epsilon_allows(steps: int, epsilon: float) -> None:
    made = LaplaceMean(-1.0, 1.0, epsilon, steps)
    rows = laws(made)
    assert 0 <= rows[0][-1] - made.law[1] < made.outcomes  # what the last place has besides
    grown = exp(epsilon)
    for column in zip(*rows, strict=True):
        assert max(column) <= grown * min(column)
    worst = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    assert made.epsilon == pytest.approx(math.log(worst), rel=1e-12)
    assert epsilon * (1 - 1e-4) < made.epsilon <= epsilon


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 6), st.floats(0.3, 8), st.sampled_from([0.01, 1e-4, 1e-6, 1e-12]))
def test_delta_is_that_of_the_two_points_that_are_told_apart_best(steps: int, epsilon: float, delta: float) -> None:
    made = GaussMean(0.0, 1.0, epsilon, steps, requested_delta=delta)
    rows, grown = laws(made), exp(epsilon)
    deltas = {
        sum(max(0, p * grown.denominator - q * grown.numerator) for p, q in zip(one, other, strict=True))
        for one, other in permutations(rows, 2)
    }
    worst = Fraction(max(deltas), grown.denominator * WHOLE)
    assert worst <= made.delta <= delta
    assert made.delta == pytest.approx(float(worst), rel=1e-9, abs=1e-18)
    fewer = spread_out(law_of(steps, made.parts - 1), steps)
    assert delta_of(fewer, epsilon) > delta * (1 - 1e-9)  # so no smaller sigma would do


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_on_a_fine_grid_sigma_is_that_of_balle_and_wang(epsilon: float, delta: float) -> None:
    """Phi(1 / (2 s) - eps s) - e^eps Phi(-1 / (2 s) - eps s) = delta, of sensitivity 1 (their theorem 8)."""
    made = GaussMean(0.0, 1.0, epsilon, 256 if epsilon > 0.5 else 64, requested_delta=delta)
    low, high = 1e-3, 1e3
    while high - low > 1e-9 * low:
        middle = (low + high) / 2
        paper = norm.cdf(1 / (2 * middle) - epsilon * middle) - math.exp(epsilon) * norm.cdf(
            -1 / (2 * middle) - epsilon * middle
        )
        low, high = (middle, high) if paper > delta else (low, middle)
    assert made.parts / PARTS == pytest.approx(high, rel=2e-3)
    if epsilon < 1:  # the classical formula is for these
        assert made.parts / PARTS < math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@pytest.mark.parametrize(("steps", "epsilon"), [(2, 0.5), (8, 1.0), (64, 3.0)])
def test_laplace_noise_is_the_discrete_law(steps: int, epsilon: float) -> None:
    """P(z) = (1 - r) / (1 + r) r^|z|, of variance 2 r / (1 - r)^2, r = e^(-eps / n), as far as 2^-30 of the middle."""
    made, ratio = LaplaceMean(0.0, float(steps), epsilon, steps), math.exp(-epsilon / steps)
    places = np.arange(made.outcomes) - made.reach
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(places)
    near = law > law.max() * 2.0**-30
    assert made.chances[near] == pytest.approx(law[near], rel=2e-3)
    assert made.chances.sum() == pytest.approx(1, abs=1e-12)
    assert made.variance == pytest.approx(2 * ratio / (1 - ratio) ** 2 + 1 / 4, rel=1e-5)


def test_gauss_noise_is_the_discrete_law() -> None:
    made = GaussMean(0.0, 16.0, 1.0, 16, requested_delta=1e-6)
    sigma, places = 16 * made.parts / PARTS, np.arange(made.outcomes) - made.reach
    law = np.exp(-(places**2) / (2 * sigma**2))
    law /= law.sum()
    near = law > law.max() * 2.0**-30
    assert made.chances[near] == pytest.approx(law[near], rel=2e-3)
    assert made.variance == pytest.approx(
        sigma**2 + 1 / 4, rel=1e-5
    )  # a discrete one of so large a sigma has its square


class Chosen(Coins):
    """Coins that fall as they are told: a point is met exactly, the noise is these 64 bits."""

    drawn: Any = None

    def lasting(self, label: str, digests: Any, width: int) -> Any:
        if label == "point":
            return np.zeros((len(self.people), width), dtype=np.uint32)
        return np.stack([self.drawn >> np.uint64(32), self.drawn & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)


@pytest.mark.parametrize(
    "made", [LaplaceMean(0.0, 3.0, 12.0, 3), GaussMean(0.0, 3.0, 12.0, 3, requested_delta=1e-9)], ids=str
)
def test_all_words_in_turn_have_the_law(made: NoisyMean) -> None:
    """Where the place changes is known; between two changes one word stands for all, so the law is counted exactly."""
    moved, anywhere = made.law
    inside = np.cumsum(moved).tolist()
    starts = sorted({0, *inside, *(inside[-1] + anywhere * i for i in range(made.outcomes))})
    ends = [*starts[1:], WHOLE]
    for point, law in enumerate(laws(made)):
        counted = [0] * made.outcomes
        first, last = (
            from_bytes(made.report(np.full(len(words), float(point)), coins_of(words)))
            for words in (starts, [end - 1 for end in ends])
        )
        assert (first == last).all()
        for place, start, end in zip(first, starts, ends, strict=True):
            counted[place] += end - start
        assert counted == law


def coins_of(words: list[int]) -> Chosen:
    chosen = Chosen(np.arange(len(words), dtype=np.uint64), "test", bytes(16))
    chosen.drawn = np.array(words, dtype=np.uint64)
    return chosen


@pytest.mark.parametrize(
    "made", [LaplaceMean(-1.0, 1.0, 2.0, 4), GaussMean(-1.0, 1.0, 2.0, 4, requested_delta=1e-3)], ids=str
)
def test_samples_have_the_law(made: NoisyMean) -> None:
    rows = 200_000
    coins = Coins(np.arange(rows, dtype=np.uint64), "test", None, Prg(bytes(16)))
    reports = from_bytes(made.report(np.full(rows, 0.25), coins))  # between points 2 and 3
    expected = (np.array(laws(made)[2], dtype=np.float64) + np.array(laws(made)[3], dtype=np.float64)) / 2 / WHOLE
    seen = np.bincount(reports, minlength=made.outcomes) / rows
    assert (np.abs(seen - expected) <= 6 * np.sqrt(expected / rows) + 6 / rows).all()


def test_a_law_of_too_many_places_is_refused() -> None:
    table = {"question": "q", "low": 0, "high": 1, "epsilon": 0.01}
    for mechanism in ({"mechanism": "laplace"}, {"mechanism": "gauss", "delta": 1e-6}):
        with pytest.raises(InputError, match=r"64 steps at this epsilon take [0-9,]+ positions.*choose fewer steps"):
            LocalPlan.model_validate(table | mechanism).made()
    assert LocalPlan.model_validate(table | {"mechanism": "laplace", "steps": 4}).made().epsilon <= 0.01
    with pytest.raises(InputError, match="delta is missing: gauss needs"):
        LocalPlan.model_validate(table | {"mechanism": "gauss"}).made()
