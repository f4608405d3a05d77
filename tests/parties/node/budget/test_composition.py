"""What uses come to: the notes' numbers, exact sums, and OpenDP's own composition beside them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp import combinators, domains, measurements, measures, metrics, mod

from parties.jobs.spending import ConcentratedLoss, Loss, PureLoss, best_order, exact, rho_within
from parties.node.budget.composition import (
    Composition,
    advanced,
    composed,
    epsilon_at,
    epsilon_of,
    most_pure,
    renyi_of,
    room_at,
)
from tests.support.concentrated import epsilon_of_rho

mod.enable_features("contrib", "honest-but-curious")
SPACE = domains.atom_domain(T="i32"), metrics.absolute_distance(T="i32")
DELTA = Fraction(1, 10**7)

LOSSES = st.decimals("0.001", "2", places=3).map(Fraction)
PURE = st.builds(PureLoss, st.just("count"), LOSSES, times=st.integers(1, 5))
GAUSSIAN = st.builds(ConcentratedLoss, st.just("sum"), LOSSES, delta=st.sampled_from([exact(0.0), exact(1e-12)]))


def mechanism(use: Loss) -> Any:
    """A use as a measurement of OpenDP's, with rho as its loss."""
    each = float(use.amount)
    if isinstance(use, ConcentratedLoss):
        measure, loss = measures.zero_concentrated_divergence(), lambda rows: each * rows**2
        return measurements.make_user_measurement(*SPACE, measure, lambda _: 0, loss, TO="i32")
    pure = measurements.make_user_measurement(
        *SPACE, measures.max_divergence(), lambda _: 0, lambda rows: each * rows, TO="i32"
    )
    return combinators.make_pureDP_to_zCDP(pure)


def test_sequential_composition_adds() -> None:
    """Note 000: two mechanisms with e1 and e2 keep e1 + e2."""
    assert composed([PureLoss("a", exact(0.3)), PureLoss("b", exact(0.7))]).epsilon == 1


def test_a_group_pays_for_each_of_its_rows() -> None:
    """A family of four pays 4 epsilon, and 16 rho; a delta grows with e^epsilon."""
    loss = composed([PureLoss("a", exact(0.5), delta=exact(1e-9)), ConcentratedLoss("b", exact(0.1))], group=4)
    assert loss.epsilon == 2
    assert loss.rho == Fraction(16, 10)
    assert float(loss.delta) == pytest.approx(1e-9 * sum(math.exp(0.5 * i) for i in range(4)))


def test_a_row_replaced_is_one_removed_and_one_added() -> None:
    uses = [PureLoss("a", exact(0.5)), PureLoss("b", exact(0.25), adjacency="replace")]
    assert composed(uses).epsilon == Fraction(3, 4)
    assert composed(uses, "replace").epsilon == Fraction(5, 4)


def test_a_histogram_costs_one_epsilon_and_so_many_counts_a_share_each() -> None:
    """Notes: m counts have epsilon / m each; the cells of a histogram, which are disjoint, one together."""
    counts = composed([PureLoss("count", exact(0.2), times=5)])
    histogram = composed([PureLoss("histogram", exact(1.0))])
    assert counts.epsilon == histogram.epsilon == 1


def test_advanced_composition_beside_opendp() -> None:
    """100 uses of 0.1: 10 in sequence, 6.7 by the theorem of the lecture, less by rho as OpenDP converts it."""
    loss = composed([PureLoss("count", exact(0.1), times=100)])
    book = 0.1 * math.sqrt(2 * 100 * math.log(1e7)) + 100 * 0.1 * math.expm1(0.1)
    theorem = advanced(loss, DELTA)
    assert theorem is not None
    assert theorem == pytest.approx(book, rel=1e-12)
    assert loss.epsilon == 10
    assert epsilon_at(loss.concentrated, DELTA) < theorem < 10


def test_what_is_not_pure_has_no_advanced_composition() -> None:
    assert advanced(composed([ConcentratedLoss("sum", exact(0.1))]), DELTA) is None
    assert advanced(composed([PureLoss("count", exact(0.1))]), Fraction(0)) is None


