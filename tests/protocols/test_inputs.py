"""A number is what was typed, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from protocols.equality import equal
from protocols.inputs import checked
from protocols.majority import majority
from protocols.millionaires import strict, three_way
from smc.engines import Profile, engine_of, make_engine
from smc.errors import InputError, JobMismatchError
from smc.local import run_local
from tests.support.duels import duel


def played(program: Callable[..., Any], values: tuple[Any, Any], *more: Any) -> Any:
    return run_local(lambda s: program(make_engine(s, "clear"), values[s.party], *more))[0]


@pytest.mark.parametrize(
    "value", [5.9, 0.5, -0.5, np.float32(0.8), Fraction(1, 3), Decimal("1.2"), float("nan"), float("inf"), "5", None]
)
def test_what_is_not_a_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"the count number 2 is .*, not a whole number: give a whole number"):
        checked([3, value], 8, "the count")


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, object])
def test_so_are_arrays(kind: type) -> None:
    with pytest.raises(InputError, match=r"the count number 2 is 0\.5, not a whole number"):
        checked(np.array([3, 0.5], dtype=kind), 8, "the count")


@pytest.mark.parametrize("value", [5, 5.0, np.int8(5), np.uint64(5), np.float64(5), Decimal(5), Fraction(10, 2)])
def test_whole_numbers_of_every_type_are_what_they_are(value: Any) -> None:
    assert checked([value], 8, "x").tolist() == checked(np.array([value]), 8, "x").tolist() == [5]


@pytest.mark.parametrize("program", [three_way, strict, equal])
def test_numbers_that_differ_by_a_fraction_are_not_equal(program: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="not a whole number"):
        played(program, ([5.9], [5.1]))


def test_counts_that_differ_by_a_fraction_choose_nobody() -> None:
    with pytest.raises(InputError, match="not a whole number"):
        played(majority, (np.array([[0.8], [1.2]]),) * 2, 8)


def test_signs_and_an_agreed_step() -> None:
    values = [5.9, -3.1, 0, 0.1, -12.8], [5.1, -3, -0.1, 0.1, -12.7]
    assert played(three_way, values, 8, True, 0.1) == ["party0", "party1", "party0", "equal", "party1"]
    assert played(equal, values, 8, True, "0.1").tolist() == [False, False, False, True, False]
    assert played(strict, ([1.25], [1]), 8, False, 0.25).tolist() == [True]
    assert played(strict, ([-7], [-8]), 4, True).tolist() == [True]


@pytest.mark.parametrize(
    ("value", "more", "message"),
    [
        (5.95, (8, True, 0.1), r"number 1 is 5\.95, not a multiple of the step 0\.1"),
        (12.8, (8, True, 0.1), "not from -128 to 127 steps"),
        (-12.9, (8, True, 0.1), "not from -128 to 127 steps"),
        (-1, (8, False, 0.5), "not from 0 to 255 steps"),
        (1, (65, True), "65 bits is not between 1 and 64"),
        (1, (8, True, 0), "step: 0 is not a number above 0"),
        (1, (8, True, "wide"), "step: 'wide' is not a number above 0"),
        ("x" * 99, (8, True), "not a multiple"),
    ],
)
def test_what_is_no_multiple_is_refused(value: Any, more: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        played(three_way, ([value], [value]), *more)


def test_another_step_is_another_function() -> None:
    """The circuit is the same: only what a number means differs."""
    ends = duel(
        (
            lambda s: three_way(engine_of(s, Profile("gmw")), [5], 8, False, 0.5),
            lambda s: three_way(engine_of(s, Profile("gmw")), [5], 8, False, 0.25),
        )
    )
    assert all(type(end.error) is JobMismatchError for end in ends)


@pytest.mark.parametrize("bits", [np.array([[0.5]]), np.array([[-1]])])
def test_an_engine_takes_bits_alone(bits: Any) -> None:
    with pytest.raises(ValueError, match="an input must be 0 and 1"):
        run_local(lambda s: make_engine(s, "clear").both(bits))


@pytest.mark.parametrize("engine", ["yao", "mixed"])
def test_words_are_integers(engine: Any) -> None:
    with pytest.raises(ValueError, match="an input must be integers, got float64"):
        run_local(lambda s: make_engine(s, engine).words.input(np.array([0.5]), 8))
