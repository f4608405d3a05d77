"""The rules for leaves, one group of rows at a time: against the notes' numbers and their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.feasibility import close_netlist, rule, sums_netlist
from protocols.id3 import Problem
from protocols.rules import Rules
from smc.circuit import evaluate
from smc.errors import InputError
from smc.primitives.bits import from_integers, to_integers
from tests.support.leaf_rules import entropy, keeps, ordered, rules_for, variational

pytestmark = pytest.mark.slow

# The notes' numbers.

DISEASES = ("heart", "viral", "cancer")
FOUR_ANONYMOUS = ("heart heart viral viral", "cancer heart viral viral", "cancer cancer cancer cancer")
THREE_DIVERSE = ("heart viral cancer cancer", "cancer heart viral viral", "heart viral cancer cancer")
SALARIES = ((3, 5, 9), (6, 11, 8), (4, 7, 10))
ILLNESSES = (  # of the same nine people
    ("gastric ulcer", "stomach ulcer", "pneumonia"),
    ("gastritis", "flu", "bronchitis"),
    ("gastritis", "bronchitis", "stomach ulcer"),
)


def counted(groups: Sequence[Sequence[Any]], values: Sequence[Any]) -> np.ndarray:
    return np.array([[list(group).count(value) for value in values] for group in groups])


def kept(groups: np.ndarray, **rules: Any) -> list[bool]:
    found = Rules(**rules).keeps(groups, groups.sum(axis=0)).tolist()
    assert found == Rules(**rules).keeps(groups[None], groups.sum(axis=0))[0].tolist()
    return found


def test_the_tables_of_twelve_patients() -> None:
    """Both are 4-anonymous; one group of the first is all cancer; the second is 3-diverse, by entropy 2.83."""
    left, right = (counted([line.split() for line in table], DISEASES) for table in (FOUR_ANONYMOUS, THREE_DIVERSE))
    for table in (left, right):
        assert table.sum() == 12
        assert kept(table, k=4) == [True] * 3
        assert kept(table, k=5) == [False] * 3
    assert kept(left, l=2) == [True, True, False]
    assert kept(left, l=3) == [False, True, False]
    assert kept(right, l=3) == [True] * 3
    assert kept(right, l=2.82, diversity="entropy") == [True] * 3
    assert kept(right, l=2.83, diversity="entropy") == [False] * 3  # e^H = 2.8284
    assert kept(right, l=3, diversity="entropy") == [False] * 3
    assert kept(left, l=1.99, diversity="entropy") == [True, True, False]
    assert kept(np.array([[5, 5, 0]]), l=2, diversity="entropy") == [False]  # ln 2 itself is in doubt: to the safe side
    assert kept(np.array([[5, 5, 0]]), l=2 - 1e-8, diversity="entropy") == [True]


def test_the_distances_of_nine_salaries() -> None:
    table = counted(SALARIES, range(3, 12))
    whole = table.sum(axis=0)
    assert [ordered(group, whole) for group in table] == [Fraction(1, 6), Fraction(1, 6), Fraction(1, 12)]
    assert kept(table, t=0.1667, distance="ordered") == [True] * 3
    assert kept(table, t=0.1666, distance="ordered") == [False, False, True]
    assert kept(table, t=0.0833, distance="ordered") == [False] * 3
    low = counted([(3, 4, 5)], range(3, 12))
    assert Rules(t=0.375, distance="ordered").keeps(low, whole).tolist() == [True]
    assert Rules(t=0.374, distance="ordered").keeps(low, whole).tolist() == [False]


def test_the_distances_of_nine_illnesses() -> None:
    table = counted(ILLNESSES, sorted({one for group in ILLNESSES for one in group}))
    assert [variational(group, table.sum(axis=0)) for group in table] == [
        Fraction(5, 9),
        Fraction(4, 9),
        Fraction(1, 3),
    ]
    for t, expected in (
        (0.556, [True] * 3),
        (0.555, [False, True, True]),
        (0.444, [False, False, True]),
        (0.333, [False] * 3),
    ):
        assert kept(table, t=t) == expected


# One group: the local answer and the circuits.


@settings(max_examples=200)
@given(data=st.data())
def test_groups_are_judged_by_the_definitions(data: st.DataObject) -> None:
    classes = data.draw(st.integers(2, 5))
    table = np.array(data.draw(st.lists(st.lists(st.integers(0, 12), min_size=classes, max_size=classes), min_size=1)))
    rules = data.draw(rules_for(classes, 100))
    whole = table.sum(axis=0)
    for group, found in zip(table.tolist(), rules.keeps(table, whole).tolist(), strict=True):
        assert found <= keeps(rules, group, whole.tolist())
        assert found >= keeps(rules, group, whole.tolist(), margin=2e-9)


def test_large_numbers_do_not_overflow() -> None:
    """At t exactly the distance: one row more or less decides."""
    whole = np.array([1 << 30, 1 << 30])
    groups = np.array([[3 << 28, 1 << 28], [(3 << 28) + 1, 1 << 28], [(3 << 28) - 1, 1 << 28]])
    for distance in ("variational", "ordered"):
        assert Rules(t=0.25, distance=distance).keeps(groups, whole).tolist() == [True, False, True]  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize(("classes", "width"), [(2, 3), (3, 2)])
def test_the_circuit_of_sums(form: Any, classes: int, width: int) -> None:
    rows = [row for row in itertools.product(range(1 << width), repeat=2 * classes) if sum(row) < 1 << width]
    columns = [from_integers(list(column), width) for column in zip(*rows, strict=True)]
    for k, diversity in itertools.product((1, 2, (1 << width) - 1), range(1, classes + 1)):
        outputs = evaluate(sums_netlist(classes, width, k, diversity, form), columns)
        for row, found in zip(rows, zip(*map(to_integers, outputs), strict=True), strict=True):
            group = [row[c] + row[classes + c] for c in range(classes)]
            assert found == (keeps(Rules(k, diversity), group, group), sum(group), *group[:-1])


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize("terms", [1, 2, 3])
def test_the_circuit_of_closeness(form: Any, terms: int) -> None:
    rng = np.random.default_rng(terms)
    values = rng.integers(-8, 8, (terms, 500))
    limits = np.concatenate(
        [2 * np.maximum(values, 0).sum(axis=0)[:250] + rng.integers(-1, 2, 250), rng.integers(-64, 64, 250)]
    )
    inputs = [from_integers([int(v) % 16 for v in line], 4) for line in values]
    inputs.append(from_integers([int(v) % 256 for v in limits], 8))
    (found,) = evaluate(close_netlist(terms, 4, 8, form), inputs)
    assert to_integers(found) == (2 * np.maximum(values, 0).sum(axis=0) <= limits).astype(int).tolist()


@pytest.mark.parametrize("name", ["clear", "mixed"])
def test_an_entropy_in_doubt_is_refused(play, name: str) -> None:
    """All groups of a few rows, with logarithms so rough that some entropies are computed on the wrong side of ln l."""
    groups = np.array([group for group in itertools.product(range(6), repeat=3) if any(group)])
    whole = groups.sum(axis=0)
    for least in sorted({math.floor(math.exp(entropy(group)) * 1000 + 1) / 1000 for group in groups[::9].tolist()})[
        1:-1
    ]:
        rules = Rules(l=least, diversity="entropy", against="public")
        problem = Problem((1,), 3, max_rows=500, delta=1, rules=rules)

        def feasible(engine: Any, problem: Problem = problem) -> list[int]:
            splits = [[(groups // 2 if engine.party else groups - groups // 2)[i : i + 1]] for i in range(len(groups))]
            (bits,) = engine.reveal(*rule(engine, problem, splits, None, whole).bits)
            return list(bits[0].tolist())

        for group, found in zip(groups.tolist(), play(feasible, name).agreed, strict=True):
            assert found <= keeps(rules, group, group)
            assert found >= keeps(rules, group, group, margin=problem.delta)


PLAIN = Problem((3, 2, 4, 2), 3, 40)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 41}, "k is 41, but there are at most 40 rows of a party"),
        ({"k": 81, "against": "public"}, "k is 81, but there are at most 80 rows in all"),
        ({"l": 0.5}, "l is 0.5"),
        ({"l": math.nan}, "l is nan"),
        ({"l": math.inf}, "l is inf"),
        ({"l": 2.5}, "l is 2.5: a number of distinct classes"),
        ({"l": 4}, "l is 4, but a leaf can have 3 classes at most"),
        ({"l": 3, "diversity": "entropy"}, "l is 3: for entropy it must be below 3 here; choose a smaller --l"),
        ({"diversity": "entropy"}, "give an l above 1"),
        ({"t": 0}, "t is 0"),
        ({"t": -0.1}, "t is -0.1"),
        ({"t": 1.5}, "t is 1.5"),
        ({"t": math.nan}, "t is nan"),
        ({"distance": "ordered"}, "give a t below 1"),
        ({"against": "public"}, "against applies to k, l and t only"),
    ],
)
def test_rules_that_cannot_be_are_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        replace(PLAIN, rules=Rules(**rules))
    assert "\n" not in str(caught.value)


def test_a_t_of_too_many_digits_is_refused() -> None:
    """Against the public it is compared in 64-bit words; each party alone has numbers of any size."""
    fine, rows = 0.123456789, 65535
    Problem((2,), 3, rows, rules=Rules(t=fine))
    Problem((2,), 3, rows, rules=Rules(t=0.1234, against="public"))
    Problem((2,), 2, 23_000, rules=Rules(t=fine, against="public"))  # 4 10^9 46,000^2 < 2^63
    Problem((2,), 3, rows, rules=Rules(t=0.1234567, against="public"))
    fact = r"t 0\.123457 with up to 131,070 rows in all does not fit 64-bit words"
    with pytest.raises(InputError, match=f"{fact}: give --t at most 7 digits after the point"):
        Problem((2,), 3, rows, rules=Rules(t=fine, against="public"))
    with pytest.raises(InputError, match="in all does not fit 64-bit words: choose a smaller --max-rows"):
        Problem((2,), 3, 1 << 31, rules=Rules(t=fine, against="public"))
