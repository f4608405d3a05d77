"""Reconstruction: likelihood, a published shape, randomised response against its law, assignment."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from parties.alone.blurring.domain import Domain, Observation
from parties.alone.blurring.estimation import chi_square, reconstruct
from parties.alone.blurring.noise import Gaussian, Noise, Uniform
from parties.alone.blurring.response import Response, reassign
from parties.alone.blurring.strategies import assign
from smc.errors import InputError


def test_it_finds_the_maximum_of_the_likelihood() -> None:
    rng = np.random.default_rng(2)
    chances = rng.dirichlet(np.ones(5), 3).T
    counts = np.array([50.0, 10, 20, 5, 15])

    def loss(logits: np.ndarray) -> float:  # type: ignore[type-arg]
        p = np.exp(logits) / np.exp(logits).sum()
        return -float(counts @ np.log(chances @ p))

    best = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    found = reconstruct(counts, chances, share=1e-12)
    assert found.converged
    assert -float(counts @ np.log(chances @ found.probabilities)) == pytest.approx(best.fun, abs=1e-4)


@pytest.mark.parametrize("noise", [Uniform(0.25), Gaussian(0.125)], ids=str)
def test_plateaus_come_back(noise: Noise) -> None:
    """A shape as in Agrawal, Srikant 2000: two plateaus, which noise makes one hill."""
    rng = np.random.default_rng(3)
    true = np.where(rng.random(100_000) < 0.5, rng.uniform(0.1, 0.3, 100_000), rng.uniform(0.7, 0.9, 100_000))
    domain = Domain.intervals(0, 1, 2000)
    observed = Observation.of(domain, noise)
    published = noise.blur(true, rng)
    found = reconstruct(observed.counts(published), observed.chances, observed.settled, smooth=True)
    shares = np.bincount(domain.codes(true), minlength=domain.size) / len(true)
    raw = np.bincount(domain.codes(published), minlength=domain.size) / len(true)
    assert found.converged
    assert np.abs(found.probabilities - shares).sum() < 0.4 < 0.75 < np.abs(raw - shares).sum()


@given(st.lists(st.integers(0, 50), min_size=3, max_size=30), st.integers(1, 8), st.booleans())
def test_it_ends_in_a_distribution(counts: list[int], size: int, smooth: bool) -> None:
    chances = np.random.default_rng(size).dirichlet(np.ones(len(counts)), size).T
    found = reconstruct(np.array(counts, dtype=float), chances, rounds=50, smooth=smooth)
    assert found.probabilities.sum() == pytest.approx(1)
    assert (found.probabilities >= 0).all()


def test_the_threshold_is_that_of_the_test() -> None:
    for degrees in (2, 5, 20, 99):
        assert chi_square(degrees) == pytest.approx(stats.chi2.isf(0.05, degrees), rel=0.01)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60), st.integers(1, 9))
def test_assignment_keeps_order_and_shares(values: list[int], size: int) -> None:
    published = np.array(values, dtype=float)
    shares = np.random.default_rng(len(values)).dirichlet(np.ones(size))
    codes = assign(published, shares)
    order = np.argsort(published, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    assert np.abs(np.cumsum(np.bincount(codes, minlength=size)) - np.cumsum(shares) * len(values)).max() <= 0.5 + 1e-9


def test_randomised_response_follows_its_law_and_both_ways_undo_it() -> None:
    response, rng = Response(4, 0.4), np.random.default_rng(4)
    assert response.epsilon == pytest.approx(math.log((0.4 + 0.15) / 0.15))
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    true = rng.choice(4, 200_000, p=shares).astype(np.int32)
    said = response.blur(true, rng)
    counts = np.bincount(said, minlength=4).astype(float)
    for i in range(4):
        law = np.bincount(said[true == i], minlength=4) / max((true == i).sum(), 1)
        assert i == 3 or np.abs(law - response.chances[:, i]).max() < 0.01
    assert np.abs(response.inverse(counts) - shares).max() < 0.01
    assert np.abs(response.estimate(counts).probabilities - shares).max() < 0.01
    exact = response.chances @ np.array([0.4, 0.3, 0.2, 0.1]) * 1000
    assert np.allclose(response.inverse(exact), [0.4, 0.3, 0.2, 0.1])
    again = reassign(said, shares, rng)
    assert np.abs(np.bincount(again, minlength=4) / len(again) - shares).max() < 0.01
    assert (again == true).mean() > (said == true).mean()


def test_what_cannot_be_undone() -> None:
    with pytest.raises(InputError, match="keep is 0"):
        Response(3, 0).inverse(np.ones(3))
    with pytest.raises(InputError, match="keep must be between 0 and 1"):
        Response(3, 1.5)
    with pytest.raises(InputError, match="two categories"):
        Response(1, 0.5)
    assert Response(2, 1).epsilon == math.inf
