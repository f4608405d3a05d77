"""Test statistics of an attacker who knows both tables: noisy numbers as one number that favours one of the tables.

This is post-processing, so it does not weaken a promise. If a row changes many numbers slightly, no single number shows
the whole effect. With independent noise the likelihoods multiply, and their logarithms are, up to the scale of the
noise, the sums below.
"""

from __future__ import annotations

import numpy as np

from parties.checking.statistics.losses import Outcomes
from protocols.arrays import Numbers

ONE = 1 << 20


def of_laplace(opened: Numbers, first: Numbers, second: Numbers) -> Outcomes:
    """Return for each line of noisy numbers how much farther it is from `first` than from `second`.

    Args:
        opened: Noisy numbers, int64[copies, numbers].
        first: Exact numbers of the first table.
        second: Exact numbers of the second table.
    """
    losses: Outcomes = (np.abs(opened - first) - np.abs(opened - second)).sum(axis=1)
    return losses


def of_gaussian(opened: Numbers, first: Numbers, second: Numbers) -> Outcomes:
    """Return each line's position along the straight line from `first` (0) to `second` (`ONE`).

    Args:
        opened: Noisy numbers, int64[copies, numbers].
        first: Exact numbers of the first table.
        second: Exact numbers of the second table.
    """
    direction = second - first
    positions: Outcomes = np.rint((opened - first) @ direction * (ONE / float(direction @ direction))).astype(np.int64)
    return positions
