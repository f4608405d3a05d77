"""Centroids in fixed point: first centroids, the nearest centroid of a point, and new centroids from noisy sums.

A point of [-1, 1]^d is d integers from -UNIT to UNIT, so both parties get equal results on any machine: distances are
integers, and quotients are rounded in one way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

UNIT = 1 << 10  # the number 1 in fixed point: rounding moves a coordinate by 1 / 2,048 at most
ASIDE = UNIT // 8  # distance in each coordinate from a cluster's centroid to a new one for a cluster that lacks rows
TRIES = 40  # candidates for a centroid when balls are packed

Points = NDArray[np.int64]  # int64[points, dimensions], from -UNIT to UNIT


@lru_cache(maxsize=64)
def packed(clusters: int, dimensions: int) -> tuple[tuple[int, ...], ...]:
    """Return first centroids independent of all rows, int[clusters, dimensions]: centres of equal balls in the box.

    The balls do not overlap. For a radius, public pseudo-random centres are taken one after the other if they fit. The
    greatest radius for which `clusters` of them fit is found by bisection. After Su, Cao, Li, Bertino, Jin,
    "Differentially private k-means clustering" (CODASPY 2016).

    Args:
        clusters: Number of centroids; public.
        dimensions: Number of coordinates of a point; public.

    Returns:
        One tuple of coordinates for each centroid, from -UNIT to UNIT.
    """
    draw = random.Random(0)  # not secret: both parties draw equal numbers
    shape = (max(200, TRIES * clusters), dimensions)
    uniform = np.array([draw.getrandbits(32) for _ in range(shape[0] * shape[1])], dtype=np.int64).reshape(shape)
    found, low, high = _balls(uniform, clusters, 0), 0, UNIT + 1  # balls of radius 0 always fit
    while high - low > 1:
        middle = (low + high) // 2
        balls = _balls(uniform, clusters, middle)
        found, low, high = (found, low, middle) if balls is None else (balls, middle, high)
    assert found is not None
    return tuple(tuple(centre) for centre in found.tolist())


def _balls(uniform: Points, clusters: int, radius: int) -> Points | None:
    """Return centres of `clusters` balls of a radius that do not overlap; None if too few fit.

    They are the first fitting ones of pseudo-random points, `uniform` numbers below 2^32.
    """
    inner = UNIT - radius
    centres = (uniform * (2 * inner + 1) >> 32) - inner
    taken = np.zeros((0, centres.shape[1]), dtype=np.int64)
    for centre in centres:
        if len(taken) == clusters:
            break
        if (((taken - centre) ** 2).sum(axis=1) >= 4 * radius**2).all():
            taken = np.vstack([taken, centre])
    return taken if len(taken) == clusters else None


def nearest(points: Points, centroids: Points) -> NDArray[np.int64]:
    """Return the index of each point's nearest centroid, int64[points]; the first of equally near ones.

    Args:
        points: Points in fixed point, int64[points, dimensions].
        centroids: Centroids in fixed point, int64[clusters, dimensions].
    """
    from smc.kernels import ROWS, nearest

    chosen = np.zeros(len(points), dtype=np.int64)
    room = np.empty((2, ROWS), dtype=np.int64)
    nearest(np.ascontiguousarray(points.T), np.ascontiguousarray(centroids), room, chosen)
    return chosen


def cluster_sums(points: Points, rows: NDArray[np.int64], centroids: Points) -> Points:
    """Return each cluster's number of rows, times UNIT, and the sum of their points; int64[clusters, 1 + dimensions].

    Args:
        points: This party's distinct points, int64[points, dimensions]; private.
        rows: Number of rows of each point, int64[points]; private.
        centroids: Centroids of the round, int64[clusters, dimensions]; public.
    """
    from smc.kernels import add_chosen

    sums = np.zeros((len(centroids), 1 + centroids.shape[1]), dtype=np.int64)
    add_chosen(np.ascontiguousarray(points.T), np.ascontiguousarray(rows), nearest(points, centroids), UNIT, sums)
    return sums


def moved(centroids: Points, sums: Sequence[int], least: int = 1, settle: bool = True) -> Points:
    """Return the centroids after a round, int64[clusters, dimensions], from its sums, which may have noise.

    A mean outside the box is moved to the nearest point in it. A cluster whose count (times UNIT) is below `least` has
    no mean: it is empty, or has no more rows than its noise. If `settle` is true, its centroid stays. Otherwise it is
    placed beside the centroid of the largest cluster, to divide that cluster in the next round. The count of that
    cluster is then halved before another centroid is placed.

    Args:
        centroids: Centroids of the round, int64[clusters, dimensions]; public.
        sums: Opened sum of both parties' `cluster_sums`, one cluster after the other.
        least: Least count of a cluster with a mean, times UNIT. Default 1: only empty clusters have none.
        settle: True keeps the centroid of a cluster without a mean.
    """
    size = 1 + centroids.shape[1]
    found, counts = centroids.copy(), [int(count) for count in sums[::size]]
    weak = [cluster for cluster, count in enumerate(counts) if count < max(least, 1)]
    for cluster, count in enumerate(counts):
        if cluster not in weak:
            total = map(int, sums[cluster * size + 1 : (cluster + 1) * size])
            found[cluster] = [(2 * one * UNIT + count) // (2 * count) for one in total]
    found = np.clip(found, -UNIT, UNIT)
    for cluster in weak if not settle else ():
        largest = max(range(len(counts)), key=lambda i: counts[i])
        side = [ASIDE if (cluster >> coordinate % 5 ^ coordinate) & 1 else -ASIDE for coordinate in range(size - 1)]
        found[cluster] = np.clip(found[largest] + np.array(side), -UNIT, UNIT)
        counts[largest] //= 2
    return found
