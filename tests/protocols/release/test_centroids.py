"""Centroids in fixed point against arithmetic in fractions, and the noisy rounds against their sensitivity."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.release.centroids import ASIDE, UNIT, cluster_sums, moved, nearest, packed
from protocols.release.clusters import change, shares

PLACES = st.integers(-UNIT, UNIT)


def points(dimensions: int, least: int = 0, most: int = 8) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(st.lists(PLACES, min_size=dimensions, max_size=dimensions), min_size=least, max_size=most)


def array(rows: list[list[int]], dimensions: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, dimensions)


@given(st.integers(1, 4).flatmap(lambda d: st.tuples(points(d), points(d, 1))))
def test_nearest_is_the_first_of_least_distance(case: tuple[list[list[int]], list[list[int]]]) -> None:
    rows, centroids = case
    size = len(centroids[0])
    apart = [[sum((a - b) ** 2 for a, b in zip(row, c, strict=True)) for c in centroids] for row in rows]
    expected = [distances.index(min(distances)) for distances in apart]
    assert nearest(array(rows, size), array(centroids, size)).tolist() == expected


@given(st.lists(st.integers(-(2**52), 2**52), min_size=6, max_size=6), st.integers(1, 2**30))
def test_means_are_rounded_and_moved_into_the_box(sums: list[int], least: int) -> None:
    """Two clusters of two columns; the quotient in fractions, half a unit away at most."""
    before = np.array([[5, -7], [100, 200]])
    after = moved(before, sums, least)
    for cluster in range(2):
        count, *total = sums[3 * cluster : 3 * cluster + 3]
        if count < least:
            assert after[cluster].tolist() == before[cluster].tolist()
        else:
            inside = [min(max(Fraction(one * UNIT, count), Fraction(-UNIT)), Fraction(UNIT)) for one in total]
            assert all(abs(a - b) <= Fraction(1, 2) for a, b in zip(after[cluster].tolist(), inside, strict=True))


def test_a_cluster_without_rows_parts_the_largest() -> None:
    """The first beside the largest, the second beside what is then the largest; in the last round they stay."""
    before = np.array([[0], [500], [-500], [-900]])
    sums = [9 * UNIT, 9 * 100, 8 * UNIT, 8 * -100, 0, 0, -UNIT, 77]
    assert moved(before, sums)[:, 0].tolist() == [100, -100, -500, -900]
    assert moved(before, sums, settle=False)[:, 0].tolist() == [100, -100, 100 - ASIDE, -100 + ASIDE]
    sums[2:4] = [4 * UNIT, 4 * -100]  # half of 9 is more still
    assert moved(before, sums, settle=False)[:, 0].tolist() == [100, -100, 100 - ASIDE, 100 + ASIDE]


@pytest.mark.parametrize(
    ("clusters", "dimensions", "distance"),
    [(1, 1, 0), (1, 5, 0), (2, 1, 0.9), (4, 2, 0.7), (5, 8, 1.0), (30, 3, 0.4), (40, 2, 0.22)],
)
def test_first_centroids_are_apart_and_inside(clusters: int, dimensions: int, distance: float) -> None:
    """The greatest distance of two points on a line is 1, of four in the square 1, as balls must lie inside."""
    found = np.array(packed(clusters, dimensions))
    assert found.shape == (clusters, dimensions)
    assert (abs(found) <= UNIT).all()
    apart = ((found[:, None] - found) ** 2).sum(axis=2)[~np.eye(clusters, dtype=bool)]
    assert np.sqrt(apart).min(initial=9 * UNIT) >= distance * UNIT
    if clusters == 1:
        assert not found.any()


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_sensitivity_by_brute_force(dimensions: int) -> None:
    """All tables of three rows on a lattice, all neighbours: the greatest change is what noise is made for."""
    lattice = list(product([-UNIT, 1, UNIT], repeat=dimensions))
    centroids = np.array(lattice[:3])
    sums = {
        size: {
            rows: cluster_sums(array(list(map(list, rows)), dimensions), np.ones(size, dtype=np.int64), centroids)
            for rows in combinations_with_replacement(lattice, size)
        }
        for size in ((2, 3) if dimensions == 1 else (1, 2))
    }
    few, many = sums.values()
    added = max(int(abs(many[tuple(sorted((*rows, row)))] - one).sum()) for rows, one in few.items() for row in lattice)
    replaced = max(
        int(abs(many[tuple(sorted((*rows, row)))] - many[tuple(sorted((*rows, other)))]).sum())
        for rows in few
        for row in lattice
        for other in lattice
    )
    assert (added, replaced) == (change(dimensions, False), change(dimensions, True))


@given(
    st.integers(1, 10**6).map(lambda n: Fraction(n, 10**4)),
    st.integers(1, 20),
    st.sampled_from([Fraction(1), Fraction(3, 2)]),
)
def test_shares_are_all_of_epsilon(epsilon: Fraction, rounds: int, growth: Fraction) -> None:
    each = shares(epsilon, rounds, growth)
    assert (len(each), sum(each)) == (rounds, epsilon)
    assert sum(Fraction(str(float(one))) for one in each) == epsilon
    assert all(later / before == pytest.approx(growth, rel=0.01) for before, later in pairwise(each[1:][-5:]))
    assert each[0] == pytest.approx(epsilon / rounds, rel=0.01)
