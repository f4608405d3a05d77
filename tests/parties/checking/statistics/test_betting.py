"""Bets: by their definition, and that no capital grows where nothing is to be gained."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.checking.statistics.betting import last_refuted, log_capital, log_mean
from parties.checking.statistics.divergence import most_apart, rho_shown
from parties.checking.statistics.events import CELLS, FOR_FIRST, FOR_SECOND, Bet, loss_shown


@given(st.lists(st.floats(-0.9, 5), min_size=1, max_size=6), st.floats(0.01, 1))
def test_capital_is_a_product(gains: list[float], share: float) -> None:
    expected = math.prod(1 + share * gain for gain in gains)
    assert math.exp(log_capital(np.array(gains), share)) == pytest.approx(expected)
    twice = log_capital(np.array(gains), share, np.full(len(gains), 2.0))
    assert math.exp(twice) == pytest.approx(expected**2)


def test_who_may_be_ruined_has_nothing() -> None:
    assert log_capital(np.array([1.0, -2.0]), 0.5) == -math.inf
    assert log_capital(np.array([1.0, -2.0]), 0.5, np.array([9.0, 0.0])) == -math.inf


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=5))
def test_a_mean_of_capitals(logarithms: list[float]) -> None:
    most = max(logarithms)
    expected = most + math.log(np.mean(np.exp(np.array(logarithms) - most)))
    assert log_mean(logarithms) == pytest.approx(expected)
    assert log_mean([-math.inf, -math.inf]) == -math.inf


def test_the_last_that_is_refuted() -> None:
    assert last_refuted(lambda r: 10 - r, math.exp(-4), 100.0) == pytest.approx(6.0)
    assert last_refuted(lambda r: 3 - r, math.exp(-4), 100.0) == 0.0


@pytest.mark.parametrize("sides", [FOR_FIRST, FOR_SECOND, FOR_FIRST | FOR_SECOND])
@pytest.mark.parametrize(("loss", "delta"), [(0.5, 0.0), (0.5, 0.05), (0.0, 0.1)])
def test_a_kept_promise_gains_nothing_on_the_average(sides: int, loss: float, delta: float) -> None:
    """Randomized response that keeps the loss and delta exactly: the first cell speaks for the first table."""
    keep = (math.exp(loss) + delta) / (1 + math.exp(loss))
    first, second = np.zeros(CELLS), np.zeros(CELLS)
    first[[FOR_FIRST, FOR_SECOND]] = keep, 1 - keep
    second[[FOR_FIRST, FOR_SECOND]] = 1 - keep, keep
    gains = Bet(sides, delta).gains(loss)
    assert first @ gains @ second == pytest.approx(0.0, abs=1e-12)
    assert (Bet(sides, delta).gains(loss + 0.1) <= gains).all()  # so one bet gives a lower limit


def test_two_sides_show_more_than_one() -> None:
    generator = np.random.default_rng(1)
    cells = np.array([FOR_FIRST, FOR_SECOND, 0])
    tables = [generator.choice(cells, 4000, p=p) for p in ((0.2, 0.1, 0.7), (0.1, 0.2, 0.7))]
    shown = [
        loss_shown(
            [np.bincount(one[:1000] & sides, minlength=CELLS) for one in tables],
            [one[1000:] & sides for one in tables],
            0.0,
            1e-6,
        )
        for sides in (FOR_FIRST, FOR_SECOND, FOR_FIRST | FOR_SECOND)
    ]
    assert max(shown[:2]) + 0.03 < shown[2] < math.log(2)


def normal(rho: float, seed: int, samples: int = 40_000) -> list[np.ndarray]:
    """Where outcomes lie from 0 to 1 on the way from one table to the other, with noise that spends rho."""
    noise = np.random.default_rng(seed).normal(scale=1 / math.sqrt(2 * rho), size=(2, samples))
    return [noise[0], 1 + noise[1]]


@pytest.mark.parametrize("rho", [0.002, 0.1, 2.0])
def test_what_is_shown_of_rho(rho: float) -> None:
    assert rho_shown(*normal(rho, 1), rho, 1e-9) < rho
    assert rho_shown(*normal(4 * rho, 1), rho, 1e-9) > rho
    if rho > 0.01:
        assert rho_shown(*normal(rho, 1), rho, 1e-9) > rho / 2


def test_equal_tables_show_no_rho() -> None:
    first, _ = normal(0.1, 1)
    other, _ = normal(0.1, 2)
    assert rho_shown(first, other, 0.1, 1e-9) == 0.0


def test_false_alarms_of_rho_are_rarer_than_stated() -> None:
    """At an error of 1/20 no more than 20 of 100: P[more | 1/20 each] < 1e-7 (binomial); the seeds are fixed."""
    alarms = sum(rho_shown(*normal(0.05, seed, 1000), 0.05, 0.05) > 0.05 for seed in range(100))
    assert alarms <= 20


@pytest.mark.parametrize("rho", [1e-4, 0.1, 1.0, 9.0])
def test_how_far_apart_events_are(rho: float) -> None:
    """Noise of the normal law that spends rho stays below the bound."""
    apart = math.erf(math.sqrt(2 * rho) / 2 / math.sqrt(2))
    assert apart < most_apart(rho) <= 1
