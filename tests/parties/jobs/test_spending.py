"""The most rho within (epsilon, delta), beside the formula in doubles and beside OpenDP's conversion."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp import combinators, domains, measurements, measures, metrics, mod

from parties.jobs.spending import best_order, loss_of_order, rho_within
from tests.support.concentrated import epsilon_of_rho

mod.enable_features("contrib", "honest-but-curious")

EPSILONS = st.decimals("0.01", "100", places=3).map(Fraction)
DELTAS = st.integers(2, 15).map(lambda digits: Fraction(1, 10**digits))


def of_opendp(rho: float, delta: float) -> float:
    """The epsilon that OpenDP tells for some mechanism with this rho."""
    space = domains.atom_domain(T="i32"), metrics.absolute_distance(T="i32")
    measure = measures.zero_concentrated_divergence()
    measurement = measurements.make_user_measurement(*space, measure, lambda _: 0, lambda _: rho, TO="i32")
    epsilon: float = combinators.make_zCDP_to_approxDP(measurement).map(1).epsilon(delta)
    return epsilon


@settings(max_examples=40, deadline=None)
@given(EPSILONS, DELTAS)
def test_the_most_rho_keeps_epsilon_and_no_more_does(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_within(epsilon, delta)
    assert epsilon_of_rho(float(rho), float(delta)) == pytest.approx(float(epsilon), rel=1e-7)
    assert of_opendp(float(rho), float(delta)) == pytest.approx(float(epsilon), rel=1e-9)
    assert of_opendp(float(rho) * (1 + 1e-6), float(delta)) > epsilon


@settings(max_examples=40, deadline=None)
@given(EPSILONS, DELTAS)
def test_each_order_allows_what_it_claims_and_the_best_the_most(epsilon: Fraction, delta: Fraction) -> None:
    best, most = best_order(epsilon, delta), Fraction(rho_within(epsilon, delta))
    assert (epsilon - Fraction(loss_of_order(best, delta))) / best == pytest.approx(most, rel=1e-12)
    for order in (best * Fraction(99, 100), best * Fraction(101, 100)):
        assert order <= 1 or epsilon - Fraction(loss_of_order(order, delta)) < most * order


def test_it_is_more_than_the_simple_bound_allows() -> None:
    """rho + 2 sqrt(rho ln(1 / delta)), of Bun and Steinke 2016: 1.39 times as much at (1, 10^-6)."""
    rho = float(rho_within(Fraction(1), Fraction(1, 10**6)))
    simple = (14.815510557964274**0.5 - 13.815510557964274**0.5) ** 2
    assert rho / simple == pytest.approx(1.394, abs=1e-3)
    assert rho == pytest.approx(0.0243559704, rel=1e-8)  # by OpenDP 0.14


def test_without_delta_no_rho_is_within() -> None:
    assert rho_within(Fraction(1), Fraction(0)) == Decimal(0)


def test_all_digits_are_the_same_everywhere() -> None:
    """Two parties compare the noise that each of them computes."""
    assert str(rho_within(Fraction(1), Fraction(1, 10**6))) == "0.02435597035953837289390288713609271066959"


def _renyi_of_sampled(rate: float, sigma: float, order: int) -> float:
    """The Renyi loss of a Gaussian on a Poisson sample (Mironov, Talwar, Zhang 2019, section 3.3)."""
    terms = [
        math.log(math.comb(order, k))
        + (order - k) * math.log1p(-rate)
        + k * math.log(rate)
        + (k * k - k) / 2 / sigma**2
        for k in range(order + 1)
    ]
    greatest = max(terms)
    return (greatest + math.log(math.fsum(math.exp(term - greatest) for term in terms))) / (order - 1)


@pytest.mark.parametrize(
    ("epsilon", "more"), [("0.1", (1.07, 1.01, 1.00)), ("1", (2.64, 1.05, 1.01)), ("8", (7.79, 1.55, 1.04))]
)
def test_steps_on_samples_have_more_noise_than_steps_on_all_rows(epsilon: str, more: tuple[float, ...]) -> None:
    """docs/regression.md: the noise of a mean gradient on samples of 1, 10 and 50 % of the rows, over that on all."""
    steps, delta = 100, Fraction(1, 10**6)
    on_all = math.sqrt(steps / (2 * float(rho_within(Fraction(epsilon), delta))))
    orders = [*range(2, 65), 96, 128, 160, 192, 256]
    free = {order: float(loss_of_order(Fraction(order), delta)) for order in orders}
    for rate, ratio in zip((0.01, 0.1, 0.5), more, strict=True):
        low, high = 0.3, 1e4
        for _ in range(25):
            sigma = math.sqrt(low * high)
            spent = min(steps * _renyi_of_sampled(rate, sigma, order) + free[order] for order in orders)
            low, high = (sigma, high) if spent > float(epsilon) else (low, sigma)
        assert high / rate / on_all == pytest.approx(ratio, abs=0.02)
        assert high / rate / on_all > 0.999
