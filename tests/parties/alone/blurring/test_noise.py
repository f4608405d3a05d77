"""Noise: the notes' table of the privacy metric, laws against samples and scipy, intervals and their bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from parties.alone.blurring.domain import Domain, Observation
from parties.alone.blurring.noise import Cells, Gaussian, Noise, Uniform, at_privacy
from parties.base.randomness import private
from smc.errors import InputError

NOISES: list[Noise] = [Uniform(7.0), Gaussian(3.0), Cells(4.0, 0.0, 10.0)]


def test_the_privacy_metric_of_the_notes() -> None:
    for confidence in (0.5, 0.95, 0.999):
        assert Cells(10, 0, 100).width(confidence) == pytest.approx(confidence * 10)
        assert Uniform(5).width(confidence) == pytest.approx(confidence * 10)
    assert [round(Gaussian(1).width(c), 3) for c in (0.5, 0.95, 0.999)] == [1.349, 3.920, 6.581]


def test_salary_of_the_notes() -> None:
    found = at_privacy("uniform", 0.5, 20e3, 150e3)
    assert isinstance(found, Uniform)
    assert int(2 * found.alpha / 1000) == 68
    for kind in ("uniform", "gaussian", "cells"):
        assert at_privacy(kind, 0.5, 20e3, 150e3).width(0.95) == pytest.approx(65e3)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_laws_are_those_of_samples(noise: Noise) -> None:
    """Chances of the bins against 200,000 values blurred; half the intervals are points."""
    domain = Domain(np.array([0.0, 3.0, 9.0]), np.array([3.0, 3.0, 10.0]))
    observed = Observation.of(domain, noise)
    assert np.allclose(observed.chances.sum(axis=0), 1)
    rng = np.random.default_rng(1)
    for i in range(domain.size):
        true = rng.uniform(domain.lower[i], domain.upper[i], 200_000)
        shares = observed.counts(noise.blur(true, rng)) / 200_000
        assert np.abs(shares - observed.chances[:, i]).max() < 0.005


def _below(x: float, law: Any, bound: float) -> float:
    return float(law.cdf(bound - x))


@settings(max_examples=30)
@given(st.floats(-20, 20), st.floats(-5, 5), st.floats(0.5, 5), st.floats(0.1, 10))
def test_the_density_is_integrated_over_the_interval(bound: float, lower: float, width: float, scale: float) -> None:
    ends = np.array([lower]), np.array([lower + width])
    for noise, law in ((Uniform(scale), stats.uniform(-scale, 2 * scale)), (Gaussian(scale), stats.norm(0, scale))):
        kinks = sorted({bound - scale, bound + scale})
        inside = [k for k in kinks if lower < k < lower + width]
        exact = integrate.quad(_below, lower, lower + width, args=(law, bound), points=inside or None)[0] / width
        assert noise.below(np.array([bound]), *ends)[0, 0] == pytest.approx(exact, abs=1e-6)


def test_cells_are_published_by_their_middles() -> None:
    found = Cells(4.0, 0.0, 10.0).blur(np.array([0.0, 3.9, 4.0, 9.0, 10.0]), np.random.default_rng())
    assert found.tolist() == [2, 2, 6, 9, 9]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=300), st.integers(1, 20_000))
def test_every_value_has_its_interval(values: list[float], rows: int) -> None:
    cells = np.array(values)
    for domain in (Domain.of_values(cells, rows), Domain.intervals(-100, 100, rows)):
        codes = domain.codes(cells)
        assert (domain.lower[codes] - 1e-9 <= cells).all()
        assert (cells <= domain.upper[codes] + 1e-9).all()


def test_private_noise_is_new_each_time() -> None:
    assert private().integers(1 << 62) != private().integers(1 << 62)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.0, 0, 1), "privacy must be over 0, not 0"),
        ((0.5, 1, 1), "low must be below high, and 1 is not below 1"),
        ((0.5, 0, 1, 1.0), "confidence must be over 0 and below 1"),
        ((0.5, -1e200, 1e200), "a range must lie between -1e\\+100 and 1e\\+100"),
        ((1e308, 0, 100), "privacy 1e\\+308 at confidence 0.95: the noise would be too large"),
        ((1e-300, 0, 100), "choose privacy near 1 and confidence near 0.95"),
        ((0.5, 0, 1, 1e-300), "choose privacy near 1 and confidence near 0.95"),
    ],
)
def test_numbers_that_make_no_sense(numbers: tuple[float, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        at_privacy("uniform", *numbers)
