"""The exponential mechanism: its circuit against whole numbers, its law against the power, its range by brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release.exponential import Powers, chosen, powers_for, split_scores
from smc.engines import Profile, engine_of, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.primitives import bits as bitpack

WIDTH = 9


def choose(scores: list[int], law: Powers, uniform: int, monkeypatch: pytest.MonkeyPatch, profile: str = "") -> int:
    """The candidate for one uniform number."""

    def party(session: Any) -> int:
        engine = engine_of(session, Profile(profile, "ferret")) if profile else make_engine(session, "clear")
        monkeypatch.setattr(
            type(engine),
            "random",
            lambda self, width, batch: self.constant(bitpack.from_integers([uniform] * batch, width)),
        )
        secrets = engine.constant(bitpack.from_integers(scores, WIDTH))
        return chosen(engine, split_scores(engine, secrets, law), law)

    one, other = run_local(party)
    assert one == other
    return one


def expected(scores: list[int], law: Powers, uniform: int) -> int:
    """The same in whole numbers."""
    last = law.last(len(scores))
    top = max(scores) >> law.fraction
    cut = (1 << min(max(1, WIDTH - law.fraction), last.bit_length())) - 1
    weights = [
        law.mantissa(score & ((1 << law.fraction) - 1)) << cut >> gap
        if (gap := top - (score >> law.fraction)) <= cut
        else 0
        for score in scores
    ]
    rest = uniform * sum(weights) >> last
    for place, weight in enumerate(weights):
        if rest < weight:
            return place
        rest -= weight
    raise AssertionError("the part is below the sum")


@settings(max_examples=25)
@given(st.lists(st.integers(0, (1 << WIDTH) - 1), min_size=1, max_size=9), st.integers(0, 8), st.data())
def test_the_circuit_is_what_whole_numbers_say(scores: list[int], fraction: int, data: st.DataObject) -> None:
    law = Powers(fraction, data.draw(st.integers(3, 5)), 6)
    uniform = data.draw(st.integers(0, (1 << law.last(len(scores))) - 1))
    with pytest.MonkeyPatch.context() as patch:
        assert choose(scores, law, uniform, patch) == expected(scores, law, uniform)


@pytest.mark.parametrize("profile", ["yao", "gmw"])
def test_real_engines_choose_alike(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, law = [40, 200, 180, 199, 17, 201, 90], Powers(4, 3, 6)
    for uniform in (100, 700, 1000):
        assert choose(scores, law, uniform, monkeypatch, profile) == expected(scores, law, uniform)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=6), st.integers(0, 4))
def test_the_law_of_all_random_bits_is_the_ideal_one_within_its_distance(scores: list[int], fraction: int) -> None:
    law = Powers(fraction, 3, 5)
    bits = law.last(len(scores))
    counts = np.bincount([expected(scores, law, uniform) for uniform in range(1 << bits)], minlength=len(scores))
    ideal = law.probabilities(scores)
    apart = sum(abs(Fraction(int(count), 1 << bits) - p) for count, p in zip(counts, ideal, strict=True)) / 2
    assert apart <= Fraction(1, 1 << law.security)


@pytest.mark.parametrize("table", [3, 4, 6])
def test_weights_are_powers_of_two_within_what_is_told(table: int) -> None:
    """All fractions: the quotient to the true power, in logarithms, stays in an interval of half the slack."""
    for fraction in (0, 2, table, table + 3):
        law = Powers(fraction, table)
        exact = [law.precision * math.log(2) + f / (1 << fraction) * math.log(2) for f in range(1 << fraction)]
        wrong = [math.log(law.mantissa(f)) - one for f, one in enumerate(exact)]
        assert max(wrong) - min(wrong) <= float(law.range(0)) / 2
        assert law.weight(3 << fraction) == law.weight(0) << 3


@pytest.mark.parametrize("change", [1, 2])
def test_the_range_of_all_small_neighbours_is_bounded(change: int) -> None:
    """All scores of three candidates, all that one row makes of them: factors of all outcomes lie within the range.

    And the bound is met: 99 % of it is what the worst of these neighbours show.
    """
    law, worst = Powers(2, 8), 1.0
    moves = list(product(range(-change, change + 1), repeat=3))
    for scores in product(range(change, change + 6), repeat=3):
        before = law.probabilities(scores)
        for move in moves:
            after = law.probabilities([q + d for q, d in zip(scores, move, strict=True)])
            factors = [new / old for new, old in zip(after, before, strict=True)]
            worst = max(worst, float(max(factors) / min(factors)))
    bound = float(law.range(change))
    assert 0.99 * bound < math.log(worst) <= bound


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 3)])
@pytest.mark.parametrize("factor", [1, 2])
def test_a_choice_spends_an_eighth_of_its_squared_range(epsilon: Fraction, factor: int) -> None:
    """Renyi's divergence of many orders, of two candidates that move by all they may: at most order epsilon^2 / 8.

    With weights of twice the range it is more.
    """
    law, most = powers_for(epsilon, 1)
    most *= factor
    spent = []
    for apart, order in product(range(-20 * most, 20 * most, most), (1.01, 2, 8, 40)):
        before, after = (
            np.array([float(p) for p in law.probabilities([21 * most + move, 21 * most + apart - move])])
            for move in (0, most)
        )
        spent.append(math.log(float((before**order * after ** (1 - order)).sum())) / (order - 1) / order)
    assert (max(spent) <= float(epsilon) ** 2 / 8) == (factor == 1)
    assert max(spent) > 0.9 * factor**2 * float(epsilon) ** 2 / 8


def test_an_epsilon_is_met_and_never_passed() -> None:
    for epsilon, moved in product((Fraction(1, 5000), Fraction(1, 33), Fraction(7, 10), Fraction(9)), (1, 2, 6)):
        law, most = powers_for(epsilon, moved)
        assert Fraction(97, 100) * epsilon < law.range(most * moved) <= epsilon
    with pytest.raises(InputError, match="too small"):
        powers_for(Fraction(1, 10**9), 1)
