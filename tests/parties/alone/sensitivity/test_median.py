"""How far a median can move: by enumeration of all tables, and the numbers of the notes."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.sensitivity.median import MOST_VALUES, Table
from smc.errors import InputError

Numbers = tuple[int, ...]
GRADES = [24, 25, 25, 26, 30]


def middle(numbers: Numbers) -> int:
    return sorted(numbers)[(len(numbers) - 1) // 2]


@cache
def locals_of(size: int, high: int) -> dict[Numbers, int]:
    """The local sensitivity of every table, by all its neighbours."""
    found = {}
    for numbers in combinations_with_replacement(range(high + 1), size):
        near = ((*numbers[:i], new, *numbers[i + 1 :]) for i in range(size) for new in range(high + 1))
        found[numbers] = max(abs(middle(other) - middle(numbers)) for other in near)
    return found


def apart(one: Numbers, other: Numbers) -> int:
    """How many numbers must be replaced."""
    return len(one) - sum((Counter(one) & Counter(other)).values())


def changes(numbers: Numbers, high: int) -> list[int]:
    """A_0, ..., A_n by enumeration."""
    every = [(apart(numbers, other), local) for other, local in locals_of(len(numbers), high).items()]
    return [max(local for distance, local in every if distance <= k) for k in range(len(numbers) + 1)]


def test_the_grades_of_the_notes() -> None:
    """Note 003 says that LS is 1 at [0 0 0 30 30]; it is 30, as [0 0 30 30 30] is a neighbour."""
    first, second = Table([0, 0, 0, 30, 30], 0, 30), Table([0, 0, 30, 30, 30], 0, 30)
    assert (first.median, second.median, first.most, first.local) == (0, 30, 30, 30)


def test_the_grades_that_were_enumerated() -> None:
    """All 324,632 tables of five grades, with their local sensitivities."""
    tables = np.array(list(combinations_with_replacement(range(31), 5)), dtype=np.int8)
    # One number replaced moves the median to a neighbour in the order, or anywhere between.
    locals_ = np.maximum(tables[:, 2] - tables[:, 1], tables[:, 3] - tables[:, 2])
    own = np.bincount(GRADES, minlength=31)
    shared = sum(np.minimum((tables == grade).sum(axis=1), own[grade]) for grade in set(GRADES))
    table = Table(GRADES, 0, 30)
    assert [int(locals_[5 - shared <= k].max()) for k in range(5)] == [1, 5, 25, 26, 30]
    assert [table.change(k) for k in range(5)] == [1, 5, 25, 26, 30]
    assert table.local == 1
    assert table.smooth(1 / (2 * math.log(2 / 0.1))) == pytest.approx(17.90, abs=0.005)
    assert table.distance(5) == 2


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(*[st.integers(0, 4)] * n)))
def test_every_small_table_by_enumeration(numbers: Numbers) -> None:
    table, expected = Table(numbers, 0, 4), changes(tuple(sorted(numbers)), 4)
    assert table.median == middle(numbers)
    assert [table.change(k) for k in range(len(numbers) + 1)] == expected
    for bound in range(5):
        further = [k for k, change in enumerate(expected) if change > bound]
        assert table.distance(bound) == (further[0] if further else len(numbers) + 1)


@given(st.lists(st.integers(-20, 60), min_size=1, max_size=60), st.floats(1e-4, 3))
def test_the_smooth_sensitivity_is_the_greatest_of_all_distances(numbers: list[int], beta: float) -> None:
    table = Table(numbers, -5, 40)
    assert table.numbers.min() >= -5
    assert table.numbers.max() <= 40
    every = [math.exp(-beta * k) * table.change(k) for k in range(len(table) + 1)]
    assert table.smooth(beta) == pytest.approx(max(every), rel=1e-12)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.integers(0, 24), st.integers(0, 30))
def test_what_neighbours_may_differ_by(numbers: list[int], place: int, new: int) -> None:
    other = list(numbers)
    other[place % len(numbers)] = new
    one, two = Table(numbers, 0, 30), Table(other, 0, 30)
    assert abs(one.median - two.median) <= min(one.local, two.local)
    assert two.smooth(0.3) <= math.exp(0.3) * one.smooth(0.3) * (1 + 1e-12)
    assert all(abs(one.distance(bound) - two.distance(bound)) <= 1 for bound in (0, 3, 10, 29))


@pytest.mark.parametrize(
    ("numbers", "low", "high", "said"),
    [
        ([1], 3, 3, "the bounds are 3 and 3"),
        ([1], 4, 3, "the first must be less"),
        ([1], 0, MOST_VALUES, "1,048,576 apart"),
        ([], 0, 3, "there are no numbers"),
    ],
)
def test_what_is_no_table(numbers: list[int], low: int, high: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Table(numbers, low, high)
