"""The attacks: dependent columns lose their noise, independent ones do not; entropies against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from parties.alone.blurring.attack import entropies, filtered
from parties.alone.blurring.domain import Domain, Observation
from parties.alone.blurring.noise import Gaussian, Uniform


def test_dependent_columns_lose_their_noise() -> None:
    """Ten columns that are all one number: an average over ten leaves a tenth of the variance."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(0, 10, 20_000)
    true = np.stack([hidden * (1 + i / 10) for i in range(10)])
    found = filtered(true + rng.normal(0, 5, true.shape), np.full(10, 25.0))
    assert found.strong == 1
    error = ((found.values - true) ** 2).mean()
    assert 1.5 < error < 4  # 25 as published


def test_noise_alone_is_all_removed() -> None:
    rng = np.random.default_rng(2)
    found = filtered(rng.uniform(-1, 1, (8, 50_000)), np.full(8, 1 / 3))
    assert found.strong <= 1
    assert np.abs(found.values).mean() < 0.1


def test_entropy_of_a_uniform_value_under_uniform_noise() -> None:
    """X in [0, 1], noise in [-1/2, 1/2]: W is triangular with h(W) = 1/2 nat, so I = 1/2 nat (Agrawal, Aggarwal)."""
    domain = Domain.intervals(0, 1, 10_000)
    found = entropies(domain, Observation.of(domain, Uniform(0.5)), np.full(domain.size, 1 / domain.size))
    assert found.before == pytest.approx(1)
    assert found.after == pytest.approx(np.exp(-0.5), abs=0.01)
    assert found.lost == pytest.approx(1 - np.exp(-0.5), abs=0.01)
    more = entropies(domain, Observation.of(domain, Gaussian(50.0)), np.full(domain.size, 1 / domain.size))
    assert more.lost < 0.001
