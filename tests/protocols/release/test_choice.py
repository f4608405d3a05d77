"""The exact law of a noisy choice: by all random bits, by its formula, against permute-and-flip and its promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import TypeVar

import numpy as np
import pytest

from protocols.release.choice import choice_law, noisy_argmax, noisy_choice
from protocols.release.geometric import OneSidedGeometric
from smc.circuit import Builder, Form, evaluate
from smc.engines import make_engine
from smc.local import run_local
from smc.primitives import bits as bitpack
from smc.session import Session

ALPHA = Fraction(2, 5)
Chances = list[Fraction]
Number = TypeVar("Number", Fraction, float)


def by_threshold(scores: Sequence[int], alpha: Number) -> list[Number]:
    """The law of the argmax with ideal geometric noise, first among equals, from the proof's own words.

    i wins iff g_i >= s. Summed over where i ends: P(q_i + g_i = m) times that all before stay below m, all after do not
    exceed it. Beyond the greatest score the sum over m is that of a product of geometric sequences: here cut at the
    end of a range that leaves nothing but 10^-30.
    """
    top = max(scores) + math.ceil(30 * math.log(10) / -math.log(alpha))
    chances = []
    for i, own in enumerate(scores):
        total = 0 * alpha
        for m in range(own, top + 1):
            mass = (1 - alpha) * alpha ** (m - own)
            for j, other in enumerate(scores):
                if j != i:  # P(q_j + g_j < m) or <= m
                    mass *= 1 - alpha ** max(m - other + (j > i), 0)
            total += mass
        chances.append(total)
    return chances


def permute_and_flip(scores: Sequence[int], alpha: Fraction) -> Chances:
    """McKenna, Sheldon 2020, algorithm 1: in random order, take the first whose coin of bias alpha^(q* - q) falls 1."""
    best, orders = max(scores), list(permutations(range(len(scores))))
    chances = [Fraction(0)] * len(scores)
    for order in orders:
        reached = Fraction(1, len(orders))
        for i in order:
            taken = alpha ** (best - scores[i])
            chances[i] += reached * taken
            reached *= 1 - taken
    return chances


def exponential(scores: Sequence[float], base: float) -> list[float]:
    weights = [base**score for score in scores]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("scores", [(0, 0), (2, 0, 1), (1, 1, 0, 1), (0, 3, 3), (5,)], ids=str)
def test_in_a_random_order_the_choice_is_permute_and_flip(scores: tuple[int, ...]) -> None:
    orders = list(permutations(range(len(scores))))
    mean = [Fraction(0)] * len(scores)
    for order in orders:
        for i, chance in zip(order, by_threshold([scores[i] for i in order], ALPHA), strict=True):
            mean[i] += chance / len(orders)
    for ours, theirs in zip(mean, permute_and_flip(scores, ALPHA), strict=True):
        assert abs(ours - theirs) < Fraction(1, 10**29)


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize("scores", [(0, 0), (1, 0, 1), (0, 2, 1)], ids=str)
def test_the_circuit_has_the_law_of_its_coins(form: Form, scores: tuple[int, ...]) -> None:
    law = OneSidedGeometric(Fraction(1), 1)
    width = len(scores) * law.bits
    builder = Builder(form)
    random = builder.input(width)
    noises = [law.draw(random[i * law.bits : (i + 1) * law.bits]) for i in range(len(scores))]
    builder.output(noisy_argmax([builder.constant(score) for score in scores], noises))
    everything = bitpack.from_integers(np.arange(1 << width, dtype=np.uint64), width)
    (chosen,) = evaluate(builder.build(), [everything])
    found = np.bincount(bitpack.to_words(chosen).astype(np.int64), minlength=len(scores))
    expected = [Fraction(0)] * len(scores)
    for noise in product(law.probabilities().items(), repeat=len(scores)):
        sums = [score + value for score, (value, _) in zip(scores, noise, strict=True)]
        expected[sums.index(max(sums))] += math.prod(mass for _, mass in noise)
    assert [Fraction(int(count), 1 << width) for count in found] == expected


def worst_ratio(scores: Sequence[int], step: Sequence[int], alpha: Fraction) -> Fraction:
    before = by_threshold(scores, alpha)
    after = by_threshold([score + change for score, change in zip(scores, step, strict=True)], alpha)
    return max(max(p / q, q / p) for p, q in zip(before, after, strict=True))


def test_no_row_moves_a_chance_by_more_than_the_promise() -> None:
    """Over all scores up to 2 of three candidates: one direction costs alpha^-1, both directions alpha^-2 at most."""
    slack = 1 + Fraction(1, 10**25)  # the reference's own cut
    for scores in product(range(3), repeat=3):
        assert max(worst_ratio(scores, step, ALPHA) for step in product((0, 1), repeat=3)) <= slack / ALPHA
    worst = max(worst_ratio(scores, step, ALPHA) for scores in [(2, 2, 0)] for step in product((-1, 0, 1), repeat=3))
    assert 1 / ALPHA < worst <= slack / ALPHA**2  # so the factor 2 is needed where scores are not monotone


def test_the_scale_follows_the_sensitivity_and_the_number_of_candidates() -> None:
    assert choice_law(Fraction(1, 2), 3, True, 1) == OneSidedGeometric(Fraction(6), 40)
    assert choice_law(Fraction(1, 2), 3, False, 1024) == OneSidedGeometric(Fraction(12), 50)
    assert choice_law(Fraction(1, 2), 3, False, 1025).distance * 1025 <= Fraction(1, 1 << 40)


def test_the_price_example_of_the_notes() -> None:
    """Offers of 1, 1 and 3.01; revenue u(1) = 3, u(3.01) = 3.01, u(3.02) = 0; a customer moves it by 3.02 at most.

    The exponential mechanism e^(epsilon u / (2 D)) beside ours at the same epsilon: ours loses no more on average.
    """
    prices, offers = (100, 301, 302), (100, 100, 301)
    revenue = [price * sum(offer >= price for offer in offers) for price in prices]
    assert revenue == [300, 301, 0]
    sensitivity, epsilon = 302, Fraction(1)
    theirs = exponential(revenue, math.exp(epsilon / (2 * sensitivity)))
    assert [round(chance, 4) for chance in theirs] == [0.3831, 0.3837, 0.2331]
    # Adding a customer raises every revenue or leaves it: monotone, so the 2 goes.
    for monotone in (False, True):
        law = choice_law(epsilon, sensitivity, monotone, len(prices))
        ours = by_threshold(revenue, math.exp(-1 / law.scale))
        assert abs(sum(ours) - 1) < 1e-12
        losses = [sum(p * (301 - u) for p, u in zip(ps, revenue, strict=True)) for ps in (ours, theirs)]
        assert losses[0] < losses[1]


@pytest.mark.parametrize("comfortable", [1, 60, 1 << 24])
def test_many_instances_are_cut_into_pieces_that_fit(comfortable: int) -> None:
    """Of each the greatest sum wins, whichever piece it is in."""
    own = np.random.default_rng(1).integers(0, 8, (2, 5, 11))

    def program(session: Session) -> list[int]:
        engine = make_engine(session, "clear")
        engine.comfortable = comfortable
        return noisy_choice(engine, own[session.party], 3, None).tolist()

    left, right = run_local(program, kernels=())
    assert left == right == own.sum(axis=0).argmax(axis=0).tolist()
