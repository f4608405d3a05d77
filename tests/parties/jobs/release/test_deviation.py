"""Noisy deviations: beside numpy's, how often their interval holds the truth, and what one row changes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.jobs.kinds.release.deviation import deviations
from parties.jobs.release.noise import laplace
from parties.jobs.release.values import Values

pytestmark = pytest.mark.slow

VALUES = Values(tuple(Fraction(number, 2) for number in (-3, -1, 0, 4, 7)))  # from -1.5 to 3.5, in halves
SPAN = 10


def sums_of(halves: Any) -> Any:
    """The three sums of numbers in units from the lower bound up, by their definition."""
    return np.array([(SPAN - halves) ** 2, 2 * halves * (SPAN - halves), halves**2]).sum(axis=1)


@given(st.lists(st.sampled_from([-3, -1, 0, 4, 7]), min_size=1, max_size=30))
def test_without_noise_they_are_numpys(twice: list[int]) -> None:
    numbers = np.array(twice) / 2
    (found,) = deviations(sums_of(np.array(twice) + 3).tolist(), VALUES, None)
    assert found["value"] == pytest.approx(numbers.std(), abs=1e-9)
    assert found["variance"] == pytest.approx(numbers.var(), abs=1e-9)
    assert found["mean"] == pytest.approx(numbers.mean())
    assert found["rows"] == len(twice)


def test_a_row_is_worth_the_same_wherever_it_lies() -> None:
    assert {int(sums_of(np.array([number])).sum()) for number in range(SPAN + 1)} == {SPAN**2}


@pytest.mark.parametrize(("rows", "epsilon"), [(20, "1"), (200, "0.5"), (200, "4"), (5000, "1")])
def test_the_interval_holds_the_deviation_as_often_as_it_says(rows: int, epsilon: str) -> None:
    rng = np.random.default_rng(7)
    noise = laplace(Fraction(epsilon), SPAN**2, "add-remove")
    for weights in ((1, 1, 1, 1, 1), (1, 0, 0, 0, 1), (0, 0, 1, 0, 0), (30, 1, 1, 1, 1)):
        own = rng.choice([0, 2, 3, 7, 10], size=rows, p=np.array(weights) / sum(weights))
        sums, true = sums_of(own), (own / 2).std()
        inside = 0
        for _ in range(400):
            opened = sums + np.rint(rng.laplace(scale=float(noise.scale), size=3)).astype(int)
            (found,) = deviations(opened.tolist(), VALUES, noise)
            assert found["value"] is None or found["low"] - 1e-9 <= found["value"] <= found["high"] + 1e-9
            inside += found["low"] - 1e-9 <= true <= found["high"] + 1e-9
        assert inside >= 0.95 * 400


def test_without_a_row_it_may_be_any() -> None:
    noise = laplace(Fraction(1), SPAN**2, "add-remove")
    (found,) = deviations([-5, 3, 4], VALUES, noise)
    assert (found["value"], found["rows"], found["low"], found["high"]) == (None, 0, 0, 2.5)
    assert found["noisy"] == [-1.25, 0.75, 1]
    (found,) = deviations([0, 0, 0], VALUES, None)
    assert found == {"value": None, "variance": None, "mean": None, "rows": 0}


def test_a_column_of_one_number() -> None:
    (found,) = deviations([12, 0, 0], Values((Fraction(7),)), None)
    assert found == {"value": 0.0, "variance": 0, "mean": 7, "rows": 12}


def test_groups_are_told_apart() -> None:
    one, other = sums_of(np.array([0, 10])), sums_of(np.array([3, 3, 3]))
    found = deviations(np.array([one, other]).T.reshape(-1).tolist(), VALUES, None)
    assert [entry["value"] for entry in found] == [2.5, 0.0]
    assert [entry["rows"] for entry in found] == [2, 3]
    assert math.isclose(found[1]["mean"], 0.0, abs_tol=1e-12)
