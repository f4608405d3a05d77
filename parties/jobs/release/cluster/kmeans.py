"""k-means on public numbers: post-processing without privacy loss, however often it is restarted.

The numbers come from a noisy grid, or from rounds of noisy sums, the first of which counts many more cells than there
are clusters. The cells' means are few and public, so k-means on them may be restarted at will, and the best outcome is
the start of the other rounds. Rounds alone have one start only. (More centres than clusters first, which are then
clustered: Bahmani, Moseley, Vattani, Kumar, Vassilvitskii, "Scalable k-means++", PVLDB 2012; candidates first, with
privacy: Balcan, Dick, Liang, Mou, Zhang, ICML 2017; a noisy grid before rounds: Su, Cao, Li, Bertino, Jin, CODASPY
2016.)
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protocols.release.centroids import UNIT, Points, cluster_sums, moved, nearest, packed

STARTS = 10  # the best of these is taken
MOST_ROUNDS = 100
PlaceCounts = NDArray[np.int64]  # int64[places], nonnegative


def weighted(places: Points, rows: PlaceCounts, clusters: int) -> tuple[Points, PlaceCounts]:
    """Return centroids by Lloyd's algorithm on weighted points in fixed point, and the rows of each centroid.

    Each start is drawn by k-means++ (Arthur, Vassilvitskii, SODA 2007), from numbers that are equal on every machine,
    and runs until nothing changes, or for 100 rounds. The smallest sum of squared distances wins. Without any row the
    centroids are the centres of equal balls that fill the box of bounds.

    Args:
        places: Points in fixed point, [places, dimensions].
        rows: Number of rows at each point.
        clusters: Number of centroids.
    """
    occurring = rows > 0
    places, rows = places[occurring], rows[occurring]
    best = np.array(packed(clusters, places.shape[1]), dtype=np.int64)
    least = inertia(places, rows, best)
    for start in range(STARTS if len(places) else 0):
        centroids = _lloyd(places, rows, _drawn(places, rows, clusters, random.Random(start)))
        if (loss := inertia(places, rows, centroids)) < least:
            best, least = centroids, loss
    clusters_of_places = nearest(places, best)
    return best, np.bincount(clusters_of_places, weights=rows.astype(np.float64), minlength=clusters).astype(np.int64)


def chosen_number(places: Points, rows: PlaceCounts, max_clusters: int, variance: float) -> int:
    """Return the number of clusters, from 2 to `max_clusters`, with the greatest simplified silhouette.

    A row's silhouette is 1 - a / b, with a and b the distances to its centroid and to the next one (Hruschka, de
    Castro, Campello 2004). Both include the variance of a row in its cell. Without it, one cluster per cell would win.

    Args:
        places: Points in fixed point, [places, dimensions].
        rows: Number of rows at each point.
        max_clusters: Largest number of clusters.
        variance: Mean squared distance of a row from its point.
    """

    def silhouette(clusters: int) -> float:
        offsets = places[:, None] - weighted(places, rows, clusters)[0]
        near, far = np.sort(np.sqrt((offsets**2).sum(axis=2) + variance), axis=1)[:, :2].T
        return float((rows * (1 - near / np.maximum(far, 1))).sum())

    return max(range(2, max_clusters + 1), key=silhouette)


def followed(
    opened: Sequence[Sequence[int]], cells: int, clusters: int, dimensions: int, least: Sequence[int], max_rows: int
) -> tuple[Points, PlaceCounts]:
    """Return the centroids after rounds of noisy sums, and the rows of each, from 0 to `max_rows`.

    Args:
        opened: Opened sums of each round; the first round's belong to `cells` fixed centroids.
        cells: Number of cells of the first round.
        clusters: Number of centroids.
        dimensions: Number of columns.
        least: Noisy count, times UNIT, below which a cluster keeps its centroid, for each round of the plan.
        max_rows: Upper bound on the rows of a cluster.
    """
    if not opened:
        return np.array(packed(cells, dimensions), dtype=np.int64), np.zeros(cells, dtype=np.int64)
    centroids, rows = _begun(opened[0], cells, clusters, dimensions, least[0], max_rows)
    for number, (sums, few) in enumerate(zip(opened[1:], least[1:], strict=False), 2):
        centroids = moved(centroids, sums, few, settle=number == len(least))
        rows = rows_of(sums, dimensions, max_rows)
    return centroids, rows


def _begun(
    sums: Sequence[int], cells: int, clusters: int, dimensions: int, least: int, max_rows: int
) -> tuple[Points, PlaceCounts]:
    """Return centroids by k-means on the means of the cells with enough rows, and the rows of each.

    If there are fewer of these cells than clusters, the cells' means are centroids, and public points are the others.
    """
    strong = np.array([count >= max(least, 1) for count in sums[:: dimensions + 1]])
    means = moved(np.zeros((cells, dimensions), dtype=np.int64), sums, least)[strong]
    rows = rows_of(sums, dimensions, max_rows)[strong]
    lacking = clusters - len(means)
    if lacking <= 0:
        return weighted(means, rows, clusters)
    aside = np.array(packed(clusters, dimensions), dtype=np.int64)[:lacking]
    return np.concatenate([means, aside]), np.concatenate([rows, np.zeros(lacking, dtype=np.int64)])


def rows_of(sums: Sequence[int], dimensions: int, max_rows: int) -> PlaceCounts:
    """Return the rows of each cluster, rounded and within their bounds.

    Args:
        sums: Counts, times UNIT, and sums of the clusters.
        dimensions: Number of columns.
        max_rows: Upper bound on the rows of a cluster.
    """
    counts = sums[:: dimensions + 1]
    return np.array([min(max((count + UNIT // 2) // UNIT, 0), max_rows) for count in counts], dtype=np.int64)


def inertia(places: Points, rows: PlaceCounts, centroids: Points) -> int:
    """Return the sum of the squared distances to the nearest centroids, in squares of the fixed point.

    Args:
        places: Points in fixed point.
        rows: Number of rows at each point.
        centroids: The centroids.
    """
    offsets = places - centroids[nearest(places, centroids)]
    return int(((offsets**2).sum(axis=1) * rows).sum())


def _drawn(places: Points, rows: PlaceCounts, clusters: int, draw: random.Random) -> Points:
    centroids: list[Points] = []
    distances, weights = np.full(len(places), np.iinfo(np.int64).max), rows
    for _ in range(clusters):
        sums = np.cumsum(weights)
        chosen = np.searchsorted(sums, draw.randrange(max(int(sums[-1]), 1)), side="right")
        centroids.append(places[chosen % len(places)])  # if all rows lie on centroids already, the first point
        distances = np.minimum(distances, ((places - centroids[-1]) ** 2).sum(axis=1))
        weights = rows * distances
    return np.array(centroids)


def _lloyd(places: Points, rows: PlaceCounts, centroids: Points) -> Points:
    for _ in range(MOST_ROUNDS):
        following = moved(centroids, cluster_sums(places, rows, centroids).reshape(-1).tolist())
        if (following == centroids).all():
            break
        centroids = following
    return centroids
