"""Rows out of marginals by relaxed projection: the slope, what is recovered, and that a seed decides all."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from protocols.synthesis.marginals import Generator, Measurement
from protocols.synthesis.relaxed_projection import RelaxedProjection, draw, goals_of, loss, softmax

DOMAIN = {"a": 3, "b": 2, "c": 4}


def counted(table: Mapping[str, NDArray[np.int64]], columns: tuple[str, ...]) -> NDArray[np.int64]:
    counts = np.zeros([DOMAIN[name] for name in columns], dtype=np.int64)
    for cell in zip(*(table[name] for name in columns), strict=True):
        counts[cell] += 1
    return counts


def correlated(rows: int, seed: int) -> dict[str, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, rows)
    b = (a + rng.integers(0, 3, rows) > 2).astype(np.int64)
    return {"a": a, "b": b, "c": (a + 2 * b + (rng.random(rows) < 0.2)) % 4}


def measured(table: Mapping[str, NDArray[np.int64]], *sets: tuple[str, ...], sigma: float = 0.01) -> list[Measurement]:
    return [Measurement(columns, counted(table, columns), sigma) for columns in sets]


@settings(max_examples=20)
@given(st.integers(0, 1 << 32), st.integers(1, 4))
def test_the_slope_is_that_of_finite_differences(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    sets = [("a",), ("c", "a"), ("b", "c"), ("b", "a", "c")]
    goals = goals_of(
        DOMAIN,
        [Measurement(one, rng.integers(-2, 9, [DOMAIN[name] for name in one]), rng.uniform(1, 3)) for one in sets],
    )
    free = {name: rng.standard_normal((rows, size)) for name, size in DOMAIN.items()}
    _, slopes = loss(free, goals)
    for name in DOMAIN:
        for place in np.ndindex(free[name].shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = {other: numbers.copy() for other, numbers in free.items()}
                moved[name][place] += step
                ends.append(loss(moved, goals)[0])
            assert slopes[name][place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-8)


def test_the_loss_is_the_weighted_squared_error() -> None:
    """Against sums over rows and cells one by one."""
    rng = np.random.default_rng(3)
    free = {name: rng.standard_normal((5, size)) for name, size in DOMAIN.items()}
    table = {name: softmax(numbers) for name, numbers in free.items()}
    counts = {("a", "b"): rng.integers(0, 50, (3, 2)), ("b", "c"): rng.integers(0, 50, (2, 4))}
    sigmas = {("a", "b"): 1.0, ("b", "c"): 2.0}
    # The sum of c cells with noise of variance v has a variance of c v.
    votes = {one: 1 / (counts[one].size * sigmas[one] ** 2) for one in counts}
    total = sum(votes[one] * counts[one].sum() for one in counts) / sum(votes.values())
    expected = 0.0
    for (first, second), noisy in counts.items():
        for i, j in np.ndindex(noisy.shape):
            share = np.mean([table[first][k, i] * table[second][k, j] for k in range(5)])
            expected += (share - noisy[i, j] / total) ** 2 / sigmas[first, second] ** 2
    found = loss(free, goals_of(DOMAIN, [Measurement(one, counts[one], sigmas[one]) for one in counts]))
    assert found[0] == pytest.approx(expected)


def test_several_measurements_of_one_set_are_one_goal() -> None:
    """By precision; the column with fewer categories stands first."""
    (goal,) = goals_of(
        DOMAIN,
        [
            Measurement(("a", "b"), np.array([[10, 0], [0, 0], [0, 90]]), 1.0),
            Measurement(("b", "a"), np.array([[60, 0, 0], [0, 0, 40]]), 3.0),
        ],
    )
    assert goal.columns == ("b", "a")
    np.testing.assert_allclose(goal.shares, [[0.15, 0, 0], [0, 0, 0.85]])
    assert goal.weight == 1.0


def test_marginals_without_noise_are_recovered() -> None:
    table = correlated(4000, 1)
    sets = [*combinations(DOMAIN, 1), *combinations(DOMAIN, 2), tuple(DOMAIN)]
    generator: Generator = RelaxedProjection(size=200)
    found = generator.generate(DOMAIN, measured(table, *sets), 20_000, seed=7)
    assert list(found) == list(DOMAIN)
    for one in sets:
        distance = np.abs(counted(found, one) / 20_000 - counted(table, one) / 4000).sum() / 2
        assert distance < 0.02, one  # 20,000 rows drawn at random come no nearer than about 0.014
    # Independent columns with the same one-way marginals are far from it.
    apart = RelaxedProjection(size=200).generate(DOMAIN, measured(table, ("a",), ("b",), ("c",)), 20_000, seed=7)
    assert np.abs(counted(apart, tuple(DOMAIN)) / 20_000 - counted(table, tuple(DOMAIN)) / 4000).sum() / 2 > 0.2


def test_nothing_measured_is_a_uniform_table() -> None:
    found = RelaxedProjection(size=50, steps=1).generate(DOMAIN, [], 12_000, seed=1)
    assert np.abs(counted(found, ("a",)) / 12_000 - 1 / 3).max() < 0.1


def test_what_is_not_measured_is_uniform_and_independent() -> None:
    found = RelaxedProjection(size=50, steps=50).generate(DOMAIN, measured(correlated(500, 2), ("b",)), 12_000, seed=1)
    assert np.abs(counted(found, ("a",)) / 12_000 - 1 / 3).max() < 0.05
    assert np.abs(counted(found, ("c",)) / 12_000 - 1 / 4).max() < 0.05


def test_the_seed_decides() -> None:
    measurements = measured(correlated(300, 4), ("a", "b"), ("b", "c"))
    first, again, other = (
        RelaxedProjection(size=30, steps=20).generate(DOMAIN, measurements, 77, seed) for seed in (5, 5, 6)
    )
    assert all((first[name] == again[name]).all() for name in DOMAIN)
    assert any((first[name] != other[name]).any() for name in DOMAIN)


def test_counts_that_noise_made_senseless_still_give_rows() -> None:
    """Every count negative: the total is no number of rows, and still there is a table."""
    noisy = [Measurement(("a", "c"), np.full((3, 4), -40), 30.0), Measurement(("b",), np.array([-5, -9]), 30.0)]
    found = RelaxedProjection(size=10, steps=20).generate(DOMAIN, noisy, 25, 1)
    for name, size in DOMAIN.items():
        assert found[name].shape == (25,)
        assert found[name].min() >= 0
        assert found[name].max() < size


@settings(max_examples=30)
@given(st.integers(1, 7), st.integers(0, 60), st.integers(0, 1 << 32))
def test_a_relaxed_row_gives_each_category_as_often_as_it_is_likely(size: int, rows: int, seed: int) -> None:
    """Rounded up or down among the copies of a relaxed row, which are as many as the others' or one more."""
    rng = np.random.default_rng(seed)
    # The first column tells from which relaxed row a row comes.
    table = {"row": np.eye(size), "x": softmax(2 * rng.standard_normal((size, 3)))}
    found = draw(table, rows, rng)
    copies = np.bincount(found["row"], minlength=size)
    assert copies.sum() == rows
    assert set(copies) <= {rows // size, -(-rows // size)}
    for k in range(size):
        often = np.bincount(found["x"][found["row"] == k], minlength=3)
        assert (np.abs(often - copies[k] * table["x"][k]) < 1 + 1e-9).all()


def test_columns_are_drawn_independently() -> None:
    """From one relaxed row: 40,000 rows, each of four cells within 6 standard deviations (false alarm below 1e-7)."""
    found = draw({"a": np.array([[0.3, 0.7]]), "b": np.array([[0.6, 0.4]])}, 40_000, np.random.default_rng(8))
    for i, j in np.ndindex(2, 2):
        expected = [0.3, 0.7][i] * [0.6, 0.4][j]
        share = ((found["a"] == i) & (found["b"] == j)).mean()
        assert abs(share - expected) < 6 * (expected / 40_000) ** 0.5