@settings(max_examples=30)
@given(st.lists(st.one_of(PURE, GAUSSIAN), min_size=1, max_size=6), st.integers(1, 4))
def test_rho_is_what_opendp_composes(uses: list[Loss], group: int) -> None:
    each = [mechanism(use) for use in uses for _ in range(use.times)]
    theirs = combinators.make_composition(each)
    ours = composed(uses, group=group).concentrated
    assert float(ours) == pytest.approx(theirs.map(group), rel=1e-9)
    assert ours <= Fraction(theirs.map(group)) * (1 + Fraction(1, 10**15))
    profile = combinators.make_zCDP_to_approxDP(theirs).map(group)
    assert epsilon_at(ours, DELTA) == pytest.approx(profile.epsilon(1e-7), rel=1e-9)
    fixed = combinators.make_fix_delta(combinators.make_zCDP_to_approxDP(theirs), 1e-7).map(group)
    assert fixed == (pytest.approx(epsilon_at(ours, DELTA), rel=1e-9), 1e-7)


@given(st.lists(st.one_of(PURE, GAUSSIAN), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_questions_never_changes_the_price(uses: list[Loss], chance: random.Random) -> None:
    """Not in the last digit: in whatever order, and whether a use is asked for at once or one after the other."""
    shuffled = [replace(use, times=1) for use in uses for _ in range(use.times)]
    chance.shuffle(shuffled)
    one, other = composed(uses), composed(shuffled)
    assert (one.epsilon, one.rho, one.squares, one.delta) == (other.epsilon, other.rho, other.squares, other.delta)
    pieces = sum((composed([use]) for use in shuffled), start=Composition())
    assert (pieces.epsilon, pieces.concentrated, pieces.delta) == (one.epsilon, one.concentrated, one.delta)


def test_ten_tenths_are_one() -> None:
    """OpenDP's own sum of doubles is above 1, and a budget of 1 would refuse the tenth question."""
    assert composed([PureLoss("count", exact(0.1))] * 10).epsilon == 1
    tenth = measurements.make_user_measurement(
        *SPACE, measures.max_divergence(), lambda _: 0, lambda rows: 0.1 * rows, TO="i32"
    )
    assert combinators.make_composition([tenth] * 10).map(1) > 1


def test_the_conversion_needs_a_delta() -> None:
    assert epsilon_at(Fraction(0), Fraction(0)) == 0.0
    assert epsilon_at(Fraction(1), Fraction(0)) == math.inf


MIXED = st.lists(st.one_of(PURE, GAUSSIAN), max_size=5)


@settings(max_examples=25, deadline=None)
@given(MIXED, st.sampled_from([DELTA, Fraction(1, 1000)]))
def test_no_split_of_the_uses_is_better_than_the_one_that_is_taken(uses: list[Loss], delta: Fraction) -> None:
    """Beside all subsets of pure uses taken as rho, the rest added; uses of several times fall apart, too."""
    pure = [use.epsilon for use in uses if isinstance(use, PureLoss) for _ in range(min(use.times, 2))]
    others = [use for use in uses if isinstance(use, ConcentratedLoss)]
    loss = composed([*(PureLoss("one", epsilon) for epsilon in pure), *others])
    every = [some for many in range(len(pure) + 1) for some in combinations(range(len(pure)), many)]
    splits = {
        (loss.rho + sum(pure[i] ** 2 for i in some) / 2, sum(pure) - sum(pure[i] for i in some)) for some in every
    }
    left = float(delta - loss.delta)
    least = min((epsilon_of_rho(float(rho), left) if rho else 0.0) + float(rest) for rho, rest in splits)
    found = epsilon_of(loss, delta - loss.delta)
    assert found <= max(least, 0) * (1 + 5e-3) + 1e-12
    assert pure or found == pytest.approx(least, rel=5e-3, abs=1e-12)


def test_one_synthesis_and_one_count_are_the_sum_of_what_each_is() -> None:
    """By rho all together 1.5 has 1.125 more, which is much more than 1.5 at a delta of 10^-6."""
    delta = Fraction(1, 10**6)
    synthesis = ConcentratedLoss("marginals by AIM", exact(0.04136))
    count = PureLoss("count", exact(1.5))
    both, alone = (epsilon_of(composed(uses), delta) for uses in ([synthesis, count], [synthesis]))
    assert alone + 1.48 < both <= alone + 1.5
    assert epsilon_at(composed([synthesis, count]).concentrated, delta) > 5 + alone


def test_sums_stay_sums_where_next_to_nothing_is_won() -> None:
    """By orders it is 4.6292."""
    uses = [PureLoss("count", exact(1.221)), PureLoss("count", exact(1.705), times=2)]
    assert epsilon_of(composed(uses), Fraction(1, 1000)) == 4.631


def test_without_a_delta_only_pure_uses_are_known() -> None:
    assert epsilon_of(composed([PureLoss("count", exact(1.5))]), Fraction(0)) == 1.5
    assert epsilon_of(composed([ConcentratedLoss("sum", exact(0.1))]), Fraction(0)) == math.inf
    assert epsilon_of(Composition(), DELTA) == 0


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("order", [1.01, 2.0, 8.0, 64.0])
def test_at_an_order_a_pure_loss_is_that_of_randomised_response(epsilon: float, order: float) -> None:
    yes, no = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    renyi = math.log(yes**order * no ** (1 - order) + no**order * yes ** (1 - order)) / (order - 1)
    assert float(composed([PureLoss("coin", exact(epsilon))]).at_order(Fraction(order))) == pytest.approx(renyi, 1e-9)
    most = most_pure(exact(renyi), Fraction(order))
    assert float(most) == pytest.approx(epsilon, rel=1e-6)
    assert renyi_of(most, Fraction(order)) <= exact(renyi)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)])
