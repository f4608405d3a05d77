"""The bound for shuffled reports beside the exact law of two answers, and where it says nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from parties.alone.local.shuffled import shuffled_epsilon


def exact_delta(epsilon: float, local: float, reports: int, yes: int) -> float:
    """Of the number of yes that a collector sees, `yes` of the others saying so in truth, for a person of either."""
    truth = math.exp(local) / (math.exp(local) + 1)
    others = np.convolve(
        binom.pmf(np.arange(yes + 1), yes, truth), binom.pmf(np.arange(reports - yes), reports - 1 - yes, 1 - truth)
    )
    either = [np.convolve(others, [1 - p, p]) for p in (truth, 1 - truth)]
    pairs = ((either[0], either[1]), (either[1], either[0]))
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) for one, other in pairs)


@pytest.mark.parametrize("local", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("reports", [2_000, 20_000])
def test_two_answers_keep_the_bound(local: float, reports: int) -> None:
    delta = 1e-6
    bound = shuffled_epsilon(local, reports, delta)
    assert bound is not None
    assert bound <= local
    for yes in (0, 1, reports // 2, reports - 1):
        assert exact_delta(bound, local, reports, yes) <= delta
    assert exact_delta(bound / 20, local, reports, 0) > delta  # it is a bound of something


def test_the_formula() -> None:
    """By hand: e = 2.71828, ln(4e6) = 15.2018, n = 10^6: (1.71828 / 3.71828) (8 sqrt(4.1323e-5) + 2.1746e-5)."""
    spread = 8 * 0.00642829 + 2.174625e-5
    assert shuffled_epsilon(1.0, 10**6, 1e-6) == pytest.approx(math.log1p(0.4621171 * spread), rel=1e-5)


def test_of_few_reports_nothing_is_known() -> None:
    assert shuffled_epsilon(4.0, 1000, 1e-6) is None
    assert shuffled_epsilon(0.6, 400, 1e-6) is None  # ln(400 / (16 ln(2e6))) is 0.544
    assert shuffled_epsilon(0.54, 400, 1e-6) is not None
    assert shuffled_epsilon(1.0, 0, 1e-6) is None
