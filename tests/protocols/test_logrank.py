"""The log-rank test in the circuit against floating point, against statsmodels, and its cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.duration.survfunc import survdiff

from protocols.logrank import differ, fraction_bits, undecided
from smc.circuit import Builder, evaluate, fraction
from smc.counting import forecast
from smc.engines import Profile, make_engine
from smc.local import run_local
from smc.primitives import bits as bitpack

pytestmark = pytest.mark.slow

ROWS = 255
QUANTILES = (0.4549, 2.7055, 3.8415, 10.8276)


def shares(bins: int) -> st.SearchStrategy[np.ndarray]:
    """Two parties' rows by arm, event and bin."""
    return arrays(np.int64, (2, 2, 2, bins), elements=st.integers(0, 8))


def by_statsmodels(table: np.ndarray) -> float:
    """Chi-square of the rows, one by one."""
    arm, event, time = (np.repeat(places, table.reshape(-1)) for places in np.indices(table.shape).reshape(3, -1))
    return float(survdiff(time, event, arm)[0])


def mantel(table: np.ndarray) -> tuple[float, float]:
    """U and V of the docstring."""
    risk, events = table.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1], table[:, 1]
    u = v = 0.0
    for (n0, n1), (d0, d1) in zip(risk.T.tolist(), events.T.tolist(), strict=True):
        n, d = n0 + n1, d0 + d1
        if d:
            u += d1 - d * n1 / n
            v += d * n1 * n0 * (n - d) / (n * n * (n - 1)) if n > 1 else 0
    return u, v


def opened(rows: np.ndarray, quantile: float, name: str = "clear", bound: int = ROWS) -> bool:
    left, right = run_local(lambda s: differ(make_engine(s, name), rows[s.party], quantile, bound))
    assert left == right
    return left


ONE_ARM = np.ones((2, 2, 2, 3), dtype=np.int64) * np.array([1, 0])[None, :, None, None]
ALL_DIE = np.array([[[[0], [3]], [[0], [7]]], [[[0], [1]], [[0], [1]]]])  # no variance, though a fraction is cut
NOBODY = np.zeros((2, 2, 2, 2), dtype=np.int64)


@given(st.integers(1, 6).flatmap(shares), st.sampled_from(QUANTILES))
@example(ONE_ARM, 0.4549)
@example(ALL_DIE, 0.4549)
@example(NOBODY, 0.4549)
@settings(max_examples=60, deadline=None)
def test_the_bit_is_that_of_the_exact_test(rows: np.ndarray, quantile: float) -> None:
    table = rows.sum(axis=0)
    u, v = mantel(table)
    if v == 0:
        assert not opened(rows, quantile)
    elif abs(u * u / v - quantile) > undecided(u, v, int(table[:, 1].sum()), quantile, ROWS):
        assert opened(rows, quantile) == (u * u / v > quantile)


@given(shares(5), st.sampled_from(QUANTILES))
@settings(max_examples=25, deadline=None)
def test_the_bit_is_that_of_statsmodels(rows: np.ndarray, quantile: float) -> None:
    table = rows.sum(axis=0)
    if mantel(table)[1] > 0 and abs((chi := by_statsmodels(table)) - quantile) > 0.01:
        assert opened(rows, quantile) == (chi > quantile)


def test_a_verdict_stands_up_to_the_bound_that_is_proven() -> None:
    """The statistic of the circuit is found by bisection: it is as near to the exact one as the docstring says."""
    rows = np.random.default_rng(5).integers(0, 9, (2, 2, 2, 6))
    rows[:, 1, 1, :2] += 6
    u, v = mantel(rows.sum(axis=0))
    low, high = 0.0, 400.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if opened(rows, middle, bound=200) else (low, middle)
    bound = undecided(u, v, int(rows[:, :, 1].sum()), u * u / v, 200)
    assert abs(low - u * u / v) <= bound < 0.05


def test_engines_agree() -> None:
    rows = np.random.default_rng(2).integers(0, 4, (2, 2, 2, 3))
    u, v = mantel(rows.sum(axis=0))
    for quantile in (0.9 * u * u / v, 1.1 * u * u / v):
        assert {opened(rows, quantile, name) for name in ("yao", "gmw")} == {u * u / v > quantile}


@given(st.integers(0, 400), st.integers(0, 511))
@settings(max_examples=60, deadline=None)
def test_a_quotient_is_cut(numerator: int, divisor: int) -> None:
    builder = Builder()
    builder.output(fraction(builder.input(9), builder.input(9), 7))
    values = [bitpack.from_integers([value], 9) for value in (numerator, divisor)]
    (result,) = evaluate(builder.build(), values)
    if numerator < 2 * divisor:
        assert int(bitpack.to_words(result)[0]) == (numerator << 7) // divisor


def test_24_bins_stay_below_5_megabytes() -> None:
    nothing = np.zeros((2, 2, 24), dtype=np.int64)
    assert forecast(lambda engine: differ(engine, nothing, 3.84, 65535), Profile("yao")).bytes < 5e6


@pytest.mark.parametrize("rows", [1, 60, 65535, 2**31])
def test_sums_fit_words_of_64_bits(rows: int) -> None:
    assert rows.bit_length() + 1 + fraction_bits(rows) + 1 <= 64


def test_arms_that_die_alike_in_one_bin_of_as_many_rows_as_there_may_be() -> None:
    """Of 28 rows 10 of either arm die at once: 10 are expected, a number of four bits."""
    rows = np.array([[[2], [5]], [[2], [5]]])
    assert run_local(lambda session: differ(make_engine(session, "clear"), rows, 3.84, 15)) == (False, False)