def test_as_many_pure_uses_as_fit_at_an_order_keep_delta_exactly(epsilon: Fraction) -> None:
    """Randomised response as often, whose loss is a binomial number: its delta at the budget's epsilon, summed up."""
    order, delta = best_order(exact(10.0), DELTA), float(DELTA)
    times = int(room_at(order, 10.0, DELTA) / renyi_of(epsilon, order))
    assert times > int(room_at(order, 10.0, DELTA) / min(order * epsilon**2 / 2, epsilon))

    def delta_of(bound: float) -> float:
        e, p = float(epsilon), 1 / (1 + math.exp(-float(epsilon)))
        yes = [many for many in range(times + 1) if (2 * many - times) * e > bound]
        chances = [math.comb(times, many) * p**many * (1 - p) ** (times - many) for many in yes]
        return sum(c * -math.expm1(bound - (2 * many - times) * e) for c, many in zip(chances, yes, strict=True))

    assert 0 < delta_of(10) <= delta
    assert 0 < delta_of(epsilon_of(composed([PureLoss("coin", epsilon, times=times)]), DELTA)) <= delta


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_at_the_order_of_a_budget_as_much_rho_fits_as_there_can_be(epsilon: float) -> None:
    order = best_order(exact(epsilon), DELTA)
    most = room_at(order, epsilon, DELTA) / order
    assert Fraction(rho_within(exact(epsilon), DELTA)) == pytest.approx(most, rel=1e-12)
    assert room_at(order, epsilon, Fraction(0)) == 0


@settings(max_examples=50, deadline=None)
@given(MIXED, st.sampled_from([0.5, 2.0, 10.0]))
def test_what_is_within_the_room_of_an_order_keeps_epsilon(uses: list[Loss], epsilon: float) -> None:
    loss = composed(uses)
    order, delta = best_order(exact(epsilon), DELTA), DELTA - loss.delta
    if loss.at_order(order) <= room_at(order, epsilon, delta):
        assert epsilon_of(loss, delta) <= epsilon * (1 + 1e-6)


@given(MIXED, MIXED)
def test_what_is_taken_away_again_leaves_nothing(one: list[Loss], other: list[Loss]) -> None:
    first, second = composed(one), composed(other)
    assert first + second + -1 * second == first
