"""Limits of probabilities, against SciPy's and against what they promise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from parties.base.binomial import log_tail, lower_limit


@given(st.data())
def test_limits_are_those_of_clopper_and_pearson(data: st.DataObject) -> None:
    trials = data.draw(st.integers(1, 20_000))
    successes = data.draw(st.integers(0, trials))
    error = 10.0 ** -data.draw(st.integers(1, 11))
    expected = binomtest(successes, trials).proportion_ci(1 - 2 * error, method="exact")
    assert lower_limit(successes, trials, error) == pytest.approx(expected.low, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(1, 10**6), (500, 10**6), (7000, 10**4), (1000, 1000)])
@pytest.mark.parametrize("share", [0.8, 0.99, 1.0])
def test_the_tail_is_whole(successes: int, trials: int, share: float) -> None:
    probability = share * successes / trials
    expected = float(binom.logsf(successes - 1, trials, probability))
    assert log_tail(successes, trials, probability) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_ends() -> None:
    assert lower_limit(0, 10, 0.01) == 0.0
    assert log_tail(3, 10, 0.0) == -math.inf
    assert lower_limit(10, 10, 0.01) == pytest.approx(0.01**0.1)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 10), (11, 10), (0, 0)])
def test_no_such_count(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="successes"):
        lower_limit(successes, trials, 0.01)
