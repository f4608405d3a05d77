"""k-means on numbers that are public: what follows from them costs no privacy, however often it is begun.

From a noisy grid; or from rounds of noisy sums, of which the first counts many more cells than there are clusters. The
cells' means are few and public, so k-means on them may begin as often as it likes, and the best end is where the other
rounds begin. Rounds by themselves have one start only, and end where it leads. (More centres than clusters first, which
are then clustered: Bahmani, Moseley, Vattani, Kumar, Vassilvitskii, "Scalable k-means++", PVLDB 2012; candidates first,
with privacy: Balcan, Dick, Liang, Mou, Zhang, ICML 2017; a noisy grid before rounds: Su, Cao, Li, Bertino, Jin, CODASPY
2016.)
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protocols.release.centroids import UNIT, Points, cluster_sums, moved, nearest, packed

STARTS = 10  # of which the best end is taken
MOST_ROUNDS = 100
PlaceCounts = NDArray[np.int64]  # int64[places], from 0 up


def weighted(places: Points, rows: PlaceCounts, clusters: int) -> tuple[Points, PlaceCounts]:
    """Lloyd's algorithm on places in fixed point with so many rows each: the centroids, and each one's rows.

    From several starts until nothing changes, or for 100 rounds; the least sum of squared distances wins. Each start is
    drawn by k-means++ (Arthur, Vassilvitskii, SODA 2007), from numbers that are the same on any machine. Without any
    row centroids lie as `packed`.
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


def followed(
    opened: Sequence[Sequence[int]], cells: int, clusters: int, dimensions: int, least: Sequence[int], most: int
) -> tuple[Points, PlaceCounts]:
    """Return where the centroids are after these rounds of noisy sums, and the rows of each, from 0 to `most`.

    The first round's are of `cells` centroids that depend on nothing; `least` is a count as of `moved` for each of all
    rounds. What lacks rows in the last of them stays where it is.
    """
    if not opened:
        return np.array(packed(cells, dimensions), dtype=np.int64), np.zeros(cells, dtype=np.int64)
    centroids, rows = _begun(opened[0], cells, clusters, dimensions, least[0], most)
    for number, (sums, few) in enumerate(zip(opened[1:], least[1:], strict=False), 2):
        centroids = moved(centroids, sums, few, settle=number == len(least))
        rows = rows_of(sums, dimensions, most)
    return centroids, rows


def _begun(
    sums: Sequence[int], cells: int, clusters: int, dimensions: int, least: int, most: int
) -> tuple[Points, PlaceCounts]:
    """k-means on the means of the cells that have one; if they are fewer than clusters, these and public places."""
    strong = np.array([count >= max(least, 1) for count in sums[:: dimensions + 1]])
    means = moved(np.zeros((cells, dimensions), dtype=np.int64), sums, least)[strong]
    rows = rows_of(sums, dimensions, most)[strong]
    lacking = clusters - len(means)
    if lacking <= 0:
        return weighted(means, rows, clusters)
    aside = np.array(packed(clusters, dimensions), dtype=np.int64)[:lacking]
    return np.concatenate([means, aside]), np.concatenate([rows, np.zeros(lacking, dtype=np.int64)])


def rows_of(sums: Sequence[int], dimensions: int, most: int) -> PlaceCounts:
    """Return the rows of each cluster, rounded and within their bounds."""
    counts = sums[:: dimensions + 1]
    return np.array([min(max((count + UNIT // 2) // UNIT, 0), most) for count in counts], dtype=np.int64)


def inertia(places: Points, rows: PlaceCounts, centroids: Points) -> int:
    """Return the sum of the squared distances to the nearest centroids, in squares of the fixed point."""
    apart = places - centroids[nearest(places, centroids)]
    return int(((apart**2).sum(axis=1) * rows).sum())


def _drawn(places: Points, rows: PlaceCounts, clusters: int, draw: random.Random) -> Points:
    """First centroids: each a place drawn in proportion to its rows and its squared distance from those before."""
    centroids: list[Points] = []
    apart, weights = np.full(len(places), np.iinfo(np.int64).max), rows
    for _ in range(clusters):
        sums = np.cumsum(weights)
        chosen = np.searchsorted(sums, draw.randrange(max(int(sums[-1]), 1)), side="right")
        centroids.append(places[chosen % len(places)])  # if all rows lie on centroids already, the first place
        apart = np.minimum(apart, ((places - centroids[-1]) ** 2).sum(axis=1))
        weights = rows * apart
    return np.array(centroids)


def _lloyd(places: Points, rows: PlaceCounts, centroids: Points) -> Points:
    for _ in range(MOST_ROUNDS):
        following = moved(centroids, cluster_sums(places, rows, centroids).reshape(-1).tolist())
        if (following == centroids).all():
            break
        centroids = following
    return centroids
