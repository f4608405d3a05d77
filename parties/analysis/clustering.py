"""k-means on counts that are public: what follows from a noisy grid costs no privacy, however often it is begun."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from protocols.release.centroids import Points, cluster_sums, moved, nearest, packed

STARTS = 10  # of which the best end is taken
MOST_ROUNDS = 100
Rows = NDArray[np.int64]  # int64[places], from 0 up


def weighted(places: Points, rows: Rows, clusters: int) -> tuple[Points, Rows]:
    """Lloyd's algorithm on places in fixed point with so many rows each: the centroids, and each one's rows.

    From several starts until nothing changes, or for 100 rounds; the least sum of squared distances wins. Each start is
    drawn by k-means++ (Arthur, Vassilvitskii, SODA 2007), from numbers that are the same on any machine. Without any
    row centroids lie as `packed`.
    """
    kept = rows > 0
    places, rows = places[kept], rows[kept]
    best = np.array(packed(clusters, places.shape[1]), dtype=np.int64)
    least = inertia(places, rows, best)
    for start in range(STARTS if len(places) else 0):
        found = _lloyd(places, rows, _drawn(places, rows, clusters, random.Random(start)))
        if (loss := inertia(places, rows, found)) < least:
            best, least = found, loss
    own = nearest(places, best)
    return best, np.bincount(own, weights=rows.astype(np.float64), minlength=clusters).astype(np.int64)


def inertia(places: Points, rows: Rows, centroids: Points) -> int:
    """The sum of the squared distances to the nearest centroids, in squares of the fixed point."""
    apart = places - centroids[nearest(places, centroids)]
    return int(((apart**2).sum(axis=1) * rows).sum())


def _drawn(places: Points, rows: Rows, clusters: int, draw: random.Random) -> Points:
    """First centroids: each a place drawn in proportion to its rows and its squared distance from those before."""
    found: list[Points] = []
    apart, weights = np.full(len(places), np.iinfo(np.int64).max), rows
    for _ in range(clusters):
        sums = np.cumsum(weights)
        chosen = np.searchsorted(sums, draw.randrange(max(int(sums[-1]), 1)), side="right")
        found.append(places[chosen % len(places)])  # if all rows lie on centroids already, the first place
        apart = np.minimum(apart, ((places - found[-1]) ** 2).sum(axis=1))
        weights = rows * apart
    return np.array(found)


def _lloyd(places: Points, rows: Rows, centroids: Points) -> Points:
    for _ in range(MOST_ROUNDS):
        found = moved(centroids, cluster_sums(places, rows, centroids).reshape(-1).tolist())
        if (found == centroids).all():
            break
        centroids = found
    return centroids
