"""Consistent counts against the projection that they round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from parties.jobs.release.noise import laplace
from parties.jobs.release.postprocessing import consistent, percentages

NOISY = arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=2, max_side=6), elements=st.integers(-30, 60))


def projection(noisy: np.ndarray, total: int) -> np.ndarray:
    """The nearest point with no number below 0 and this sum, by bisection of what is taken from each."""
    low, high = -1e6, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(noisy - middle, 0).sum() > total else (low, middle)
    return np.maximum(noisy - high, 0)


@given(NOISY, st.integers(1, 500))
def test_counts_are_as_near_as_can_be_and_add_up(noisy: np.ndarray, most: int) -> None:
    found = consistent(noisy, most)
    total = min(max(int(noisy.sum()), 0), most)
    assert found.shape == noisy.shape
    assert found.min() >= 0
    assert found.sum() == total
    assert np.abs(found - projection(noisy, total)).max() < 1 + 1e-6


@given(arrays.arrays(np.int64, 5, elements=st.integers(0, 60)))
def test_counts_that_fit_stay_as_they_are(counts: np.ndarray) -> None:
    assert consistent(counts, 300).tolist() == counts.tolist()


def test_percentages_are_plain_ones() -> None:
    counts = np.array([10, 20, 30, 4])
    assert [answer["percent"] for answer in percentages(counts, counts, None)] == [15.625, 31.25, 46.875, 6.25]
    assert percentages(counts * 0, counts * 0, None) == [{"percent": None}] * 4
    assert percentages(np.array([7]), np.array([7]), None) == [{"percent": 100.0}]


@pytest.mark.parametrize(("counts", "terms"), [([3, 0, 40], 1), ([1, 1], 4), ([500, 20, 0, 0, 7], 1), ([5], 1)])
def test_intervals_of_percentages_hold_the_truth_as_often_as_they_say(counts: list[int], terms: int) -> None:
    rng, noise = np.random.default_rng(3), laplace(Fraction(1, 2), 1, "add-remove")
    true = 100 * np.array(counts) / sum(counts)
    inside = np.zeros(len(counts))
    for _ in range(400):
        drawn = np.rint(rng.laplace(scale=2, size=(terms, len(counts)))).astype(int).sum(axis=0)
        answers = percentages(np.maximum(counts + drawn, 0), counts + drawn, noise, terms)
        for place, (answer, share) in enumerate(zip(answers, true, strict=True)):
            low, high = answer["percent_low"], answer["percent_high"]
            assert low is not None
            assert high is not None
            inside[place] += low - 1e-5 <= share <= high + 1e-5
            assert answer["percent"] is None or 0 <= low <= answer["percent"] <= high <= 100
    assert inside.min() >= 0.95 * 400
