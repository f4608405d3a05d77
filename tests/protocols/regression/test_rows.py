"""Losses, features and gradients against their definitions; a row's vector and gradient are no longer than promised."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from protocols.regression.features import ONE, Column, Contrasts, Features
from protocols.regression.losses import Huber, Logistic, Loss, radius
from protocols.regression.minimiser import TOLERANCE, minimise
from protocols.regression.rows import SLOPE_BITS, TrainingRows
from smc.errors import InputError
from tests.support.linear import FEATURES, matrix, objective, random_rows, rows

LOSSES = [Logistic(), Huber(0.5), Huber(0.1)]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slope_and_curvature_are_those_of_the_loss(loss: Loss) -> None:
    z, step = np.linspace(-4.03, 4.07, 200), 1e-5
    slope = (loss.value(z + step) - loss.value(z - step)) / (2 * step)
    curvature = (loss.slope(z + step) - loss.slope(z - step)) / (2 * step)
    assert np.allclose(loss.slope(z), slope, atol=1e-7)
    assert np.allclose(loss.curvature(z), curvature, atol=1e-5)
    assert (np.abs(loss.slope(z)) <= 1).all()
    assert (loss.curvature(z) <= loss.smoothness).all()
    assert loss.curvature(z).max() > 0.99 * loss.smoothness
    assert loss.value(np.array([-800.0, 800.0])) == pytest.approx([800 + (not isinstance(loss, Logistic)), 0])
    assert loss.at_zero == pytest.approx(math.log(2) if isinstance(loss, Logistic) else 1)


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=6), st.randoms())
def test_no_row_is_longer_than_one(columns: list[tuple[int, bool]], random: object) -> None:
    """Whatever stands in it: proved by the schema, in integers."""
    del random
    made = tuple(
        Column(
            f"c{i}", tuple(map(str, range(size))), tuple(FEATURES.columns[1].numbers or ())[:size] if numeric else None
        )
        for i, (size, numeric) in enumerate(columns)
    )
    features = Features(made)
    worst = [max(range(column.size if column.numbers is None else len(column.values))) for column in made]
    vector = features.vector(worst)
    assert int(vector @ vector) <= ONE**2
    assert (len(columns) + 1) * (features.unit + 1) ** 2 > ONE**2  # and not much shorter, if all are 1


@settings(max_examples=50)
@given(st.lists(st.one_of(st.integers(1, 300), st.none()), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_contrasts_are_no_longer_than_one_and_say_the_same(sizes: list[int | None], seed: int) -> None:
    """Of every value of every column; what they add to a score is what features of ones and zeros can add."""
    numbers = FEATURES.columns[1]
    made = Contrasts(
        tuple(
            Column(str(i), tuple(map(str, range(size)))) if size else replace(numbers, name=str(i))
            for i, size in enumerate(sizes)
        )
    )
    rng, longest = np.random.default_rng(seed), made.constant**2
    for column in made.columns:
        alone = replace(made, columns=(column,))
        alone.__dict__["unit"] = made.unit
        rows = [alone.vector((code,))[:-1] for code in range(len(column.values))]
        lengths = [int(row @ row) for row in rows]
        longest += max(lengths)
        if column.numbers is None and len(rows) > 1:
            apart = [int((one - other) @ (one - other)) for one, other in pairwise(rows)]
            assert np.allclose(apart, 2 * made.unit**2, rtol=0.01)  # all values are as far from each other
    assert 0.99 * ONE**2 < longest <= ONE**2
    codes = [[rng.integers(len(column.values)) for column in made.columns] for _ in range(5)]
    weights, plain = rng.normal(size=made.number), Features(made.columns)
    vectors = np.array([made.vector(row) for row in codes])
    assert (vectors**2).sum(axis=1).max() <= ONE**2
    scores = np.array([plain.vector(row) for row in codes]) @ made.plain(weights) / ONE
    assert scores == pytest.approx(vectors @ weights / ONE, abs=2 * len(sizes) * 2**-14 * np.abs(weights).max())
    some = TrainingRows(made, np.array(codes), np.ones(5), np.arange(5))
    assert some.margins(weights) == pytest.approx(vectors @ weights / ONE)
    assert some.gathered(np.arange(5)).tolist() == (np.arange(5) @ vectors).tolist()


def test_features_are_what_the_schema_says() -> None:
    scale = FEATURES.unit
    assert FEATURES.number == 5
    assert FEATURES.vector((1, 2)).tolist() == [0, scale, 0, scale, scale]
    assert FEATURES.vector((0, 1)).tolist() == [scale, 0, 0, int(-scale / 2), scale]
    assert FEATURES.vector((2, 3)).tolist() == [0, 0, scale, 0, scale]  # no number: the middle
    assert scale == int(ONE / math.sqrt(3))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_gradient_is_that_of_the_objective(loss: Loss) -> None:
    """By definition, row by row, and by finite differences."""
    some, rng = random_rows(1), np.random.default_rng(2)
    for _ in range(3):
        weights = rng.normal(size=5)
        assert some.objective(loss, 0.1, weights) == pytest.approx(objective(some, loss, 0.1, weights), rel=1e-3)
        for place in range(5):
            step = np.eye(5)[place] * 1e-5
            ahead, behind = (some.objective(loss, 0.1, weights + s) for s in (step, -step))
            assert some.gradient(loss, 0.1, weights)[place] == pytest.approx((ahead - behind) / 2e-5, abs=1e-7)
            rise = some.gradient(loss, 0.1, weights + step) - some.gradient(loss, 0.1, weights - step)
            if isinstance(loss, Logistic):
                assert some.curvature(loss, 0.1, weights)[place] == pytest.approx(rise / 2e-5, abs=1e-6)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1 << SLOPE_BITS, 5000, 163]), st.sampled_from(LOSSES))
def test_sums_of_slopes_are_exact_and_no_row_counts_for_more(seed: int, clip: int, loss: Loss) -> None:
    """The sum over rows one by one is the sum; one row is a vector of integers, as long as the clip allows at most."""
    some, weights = random_rows(seed, 8, most=1000), np.random.default_rng(seed).normal(size=5) * 30
    singles = [
        TrainingRows(some.features, some.codes[i : i + 1], some.signs[i : i + 1], np.ones(1, dtype=np.int64)).slopes(
            loss, weights, clip
        )
        for i in range(8)
    ]
    for single in singles:
        assert single.dtype == np.int64
        assert sum(int(one) ** 2 for one in single) <= (clip * ONE) ** 2
    expected = sum(int(count) * single for count, single in zip(some.counts, singles, strict=True))
    assert some.slopes(loss, weights, clip).tolist() == np.asarray(expected).tolist()
    if clip == 1 << SLOPE_BITS:  # nothing is clipped: the gradient, but for the digits
        exact = (some.gradient(loss, 0.0, weights) * some.total).tolist()
        assert some.slopes(loss, weights, clip) / ONE / clip == pytest.approx(exact, abs=some.total * 2**-SLOPE_BITS)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("made", [FEATURES, Contrasts(FEATURES.columns)], ids=["features", "contrasts"])
def test_no_row_counts_for_more_whatever_the_weights_are(loss: Loss, made: Features) -> None:
    """Not even if they are infinite, no numbers or too large for their products: every row there can be, by itself."""
    huge, size = np.finfo(float).max, made.number
    some = np.random.default_rng(1).choice([np.inf, -np.inf, huge, -huge, 0], (20, size))
    for weights in (np.full(size, np.nan), np.full(size, -np.inf), *some):
        for codes in np.ndindex(*map(len, made.amounts)):
            row = TrainingRows(made, np.array([codes]), np.ones(1), np.ones(1, dtype=np.int64))
            assert sum(int(one) ** 2 for one in row.slopes(loss, weights, 5000)) <= (5000 * ONE) ** 2


def test_no_rows_have_no_slopes() -> None:
    none = rows([])
    assert none.total == 0
    assert none.slopes(Logistic(), np.ones(5), 100).tolist() == [0] * 5


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("regularisation", [0.3, 1e-2, 1e-4])
def test_the_minimiser_is_certified(loss: Loss, regularisation: float) -> None:
    """By the gradient's norm, and no point near it is lower; its length is within the public radius."""
    some, rng = random_rows(5), np.random.default_rng(6)
    found = minimise(some, loss, regularisation)
    assert found.gradient <= TOLERANCE
    assert np.linalg.norm(some.gradient(loss, regularisation, found.weights)) == pytest.approx(found.gradient)
    least = some.objective(loss, regularisation, found.weights)
    for scale in (1e-3, 0.1, 3):
        assert some.objective(loss, regularisation, found.weights + scale * rng.normal(size=5)) > least
    assert np.linalg.norm(found.weights) <= radius(loss, regularisation)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=str)
def test_the_minimiser_is_that_of_another_program(loss: Loss) -> None:
    """SciPy's, of the objective by its definition, with its own derivatives."""
    some = random_rows(7)
    signed = matrix(some)

    def defined(weights: np.ndarray) -> float:
        return float(0.01 / 2 * weights @ weights + loss.value(signed @ weights).mean())

    theirs = optimize.minimize(defined, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    assert minimise(some, loss, 0.01).weights == pytest.approx(theirs.x, abs=2e-3)


def test_too_many_features_are_not_fitted_exactly() -> None:
    many = Features((Column("a", tuple(map(str, range(2000)))),))
    with pytest.raises(InputError, match="2001 features, at most 2000"):
        minimise(TrainingRows(many, np.zeros((1, 1), np.int64), np.ones(1), np.ones(1, np.int64)), Logistic(), 0.1)
