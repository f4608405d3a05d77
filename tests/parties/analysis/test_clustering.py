"""k-means on weighted places against the least loss over all partitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from parties.analysis.clustering import inertia, weighted
from protocols.release.centroids import packed


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
