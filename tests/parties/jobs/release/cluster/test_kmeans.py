"""k-means on weighted places against the least loss over all partitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from parties.jobs.release.cluster.kmeans import followed, inertia, weighted
from protocols.release.centroids import UNIT, cluster_sums, packed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_partition_is_better(seed: int) -> None:
    """Eight places of two columns, three clusters, all 3^8 partitions; but for rounding to whole places."""
    draw = np.random.default_rng(seed)
    places = draw.integers(-1000, 1000, (8, 2))
    rows = draw.integers(0, 9, 8)
    found, sizes = weighted(places, rows, 3)
    assert sizes.sum() == rows.sum()

    def loss(partition: tuple[int, ...]) -> float:
        total = 0.0
        for cluster in range(3):
            inside = np.array(partition) == cluster
            if weight := rows[inside].sum():
                mean = (places[inside] * rows[inside, None]).sum(axis=0) / weight
                total += (((places[inside] - mean) ** 2).sum(axis=1) * rows[inside]).sum()
        return total

    best = min(map(loss, product(range(3), repeat=8)))
    assert best <= inertia(places, rows, found) <= best + 2 * rows.sum()


def test_no_rows_and_one_place() -> None:
    """Nothing to go by: centroids lie where no data put them; one place draws one to it and leaves no loss."""
    nowhere = np.array([[5, 5], [7, 7]])
    found, sizes = weighted(nowhere, np.array([0, 0]), 3)
    assert [tuple(one) for one in found.tolist()] == list(packed(3, 2))
    assert sizes.tolist() == [0, 0, 0]
    found, sizes = weighted(nowhere, np.array([0, 4]), 3)
    assert inertia(nowhere, np.array([0, 4]), found) == 0
    assert sizes.sum() == 4


def round_clusters(seed: int) -> np.ndarray:
    """2,000 points in four round clusters of the square."""
    draw = np.random.default_rng(seed)
    places = draw.uniform(-0.8, 0.8, (4, 2))[draw.integers(0, 4, 2000)] + draw.normal(0, 0.1, (2000, 2))
    return np.rint(np.clip(places, -1, 1) * UNIT).astype(np.int64)


@pytest.mark.slow
def test_rounds_that_begin_with_many_cells_end_as_well_as_many_starts() -> None:
    """Five rounds without noise, against ten starts on all points; those that begin with as many cells do not."""
    ratios: dict[int, list[float]] = {4: [], 32: []}
    for seed in range(12):
        points, ones = round_clusters(seed), np.ones(2000, dtype=np.int64)
        best = inertia(points, ones, weighted(points, ones, 4)[0])
        for cells, found in ratios.items():
            opened: list[list[int]] = []
            for _ in range(5):
                places, _ = followed(opened, cells, 4, 2, [UNIT] * 5, 2000)
                opened.append(cluster_sums(points, ones, places).reshape(-1).tolist())
            places, rows = followed(opened, cells, 4, 2, [UNIT] * 5, 2000)
            assert rows.sum() == 2000
            found.append(inertia(points, ones, places) / best)
    assert max(ratios[32]) < 1.1
    assert sorted(ratios[4])[8] > 1.3
