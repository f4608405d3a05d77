"""What uses come to: the notes' numbers, exact sums, and OpenDP's own composition beside them."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp import combinators, domains, measurements, measures, metrics, mod

from parties.budget.composition import Loss, advanced, composed, epsilon_at, rho_within
from parties.jobs.spending import Spending, exact

mod.enable_features("contrib", "honest-but-curious")
SPACE = domains.atom_domain(T="i32"), metrics.absolute_distance(T="i32")
DELTA = Fraction(1, 10**7)

LOSSES = st.decimals("0.001", "2", places=3).map(float)
PURE = st.builds(Spending, st.just("count"), epsilon=LOSSES, times=st.integers(1, 5))
GAUSSIAN = st.builds(Spending, st.just("sum"), rho=LOSSES, delta=st.sampled_from([0.0, 1e-12]))


def mechanism(use: Spending) -> Any:
    """A use as a measurement of OpenDP's, with rho as its loss."""
    if use.rho:
        measure, loss = measures.zero_concentrated_divergence(), lambda rows: use.rho * rows**2
        return measurements.make_user_measurement(*SPACE, measure, lambda _: 0, loss, TO="i32")
    pure = measurements.make_user_measurement(
        *SPACE, measures.max_divergence(), lambda _: 0, lambda rows: use.epsilon * rows, TO="i32"
    )
    return combinators.make_pureDP_to_zCDP(pure)


def test_sequential_composition_adds() -> None:
    """Note 000: two mechanisms with e1 and e2 keep e1 + e2."""
    assert composed([Spending("a", 0.3), Spending("b", 0.7)]).epsilon == 1


def test_a_group_pays_for_each_of_its_rows() -> None:
    """A family of four pays 4 epsilon, and 16 rho; a delta grows with e^epsilon."""
    loss = composed([Spending("a", 0.5, delta=1e-9), Spending("b", rho=0.1)], group=4)
    assert loss.epsilon == 2
    assert loss.rho == Fraction(16, 10)
    assert float(loss.delta) == pytest.approx(1e-9 * sum(math.exp(0.5 * i) for i in range(4)))


def test_a_row_replaced_is_one_removed_and_one_added() -> None:
    uses = [Spending("a", 0.5), Spending("b", 0.25, adjacency="replace")]
    assert composed(uses).epsilon == Fraction(3, 4)
    assert composed(uses, "replace").epsilon == Fraction(5, 4)


def test_a_histogram_costs_one_epsilon_and_so_many_counts_a_share_each() -> None:
    """Notes: m counts have epsilon / m each; the cells of a histogram, which are disjoint, one together."""
    counts = composed([Spending("count", 0.2, times=5)])
    histogram = composed([Spending("histogram", 1.0)])
    assert counts.epsilon == histogram.epsilon == 1


def test_advanced_composition_beside_opendp() -> None:
    """100 uses of 0.1: 10 in sequence, 6.7 by the theorem of the lecture, less by rho as OpenDP converts it."""
    loss = composed([Spending("count", 0.1, times=100)])
    book = 0.1 * math.sqrt(2 * 100 * math.log(1e7)) + 100 * 0.1 * math.expm1(0.1)
    theorem = advanced(loss, DELTA)
    assert theorem is not None
    assert theorem == pytest.approx(book, rel=1e-12)
    assert loss.epsilon == 10
    assert epsilon_at(loss.concentrated, DELTA) < theorem < 10


def test_what_is_not_pure_has_no_advanced_composition() -> None:
    assert advanced(composed([Spending("sum", rho=0.1)]), DELTA) is None
    assert advanced(composed([Spending("count", 0.1)]), Fraction(0)) is None


@settings(max_examples=30)
@given(st.lists(st.one_of(PURE, GAUSSIAN), min_size=1, max_size=6), st.integers(1, 4))
def test_rho_is_what_opendp_composes(uses: list[Spending], group: int) -> None:
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
def test_the_order_of_questions_never_changes_the_price(uses: list[Spending], chance: random.Random) -> None:
    """Not in the last digit: in whatever order, and whether a use is asked for at once or one after the other."""
    shuffled = [Spending(u.mechanism, u.epsilon, u.rho, u.delta, u.adjacency) for u in uses for _ in range(u.times)]
    chance.shuffle(shuffled)
    one, other = composed(uses), composed(shuffled)
    assert (one.epsilon, one.rho, one.squares, one.delta) == (other.epsilon, other.rho, other.squares, other.delta)
    pieces = sum((composed([use]) for use in shuffled), start=Loss())
    assert (pieces.epsilon, pieces.concentrated, pieces.delta) == (one.epsilon, one.concentrated, one.delta)


def test_ten_tenths_are_one() -> None:
    """OpenDP's own sum of doubles is above 1, and a budget of 1 would refuse the tenth question."""
    assert composed([Spending("count", 0.1)] * 10).epsilon == 1
    tenth = measurements.make_user_measurement(
        *SPACE, measures.max_divergence(), lambda _: 0, lambda rows: 0.1 * rows, TO="i32"
    )
    assert combinators.make_composition([tenth] * 10).map(1) > 1


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
def test_the_most_rho_within_an_epsilon(epsilon: float) -> None:
    most = rho_within(epsilon, DELTA)
    assert epsilon_at(exact(most), DELTA) <= epsilon < epsilon_at(exact(most * 1.001), DELTA)
    assert rho_within(epsilon, Fraction(0)) == 0.0


def test_the_conversion_needs_a_delta() -> None:
    assert epsilon_at(Fraction(0), Fraction(0)) == 0.0
    assert epsilon_at(Fraction(1), Fraction(0)) == math.inf
