from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.release.defaults import MOST_DEPTH, chosen
from smc.errors import InputError

ROWS = st.integers(1, 10**9)
EPSILONS = st.fractions(Fraction(1, 1 << 20), 20, max_denominator=1 << 20)
DOMAINS = st.lists(st.integers(1, 100), max_size=40).map(tuple)


@given(ROWS, EPSILONS, DOMAINS, st.integers(2, 20))
def test_the_levels_and_the_leaves_spend_epsilon_exactly(
    rows: int, epsilon: Fraction, domains: tuple[int, ...], classes: int
) -> None:
    defaults = chosen(rows, epsilon, domains, classes)
    per_level, per_leaf = defaults.split(epsilon)
    assert defaults.depth * per_level + per_leaf == epsilon
    assert 0 <= defaults.depth <= min(MOST_DEPTH, len(domains))
    assert per_leaf > 0
    assert (per_level > 0) == (defaults.depth > 0)


@given(ROWS, EPSILONS, DOMAINS, st.integers(2, 20), st.integers(1, 100), st.integers(0, 10**6))
def test_more_rows_or_more_epsilon_never_make_it_shallower_nor_larger_domains_deeper(
    rows: int, epsilon: Fraction, domains: tuple[int, ...], classes: int, factor: int, more: int
) -> None:
    depth = chosen(rows, epsilon, domains, classes).depth
    assert chosen(rows + more, epsilon, domains, classes).depth >= depth
    assert chosen(rows, epsilon * factor, domains, classes).depth >= depth
    assert chosen(rows, epsilon, tuple(size * factor for size in domains), classes).depth <= depth


@pytest.mark.parametrize(
    ("rows", "epsilon", "depth"),
    [(500, "0.1", 1), (499, "0.1", 0), (9_000, "0.1", 2), (8_999, "0.1", 1), (1_200, "10", 3), (10**8, "10", 5)],
)
def test_a_leaf_is_expected_to_hold_enough_rows_for_its_epsilon(rows: int, epsilon: str, depth: int) -> None:
    """Attributes of 1, 100, 10, 5 and 20 values are of 10 on the average: 3 * 10^d (d + 1) rows * epsilon; 50 for 1."""
    assert chosen(rows, Fraction(epsilon), (1, 100, 10, 5, 20), 2).depth == depth


def test_columns_that_are_asked_by_edges_have_two_answers_and_those_of_one_value_none() -> None:
    """9 values and 2 answers are sqrt(18) on the average, so one level takes 2 2.5 sqrt(18) = 21.2 rows * epsilon."""
    for domains, by_edges in (((9, 2), (False, True)), ((9, 5), (False, True)), ((9, 1, 2), (False, True, True))):
        assert [chosen(rows, Fraction(1), domains, 2, by_edges).depth for rows in (21, 22)] == [0, 1]
    assert chosen(10**6, Fraction(1), (2, 2), 1) == chosen(10**6, Fraction(1), (2, 2), 2)


def test_a_tree_of_one_leaf_spends_all_at_the_leaf() -> None:
    assert chosen(1, Fraction("0.3"), (2, 2), 2).split(Fraction("0.3")) == (0, Fraction("0.3"))


@pytest.mark.parametrize(
    ("rows", "epsilon", "domains", "classes"),
    [(0, 1, (2,), 2), (1, 0, (2,), 2), (1, -1, (2,), 2), (1, 1, (0,), 2), (1, 1, (2,), 0)],
)
def test_numbers_of_no_table_are_refused(rows: int, epsilon: int, domains: tuple[int, ...], classes: int) -> None:
    with pytest.raises(InputError):
        chosen(rows, Fraction(epsilon), domains, classes)


@pytest.mark.parametrize(
    ("rows", "depth"), [(49, 0), (50, 1), (299, 1), (300, 2), (799, 2), (800, 3), (1_999, 3), (2_000, 4), (10**9, 5)]
)
def test_columns_asked_by_edges_halve_the_rows_and_may_be_asked_again(rows: int, depth: int) -> None:
    """Two columns of seven and nine edges: 2.5 * 2 * 2 rows * epsilon for one level, 5 * 2^d (d + 1) for more."""
    assert chosen(rows, Fraction("0.2"), (8, 10), 2, (True, True)).depth == depth


def test_a_column_that_has_one_answer_by_edges_asks_nothing() -> None:
    assert chosen(10**9, Fraction(1), (1, 2), 2, (True, True)).depth == 1
    assert chosen(10**9, Fraction(1), (1,), 2, (True,)).depth == 0
