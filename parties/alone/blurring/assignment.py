"""Blurred rows given intervals: the lowest to the first, as many as the reconstructed distribution says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parties.base.arrays import Floats


def assign(published: Floats, probabilities: Floats) -> NDArray[np.int32]:
    """Return the interval of each row, int32[rows]: in the order of published values, equal ones in theirs."""
    ends = np.rint(np.cumsum(probabilities) * len(published)).astype(np.int64)
    ends[-1] = len(published)
    intervals = np.empty(len(published), dtype=np.int32)
    places = np.searchsorted(ends, np.arange(len(published)), side="right")
    intervals[np.argsort(published, kind="stable")] = places
    return intervals
