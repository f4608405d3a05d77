"""What an attacker who knows both tables makes of noisy numbers: one number that speaks for the one or for the other.

That is post-processing, so it costs a promise nothing. Where a row changes many numbers by a little, no number by
itself shows what all show together: with independent noise the likelihoods multiply, and their logarithms are, but for
the scale of the noise, the sums below.
"""

from __future__ import annotations

import numpy as np

from parties.base.arrays import Numbers
from parties.checking.statistics.losses import Outcomes

ONE = 1 << 20


def of_laplace(opened: Numbers, first: Numbers, second: Numbers) -> Outcomes:
    """Measure each line of noisy numbers, int64[copies]: how much farther from `first` than from `second`."""
    losses: Outcomes = (np.abs(opened - first) - np.abs(opened - second)).sum(axis=1)
    return losses


def of_gaussian(opened: Numbers, first: Numbers, second: Numbers) -> Outcomes:
    """Place each line of noisy numbers, int64[copies], on the way from `first`, 0, to `second`, `ONE`."""
    way = second - first
    places: Outcomes = np.rint((opened - first) @ way * (ONE / float(way @ way))).astype(np.int64)
    return places
