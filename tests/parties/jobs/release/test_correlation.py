"""Noisy correlations: beside numpy's, how often their interval holds the truth, and what one row changes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from parties.jobs.kinds.release.correlation import correlations
from parties.jobs.release.noise import laplace
from parties.jobs.release.values import Values
from smc.errors import InputError
from tests.support.questions import asked

FIRST = Values(tuple(Fraction(number, 2) for number in range(-3, 8)))  # from -1.5 to 3.5, in halves
SECOND = Values(tuple(map(Fraction, range(5))))
SPANS = 10, 4


def sums_of(halves: Any, wholes: Any) -> Any:
    """The nine sums of pairs in units from the lower bounds up, by their definition."""
    parts = [
        [(span - numbers) ** 2, 2 * numbers * (span - numbers), numbers**2]
        for span, numbers in zip(SPANS, (halves, wholes), strict=True)
    ]
    return np.array([[(part * other).sum() for other in parts[1]] for part in parts[0]])


def test_a_row_is_worth_the_same_wherever_it_lies() -> None:
    pairs = product(range(SPANS[0] + 1), range(SPANS[1] + 1))
    assert {int(sums_of(np.array([a]), np.array([b])).sum()) for a, b in pairs} == {SPANS[0] ** 2 * SPANS[1] ** 2}


@pytest.mark.parametrize("seed", range(5))
def test_without_noise_they_are_numpys_in_every_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = [(rng.integers(0, 11, rows), rng.integers(0, 5, rows)) for rows in (2, 30, 500)]
    state = np.array([sums_of(*group).reshape(-1) for group in groups]).T.reshape(-1)
    for found, (halves, wholes) in zip(correlations(state.tolist(), FIRST, SECOND, None), groups, strict=True):
        if halves.std() and wholes.std():
            assert found["value"] == pytest.approx(np.corrcoef(halves, wholes)[0, 1], abs=1e-9)
        assert found["rows"] == len(halves)


@pytest.mark.parametrize(("rows", "epsilon"), [(30, "1"), (300, "0.5"), (3000, "1"), (3000, "8")])
def test_the_interval_holds_the_correlation_as_often_as_it_says(rows: int, epsilon: str) -> None:
    rng = np.random.default_rng(11)
    noise = laplace(Fraction(epsilon), SPANS[0] ** 2 * SPANS[1] ** 2, "add-remove")
    lengths = []
    for together in (0.0, 0.6, -1.0):
        halves = rng.integers(0, 11, rows)
        wholes = np.where(rng.random(rows) < abs(together), np.rint(halves * 0.4), rng.integers(0, 5, rows)).astype(int)
        wholes = 4 - wholes if together < 0 else wholes
        sums, true = sums_of(halves, wholes).reshape(-1), np.corrcoef(halves, wholes)[0, 1]
        inside = 0
        for _ in range(150):
            opened = sums + np.rint(rng.laplace(scale=float(noise.scale), size=9)).astype(int)
            (found,) = correlations(opened.tolist(), FIRST, SECOND, noise)
            assert found["value"] is None or found["low"] <= found["value"] <= found["high"]
            inside += found["low"] - 1e-9 <= true <= found["high"] + 1e-9
            lengths.append(found["high"] - found["low"])
        assert inside >= 0.95 * 150
    if rows == 3000:
        assert np.mean(lengths) < 0.25  # it says something


def test_where_nothing_is_known() -> None:
    noise = laplace(Fraction(1), SPANS[0] ** 2 * SPANS[1] ** 2, "add-remove")
    (found,) = correlations([0] * 9, FIRST, SECOND, noise)
    assert (found["value"], found["low"], found["high"], found["rows"]) == (None, -1.0, 1.0, 0)
    (found,) = correlations(sums_of(np.array([3, 3]), np.array([0, 4])).reshape(-1).tolist(), FIRST, SECOND, None)
    assert found == {"value": None, "rows": 2}


@pytest.mark.parametrize(
    ("numeric", "message"),
    [
        (("visits",), "numeric: a correlation needs two columns, not 1"),
        (("visits", "age"), "numeric: a correlation needs bounds"),
        (("visits", "weight"), "weight"),
    ],
)
def test_what_is_refused(numeric: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as failed:
        asked("correlation", numeric=numeric)
    assert message in str(failed.value)
    assert "\n" not in str(failed.value)
