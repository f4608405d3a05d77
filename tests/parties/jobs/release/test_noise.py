"""How far noise reaches, against exact sums of probabilities; and the numbers of the textbook mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs.release.noise import CONFIDENCE, Noise, gauss, laplace
from parties.jobs.spending import PureLoss, exact
from tests.support.concentrated import epsilon_of_rho

NONE = PureLoss("none", Fraction(0))
HALF = 1 << 11


def probabilities(noise: Noise, terms: int) -> np.ndarray:
    """The law of the sum on -HALF .. HALF, straight from the definition and by convolution."""
    x = np.arange(-HALF, HALF + 1)
    s = float(noise.scale)
    weights = np.exp(-np.abs(x) / s) if noise.family == "discrete Laplace" else np.exp(-(x**2) / (2 * s * s))
    one = np.where(weights < 1e-30, 0, weights / weights.sum())
    law = one
    for _ in range(terms - 1):
        law = np.convolve(law, one, mode="same")
    return law


@pytest.mark.parametrize("family", ["discrete Laplace", "discrete Gaussian"])
@pytest.mark.parametrize("scale", [Fraction(1, 16), Fraction(1), Fraction(10), Fraction(333, 10)])
@pytest.mark.parametrize("terms", [1, 2, 7])
def test_the_reach_is_the_least_interval(family: str, scale: Fraction, terms: int) -> None:
    noise = Noise(family, scale, Fraction(1), NONE, 1)  # type: ignore[arg-type]
    law, middle = probabilities(noise, terms), HALF
    reach = noise.reach(terms)
    assert law[middle - reach : middle + reach + 1].sum() >= CONFIDENCE - 1e-9
    assert reach == 0 or law[middle - reach + 1 : middle + reach].sum() < CONFIDENCE


@settings(max_examples=30)
@given(st.fractions(Fraction(1, 16), 10**6))
def test_one_sample_of_laplace_noise_by_its_tail(scale: Fraction) -> None:
    """P(|x| > r) = 2 alpha^(r + 1) / (1 + alpha); above a scale of 512 the interval is a little wider."""
    alpha = math.exp(-1 / float(scale))
    reach = Noise("discrete Laplace", scale, Fraction(1), NONE, 1).reach()
    assert 2 * alpha ** (reach + 1) / (1 + alpha) <= 1 - CONFIDENCE + 1e-9
    slack = 1 if scale <= 512 else math.ceil(float(scale) / 256) + 1  # two steps of the coarser grid, and rounded up
    assert reach < slack or 2 * alpha ** (reach + 1 - slack) / (1 + alpha) >= 1 - CONFIDENCE - 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 100), st.decimals("0.001", 16, places=6).map(Fraction), st.integers(3, 12))
def test_gaussian_noise_spends_no_more_than_was_asked(numbers: int, epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    noise = gauss(epsilon, delta, numbers, "add-remove")
    rho = float(noise.loss.amount)
    spent = epsilon_of_rho(rho, float(delta))
    assert spent <= float(epsilon) * (1 + 1e-7)
    assert spent >= float(epsilon) * (1 - 1e-3)
    assert rho == pytest.approx(numbers / (2 * float(noise.scale) ** 2))
    assert (noise.loss.measure, noise.loss.delta) == ("rho", 0)


def test_the_numbers_of_the_notes() -> None:
    """m counts: m / epsilon; a histogram: 1 / epsilon; Gaussian noise grows with the root of m only."""
    assert laplace(exact(0.1), 1, "add-remove").scale == 10
    assert laplace(exact(0.1), 7, "add-remove").scale == 70
    one, many = (float(gauss(exact(0.5), exact(1e-6), m, "add-remove").scale) for m in (1, 100))
    assert many == pytest.approx(10 * one, rel=1e-4)
    assert one == pytest.approx(8.67664)
    assert one < 0.82 * math.sqrt(2 * math.log(1.25e6)) / 0.5  # the classical one, which needs epsilon < 1


@pytest.mark.parametrize(
    ("epsilon", "continuous", "least", "ours", "price"),
    [(1.0, 4.225, 4.231, 4.531, 1.076), (0.5, 8.058, 8.053, 8.677, 0.541)],
)
def test_the_least_sigma_of_a_single_release(
    epsilon: float, continuous: float, least: float, ours: float, price: float
) -> None:
    """Delta 10^-6, enumerated: the limit of real noise (Balle, Wang 2018) is not that of whole numbers."""

    def delta(sigma: float) -> float:
        x = np.arange(-400, 401)
        law = np.exp(-(x**2) / (2 * sigma**2))
        return float(np.maximum(law[:-1] - math.exp(epsilon) * law[1:], 0).sum() / law.sum())

    def of_real_noise(sigma: float) -> float:
        below = [math.erfc((epsilon * sigma + side / (2 * sigma)) / math.sqrt(2)) / 2 for side in (-1, 1)]
        return below[0] - math.exp(epsilon) * below[1]

    assert of_real_noise(continuous) <= 1e-6 < of_real_noise(continuous - 0.001)
    assert delta(least) <= 1e-6 < delta(least - 0.001)
    assert (delta(4.225) > 1e-6) or epsilon < 1
    noise = gauss(exact(epsilon), exact(1e-6), 1, "add-remove")
    assert float(noise.scale) == pytest.approx(ours, abs=0.001)
    assert delta(float(noise.scale)) < 0.23e-6
    assert epsilon_of_rho(1 / (2 * least**2), 1e-6) == pytest.approx(price, abs=0.001)


def test_what_was_written_counts() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-6) == Fraction(1, 10**6)
    assert laplace(exact(0.1), 1, "replace").loss == PureLoss("discrete Laplace", exact(0.1), adjacency="replace")
    assert Noise("discrete Laplace", Fraction(2), Fraction(1), NONE, 1).fields(Fraction(1, 2)) == {
        "law": "discrete Laplace",
        "scale": 1.0,
    }


@pytest.mark.parametrize("family", ["discrete Laplace", "discrete Gaussian"])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10)])
def test_the_law_of_the_circuit_reaches_as_far(family: str, scale: Fraction) -> None:
    """The intervals of the ideal law are those of the circuit's exact one, for numbers that are many at once, too."""
    noise = Noise(family, scale, Fraction(1), NONE, 1)  # type: ignore[arg-type]
    law = noise.law(100)
    assert law.distance <= Fraction(1, 100 << 40)
    reach, table = noise.reach(), law.probabilities()
    for r, inside in ((reach, True), (reach - 1, False)):
        assert (sum(mass for x, mass in table.items() if abs(x) <= r) >= CONFIDENCE) == inside
