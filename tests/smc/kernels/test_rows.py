"""Kernels on a party's own rows against numpy's own functions, and arithmetic as it is written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smc import kernels

SIZES = st.sampled_from([0, 1, 2, kernels.ROWS - 1, kernels.ROWS, kernels.ROWS + 1, 2 * kernels.ROWS + 3])


@given(
    st.lists(st.one_of(st.floats(), st.integers(-3, 99).map(lambda n: n / 16)), max_size=30),
    st.floats(-1e6, 1e6),
    st.floats(1e-6, 1e6),
    st.integers(0, 1000),
)
@example([n / 16 for n in range(-3, 99)], 0.0, 0.25, 20)
def test_numbers_are_placed_on_the_grid(numbers: list[float], low: float, step: float, last: int) -> None:
    places = np.full(len(numbers), 77)
    kernels.place(np.array(numbers, dtype=np.float64), np.array([low, step, last], dtype=np.float64), -1, places)
    expected = [-1 if math.isnan(x) else math.floor(min(max((x - low) / step + 0.5, 0.0), last)) for x in numbers]
    assert places.tolist() == expected


@pytest.mark.parametrize("size", [0, 1, kernels.ROWS, 2 * kernels.ROWS + 3])
def test_rows_are_counted_in_all_tables(size: int) -> None:
    rng = np.random.default_rng(size)
    sizes = np.array([3, 5, 2, 1])
    codes = np.array([rng.integers(0, many, size) for many in sizes])
    numbers = rng.integers(1, 1 << 40, size)
    sets = [(0, 1, 2), (2, 0, 3), (1, 3, 3)]
    shapes = [tuple(sizes[list(names)].tolist()) for names in sets]
    starts = np.cumsum([0, *map(math.prod, shapes)])
    counts = np.zeros(starts[-1], dtype=np.int64)
    kernels.count(codes, numbers, np.array(sets), sizes, starts[:-1].copy(), counts)
    for names, shape, start in zip(sets, shapes, starts, strict=False):
        table = np.zeros(shape, dtype=np.int64)
        np.add.at(table, tuple(codes[list(names)]), numbers)
        assert counts[start : start + table.size].tolist() == table.reshape(-1).tolist()


@given(SIZES, st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_points_go_to_the_first_of_the_nearest(size: int, columns: int, clusters: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, centroids = rng.integers(-3, 4, (columns, size)), rng.integers(-3, 4, (clusters, columns))
    numbers = rng.integers(0, 9, size)
    chosen, room = np.empty(size, dtype=np.int64), np.full((2, kernels.ROWS), -7)
    kernels.nearest(points, centroids, room, chosen)
    apart = ((points.T[:, None] - centroids) ** 2).sum(axis=2)
    assert chosen.tolist() == apart.argmin(axis=1).tolist()
    sums = np.zeros((clusters, 1 + columns), dtype=np.int64)
    kernels.add_chosen(points, numbers, chosen, 10, sums)
    for number, line in enumerate(sums.tolist()):
        mine = chosen == number
        assert line == [10 * int(numbers[mine].sum()), *(points * numbers)[:, mine].sum(axis=1).tolist()]


@given(SIZES, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_tables_are_looked_up_and_added_to(size: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, columns)
    starts = np.cumsum([0, *sizes])
    codes = np.array([rng.integers(0, many, size) for many in sizes]).reshape(columns, size).astype(np.int64)
    tables, numbers = rng.normal(size=starts[-1]), rng.integers(-9, 10, size).astype(np.float64)
    sums, added = np.ones(size), np.zeros(starts[-1])
    kernels.look_up(codes, tables, starts, sums)
    kernels.add_up(codes, numbers, starts, added)
    expected, expected_sums = np.zeros(starts[-1]), np.ones(size)
    for of_column, start in zip(codes, starts, strict=False):
        expected_sums += tables[start + of_column]
        np.add.at(expected, start + of_column, numbers)
    assert sums.tolist() == expected_sums.tolist()
    each = np.ones((2, size))
    kernels.look_up_each(codes.astype(np.int32), np.stack([tables, 2 * tables]), starts, each)
    sums.fill(0)
    kernels.look_up(codes, tables, starts, sums)
    assert each.tolist() == [sums.tolist(), (2 * sums).tolist()]
    assert added.tolist() == expected.tolist()
