"""The private logarithm against numpy's and mpmath's, for every count up to 2^20."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.logarithm import open_logarithm, tables
from protocols.precision import MAX_CELLS, MAX_TERMS, Precision, derive
from smc.engines import Engine
from smc.errors import InputError
from smc.recipes import GARBLED, SHARED, Prices

pytestmark = pytest.mark.slow

DELTAS = [0.1, 0.001, 1e-5]
ENGINES = ["clear", "yao", "gmw", "mixed", "lean", "mixed three-halves"]
MORE = pytest.mark.campaign  # `make test` has every count with the finest tables, and a few with all of them
QUICK = settings(max_examples=25)


def split(x: np.ndarray, seed: int = 0) -> list[np.ndarray]:
    left = np.random.default_rng(seed).integers(0, x + 1)
    return [left, x - left]


def x_ln_x(x: np.ndarray) -> np.ndarray:
    return x * np.log(np.maximum(x, 1))


@pytest.mark.parametrize(
    ("delta", "prices"),
    [*(pytest.param(delta, GARBLED, marks=MORE) for delta in DELTAS[:-1]), (1e-5, GARBLED), (1e-5, SHARED)],
)
def test_every_count_up_to_two_to_the_twenty(play, delta: float, prices: Prices) -> None:
    bound = 1 << 20
    worst = 0.0
    for start in range(0, bound + 1, 1 << 17):
        x = np.arange(start, min(start + (1 << 17), bound + 1))
        sides = split(x, start)

        def program(e: Engine, sides: list[np.ndarray] = sides) -> np.ndarray:
            e.words.prices = prices
            return open_logarithm(e, sides[e.party], bound, delta, True)

        found = play(program, "clear").agreed_array
        error = np.abs(found - x_ln_x(x)) / np.maximum(x, 1)
        worst = max(worst, error.max())
        if start == 0:
            assert found[0] == 0
    assert worst <= delta / 4
    assert worst <= float(derive(delta, bound, prices=prices).error) + 1e-9


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("bound", [1, 2, 3, 4, 13, 1000, 131070, 1 << 20])
def test_every_engine_and_bound(play, name: str, delta: float, bound: int) -> None:
    x = np.unique(np.concatenate([[0, 1, bound, bound // 2], np.random.default_rng(1).integers(0, bound + 1, 20)]))
    sides = split(x)

    def program(e: Engine) -> np.ndarray:
        return np.stack([open_logarithm(e, sides[e.party], bound, delta, times_x) for times_x in (True, False)])

    found, logs = play(program, name).agreed_array
    assert (np.abs(found - x_ln_x(x)) <= x * delta / 4 + 1e-9).all()
    assert logs[x == 0].tolist() == [-math.inf]
    assert (np.abs(logs[x > 0] - np.log(x[x > 0])) <= delta / 4 + 1e-9).all()


@pytest.mark.parametrize("terms", [1, 2, 3, 4, 5])
def test_any_number_of_terms_keeps_the_bound(play, terms: int) -> None:
    bound, delta = 4095, 0.01
    precision = derive(delta, bound, terms)
    assert precision.terms == terms
    assert precision.error <= Fraction(delta) / 4
    x = np.arange(bound + 1)
    assert np.abs(plain(precision, x) - np.log(np.maximum(x, 1)))[1:].max() <= float(precision.error)


def plain(precision: Precision, x: np.ndarray) -> np.ndarray:
    """Horner's rule of the protocol in Python integers, written anew from the formulas of the module."""
    coefficients, exponents = tables(precision)
    width = precision.count_width
    out = []
    for value in x.tolist():
        if value == 0:
            out.append(0.0)
            continue
        shift = width - value.bit_length()
        mantissa = (value << shift) - (1 << (width - 1))  # fraction, in units of 2^-(N-1)
        cell = mantissa >> (width - 1 - precision.cells)
        result = coefficients[-1][cell]
        for j in range(precision.terms, 0, -1):
            q = precision.digits[j - 1]
            cut = (mantissa >> (width - 1 - q)) - (cell << (q - precision.cells))
            result = coefficients[j - 1][cell] + (cut - (1 << (q - precision.cells - 1))) * result
        out.append((result + exponents[shift]) / 2**precision.fraction)
    return np.array(out)


@QUICK
@given(
    bound=st.integers(1, 1 << 20),
    exponent=st.floats(-5, 0),
    terms=st.none() | st.integers(1, 4),
    data=st.data(),
)
def test_the_proven_bound_holds_against_mpmath(bound: int, exponent: float, terms: int | None, data) -> None:
    delta = 10**exponent
    try:
        precision = derive(delta, bound, terms)
    except InputError:
        assert terms is not None or bound > 1 << 18  # only a forced number of terms or a huge bound may fail
        return
    assert precision.error <= Fraction(delta) / 4
    assert precision.sum_width <= 64
    x = [*data.draw(st.lists(st.integers(1, bound), min_size=1, max_size=10)), 1, bound]
    found = plain(precision, np.array(x))
    with mpmath.workprec(200):
        for value, result in zip(x, found, strict=True):
            exact = mpmath.log(value)
            assert (
                abs(mpmath.mpf(result) - exact)
                <= mpmath.mpf(float(precision.error)) * (1 + 1e-9) + mpmath.mpf(2) ** -50
            )
            # The score of a node must not overflow: |x ln x| scaled stays below half the word.
            assert value * abs(result) * 2**precision.fraction < 2 ** (precision.sum_width - 1)
            assert abs(result) * 2**precision.fraction < 2 ** (precision.log_width - 1)


def test_parameters_are_derived_as_documented() -> None:
    precision = derive(0.001, 131070)
    assert precision.terms >= 1
    assert precision.count_width == 17
    assert 0 <= precision.cells <= MAX_CELLS
    assert precision.fraction == precision.scale + sum(precision.digits)
    assert precision.scales[-1] == precision.scale
    assert max(precision.digits) <= 16
    coarse, fine = derive(0.1, 131070), derive(1e-5, 131070)
    assert coarse.cost(GARBLED) < precision.cost(GARBLED) < fine.cost(GARBLED)


def test_tables_are_rounded_logarithms() -> None:
    precision = derive(0.001, 1000)
    coefficients, exponents = tables(precision)
    with mpmath.workprec(200):
        for i in range(1 << precision.cells):
            centre = 1 + mpmath.mpf(2 * i + 1) / 2 ** (precision.cells + 1)
            for j, scale in enumerate(precision.scales):
                exact = mpmath.log(centre) if j == 0 else mpmath.mpf(-1) ** (j - 1) / (j * centre**j)
                assert abs(coefficients[j][i] - exact * 2**scale) <= 0.5
        for shift, entry in enumerate(exponents):
            exact = (precision.count_width - 1 - shift) * mpmath.log(2) * 2**precision.fraction
            assert abs(entry - exact) <= 0.5


@pytest.mark.parametrize(("delta", "bound"), [(1e-5, 1 << 31), (1e-18, 1000), (0.0, 10), (-1.0, 10), (0.1, 0)])
def test_what_does_not_fit_is_refused(delta: float, bound: int) -> None:
    with pytest.raises(InputError, match=r"tolerance|delta"):
        derive(delta, bound)


def test_terms_have_a_limit() -> None:
    assert all(derive(0.1, 100, k).terms == k for k in range(1, 4))
    assert MAX_TERMS >= 16


def test_counts_beyond_the_bound_are_refused(play) -> None:
    with pytest.raises(InputError, match="the count"):
        play(lambda e: open_logarithm(e, np.array([5000]), 1000, 0.1), "clear")
