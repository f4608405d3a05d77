"""Noise on one's own minimiser or objective: what a row moves by brute force, and densities of neighbours compared."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from parties.alone.perturbation import GRID, Way, least_lambda, left_epsilon, noises, perturbed, sensitivity
from protocols.regression.losses import Huber, Logistic, Loss
from protocols.regression.minimiser import minimise
from protocols.regression.rows import TrainingRows
from smc.errors import InputError
from tests.support.linear import random_rows, rows

LINES = [(0, 0, 0, 3), (1, 1, 1, 2), (2, 2, 0, 2)]  # 7 rows
EVERY = [(town, age, label) for town, age, label in product(range(3), (0, 2), range(2))]  # the longest


def with_row(row: tuple[int, int, int]) -> TrainingRows:
    return rows([*LINES, (*row, 1)])


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5)], ids=str)
def test_no_row_moves_the_minimiser_further(loss: Loss) -> None:
    """All that the eighth row may be, replaced, and there or not: within 2 / (n lambda), and not all far below it."""
    for regularisation in (1.0, 0.1):
        found = [minimise(with_row(row), loss, regularisation).weights for row in EVERY]
        without = minimise(rows(LINES), loss, regularisation).weights
        replaced = max(float(np.linalg.norm(one - other)) for one in found for other in found)
        added = max(float(np.linalg.norm(one - without)) for one in found)
        bound = sensitivity(8, regularisation)
        assert bound == pytest.approx(2 / (8 * regularisation), rel=1e-6)
        assert replaced <= bound
        assert added <= bound  # that of the greater of the two tables
        if regularisation == 1:
            assert replaced > 0.3 * bound


def loss_of_privacy(loss: Loss, regularisation: float, epsilon: float) -> float:
    """The greatest log-ratio of the densities of published weights, over neighbours and many weights.

    Weights w are published if the noise is b(w) = -n grad J(w): so their density is that of b there, times the
    determinant of the derivative of b, n times the second derivatives of J.
    """
    rng = np.random.default_rng(1)
    far = [
        minimise(with_row(EVERY[0]), loss, regularisation).weights + rng.normal(size=5) * s
        for s in np.geomspace(0.1, 30, 12)
    ]

    def density(some: TrainingRows, weights: np.ndarray) -> float:
        b = some.total * some.gradient(loss, regularisation, weights)
        _, volume = np.linalg.slogdet(some.total * some.curvature(loss, regularisation, weights))
        return float(volume - epsilon / 2 * np.linalg.norm(b))

    worst = 0.0
    tables = [with_row(row) for row in EVERY]
    for weights in far:
        all_ = [density(some, weights) for some in tables]
        worst = max(worst, max(all_) - min(all_))
    return worst


@pytest.mark.parametrize("regularisation", [0.2, 0.05])
def test_neighbours_publish_nearly_the_same_weights(regularisation: float) -> None:
    """With the epsilon' of the paper the loss is below epsilon; with all of epsilon for the noise it would not be."""
    loss, epsilon = Huber(0.5), 3.0
    left = left_epsilon(epsilon, loss, 8, regularisation)
    assert 0 < left < epsilon
    assert 0.3 * epsilon < loss_of_privacy(loss, regularisation, left) <= epsilon
    assert loss_of_privacy(Logistic(), regularisation, left_epsilon(epsilon, Logistic(), 8, regularisation)) <= epsilon
    if regularisation == 0.05:
        assert loss_of_privacy(loss, regularisation, epsilon) > epsilon


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.25)], ids=str)
def test_epsilon_of_the_noise_is_the_papers(loss: Loss) -> None:
    c, ratio = loss.smoothness, 1000 * 0.01
    expected = 0.5 - math.log(1 + 2 * c / ratio + c**2 / ratio**2)
    assert left_epsilon(0.5, loss, 1000, 0.01) == pytest.approx(expected)
    assert (c == 0.25) == isinstance(loss, Logistic)
    assert c == (0.25 if isinstance(loss, Logistic) else 1 / (2 * 0.25))


def test_a_lambda_that_is_too_small_is_refused_with_the_least_one() -> None:
    least = least_lambda(0.1, Logistic(), 1000)
    assert left_epsilon(0.1, Logistic(), 1000, least * 1.001) > 0
    for wrong in (least * 0.999, 1e-9):
        with pytest.raises(
            InputError, match=f"lambda: .* it must be more than {least:.3g}; at 0.00988 half of epsilon"
        ):
            left_epsilon(0.1, Logistic(), 1000, wrong)
    assert left_epsilon(0.1, Logistic(), 1000, 0.009876) == pytest.approx(0.05, rel=1e-3)


def test_the_noise_has_the_law_of_the_paper() -> None:
    """Of density e^(-|b| / scale) in d dimensions: the norm is Gamma(d, scale), the direction even. Fixed seed."""
    rng = np.random.default_rng(3)
    drawn = np.array([noises(1, 5, 0.5, rng)[0] for _ in range(4000)])
    norms = np.linalg.norm(drawn, axis=1)
    assert norms.mean() == pytest.approx(2.5, abs=6 * 0.5 * math.sqrt(5 / 4000))
    assert norms.var() == pytest.approx(1.25, rel=0.2)
    assert np.abs(drawn.mean(axis=0)).max() < 6 * math.sqrt((norms**2).mean() / 5 / 4000)


@pytest.mark.parametrize("way", ["objective", "output"])
def test_no_weight_moves_more_than_its_spread(way: Way) -> None:
    """That of noise on the minimiser is its own; in the objective, a bound. Fixed seed."""
    some, rng = random_rows(4), np.random.default_rng(6)
    found = [perturbed(some, Logistic(), 0.05, 2.0, way, rng) for _ in range(300)]
    moved = np.sqrt(np.mean((np.array([one.weights for one in found]) - minimise(some, Logistic(), 0.05).weights) ** 2))
    (spread,) = {one.spread for one in found}
    assert moved < (1.1 if way == "output" else 0.8) * spread
    assert moved > (0.9 if way == "output" else 0.2) * spread


def test_what_is_published_is_the_minimiser_with_its_noise() -> None:
    """With the same coins: of the objective that has the noise in it, or with the noise added."""
    some, n = random_rows(4), random_rows(4).total
    found = perturbed(some, Logistic(), 0.02, 2.0, "objective", np.random.default_rng(9))
    left = left_epsilon(2.0, Logistic(), n, 0.02)
    tilt = noises(1, 5, 2 / left, np.random.default_rng(9))[0] / n
    assert (found.rows, found.epsilon) == (n, left)
    assert found.weights == pytest.approx(minimise(some, Logistic(), 0.02, tilt).weights, abs=GRID)
    assert np.linalg.norm(some.gradient(Logistic(), 0.02, found.weights) + tilt) < 1e-4
    found = perturbed(some, Huber(0.5), 0.02, 2.0, "output", np.random.default_rng(9))
    added = noises(1, 5, sensitivity(n, 0.02) / 2.0, np.random.default_rng(9))[0]
    assert found.weights == pytest.approx(minimise(some, Huber(0.5), 0.02).weights + added, abs=GRID)
    with pytest.raises(InputError, match="no rows"):
        perturbed(rows([]), Logistic(), 0.1, 1.0, "output", np.random.default_rng())
