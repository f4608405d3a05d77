from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.circuit import fraction, quotient

FORMS = ["size", "depth"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("dividend", "divisor"), list(itertools.product([1, 3, 6], [1, 2, 4])))
def test_quotients_exhaustively(compute, dividend, divisor, form):
    pairs = list(itertools.product(range(1 << dividend), range(1, 1 << divisor)))
    xs, ys = zip(*pairs, strict=True)
    got = compute(lambda a, b: quotient(a, b, dividend), (dividend, False, xs), (divisor, False, ys), form=form)
    assert got.values == [[x // y for x, y in pairs]]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(st.data())
def test_quotients_of_any_width_that_fit(compute, form, data):
    width, divisor = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20))
    y = data.draw(st.integers(1, (1 << divisor) - 1))
    whole = data.draw(st.integers(0, (1 << width) - 1))
    x = whole * y + data.draw(st.integers(0, y - 1))
    got = compute(lambda a, b: quotient(a, b, width), (width + divisor, False, [x]), (divisor, False, [y]), form=form)
    assert (got.values, got.widths) == ([[whole]], [width])


@pytest.mark.parametrize("form", FORMS)
def test_fractions_up_to_two(compute, form):
    pairs = [(x, y) for y in range(1, 16) for x in range(2 * y)]
    xs, ys = zip(*pairs, strict=True)
    got = compute(lambda a, b: fraction(a, b, 7), (5, False, xs), (4, False, ys), form=form)
    assert got.values == [[(x << 7) // y for x, y in pairs]]
