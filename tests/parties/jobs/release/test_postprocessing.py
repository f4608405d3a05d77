"""Consistent counts against the projection that they round."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from parties.jobs.release.postprocessing import consistent

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
