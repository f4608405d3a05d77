"""Test whether clusters show more than noise, from opened values and the law of the noise; it costs no privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from protocols.arrays import Numbers
from protocols.release.centroids import UNIT, Points, nearest

SURE_OF_GRID = 6  # standard deviations: the centroids were fitted to the same noise
SURE_OF_ROUND = 2  # standard deviations of a round, whose noise is drawn after the centroids


def grid_may_be_noise(places: Points, counts: Sequence[int], centroids: Points, variance: float) -> bool:
    """Return whether clusters of a noisy grid gain no more over one centroid than noise alone may.

    The gain is a sum over cells: the noisy count times the gain of a row there. For given centroids its noise has the
    variance of a count times the sum of the squares of these gains. In 540 tables of 2 to 9 columns, 300 to 10,000 rows
    and epsilon 0.05 to 1, drawn as in `benchmarks.clusters`, 23 clusterings were worse than one centroid; one of these
    gained more than 6 standard deviations.

    Args:
        places: Middles of the cells in fixed point, [cells, dimensions].
        counts: Noisy counts of the cells, as opened.
        centroids: Centroids of the clusters in fixed point, [clusters, dimensions].
        variance: Variance of a count's noise.

    Returns:
        True if one centroid may be as good.
    """
    rows = np.array(counts, dtype=np.float64)
    likely = np.maximum(rows, 0)
    middle = (likely[:, None] * places).sum(axis=0) / max(likely.sum(), 1)
    offsets = places - centroids[nearest(places, centroids)]
    gains = (((places - middle) ** 2).sum(axis=1) - (offsets**2).sum(axis=1)) / UNIT**2
    return bool((rows * gains).sum() <= SURE_OF_GRID * math.sqrt(variance * float((gains**2).sum())))


def round_may_be_noise(sums: Numbers, least: int, variance: float) -> bool:
    """Return whether clusters of a noisy round gain no more over one centroid than its noise does.

    The gain of means over one mean is the sum of their squared distances from it, each times its rows. Noise adds its
    variance in each dimension, divided by the rows.

    Args:
        sums: Noisy count, times UNIT, and noisy sum of each cluster (or cell, if there was one round),
            int64[clusters, 1 + dimensions].
        least: Count, times UNIT, from which a cluster has a mean.
        variance: Variance of the noise of each number.

    Returns:
        True if one centroid may be as good, or fewer than two clusters have a mean.
    """
    strong = sums[sums[:, 0] >= least] / UNIT
    if len(strong) < 2:
        return True
    rows, dimensions = strong[:, 0], strong.shape[1] - 1
    middle = strong[:, 1:].sum(axis=0) / rows.sum()
    gained = ((strong[:, 1:] - rows[:, None] * middle) ** 2).sum(axis=1) / rows
    by_noise = variance / UNIT**2 * (dimensions + (middle**2).sum()) / rows
    spread = math.sqrt(float((2 * by_noise**2 + 4 * by_noise * gained).sum() / dimensions))
    return bool(gained.sum() <= by_noise.sum() + SURE_OF_ROUND * spread)
