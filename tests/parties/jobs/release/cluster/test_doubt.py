"""Clusters that may be noise alone say so: beside what one centroid loses on the same rows, and exact identities."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.clusters import UNIT, found, inertia, own, simulated, table, task_of
from parties.jobs.release.cluster.doubt import grid_may_be_noise, round_may_be_noise

DRAWS = 10


def doubts(columns: int, rows: int, epsilon: float, method: str | None = None) -> list[tuple[bool, bool]]:
    """For each draw: whether the clusters lose more than one centroid would, and whether the result says so."""
    task, pairs = task_of(method, rows, columns, epsilon), []
    for seed in range(DRAWS):
        points = table(rows, columns, seed)
        document = task.document(simulated(task, own(task, points), seed))
        one = inertia(points, points.mean(axis=0)[None] / UNIT)
        pairs.append((inertia(points, found(document)) >= one, document["mostly_noise"]))
    return pairs


@pytest.mark.parametrize(
    ("columns", "rows", "epsilon", "method"),
    [(9, 300, 0.05, None), (6, 300, 0.02, "grid"), (6, 300, 0.05, "in-process"), (9, 300, 0.05, "hybrid")],
)
def test_noise_is_called_noise(columns: int, rows: int, epsilon: float, method: str | None) -> None:
    pairs = doubts(columns, rows, epsilon, method)
    assert sum(is_worse for is_worse, _ in pairs) >= 4
    assert [said for is_worse, said in pairs if is_worse].count(False) <= 1


@pytest.mark.parametrize(
    ("columns", "rows", "epsilon", "method"),
    [(2, 1000, 1.0, "grid"), (4, 10_000, 1.0, "in-process"), (6, 10_000, 0.5, "hybrid")],
)
def test_clusters_are_not_doubted(columns: int, rows: int, epsilon: float, method: str) -> None:
    assert doubts(columns, rows, epsilon, method) == [(False, False)] * DRAWS


def test_one_place_alone_is_doubted() -> None:
    """Clusters that all have one mean gain nothing, whatever noise looks like; those apart are believed."""
    rng = np.random.default_rng(1)
    rows, middle, deviation = np.array([400, 300, 200]), np.array([0.25, -0.5, 0.125, 0.5]), 8.0
    sums = np.column_stack([rows, rows[:, None] * middle])
    noisy = np.rint((sums + rng.normal(0, deviation, (1000, *sums.shape))) * UNIT).astype(np.int64)
    doubted = sum(round_may_be_noise(one, UNIT, (deviation * UNIT) ** 2) for one in noisy)
    assert doubted >= 950
    apart = sums + np.array([[0], [300], [-200]]) * np.array([0, 1, 1, 0, 0])
    noisy = np.rint((apart + rng.normal(0, deviation, (1000, *sums.shape))) * UNIT).astype(np.int64)
    assert not any(round_may_be_noise(one, UNIT, (deviation * UNIT) ** 2) for one in noisy)


def test_without_two_means_there_is_nothing_to_believe() -> None:
    sums = np.array([[50 * UNIT, 0], [UNIT, 40 * UNIT]])
    assert round_may_be_noise(sums, 2 * UNIT, 1.0)
    assert not round_may_be_noise(sums, UNIT, 1.0)
    places = np.array([[-UNIT], [UNIT]])
    assert grid_may_be_noise(places, [0, 0], np.array([[0], [0]]), 1.0)
    assert not grid_may_be_noise(places, [50, 50], np.array([[-UNIT], [UNIT]]), 1.0)
