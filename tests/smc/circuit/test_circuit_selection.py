from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.circuit import Integer, argmax, argmin, decode, leading_one, maximum, minimum, normalise, pick

FORMS = ["size", "depth"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", range(7))
def test_decode(compute, width, form):
    got = compute(decode, (width, False, range(1 << width)), form=form)
    assert got.values == [[int(x == place) for x in range(1 << width)] for place in range(1 << width)]
    assert got.netlist.and_count == (1 << width) - width - 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", range(10))
def test_leading_one(compute, width, form):
    xs = range(1 << width)
    got = compute(leading_one, (width, True, xs), form=form)
    assert got.values[0] == [1 << (x.bit_length() - 1) if x else 0 for x in xs]
    if form == "size":
        assert got.netlist.and_count == max(width - 1, 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", range(10))
def test_normalise(compute, width, form):
    xs = range(1 << width)
    got = compute(normalise, (width, False, xs), form=form)
    steps = max(width - 1, 0).bit_length()
    assert got.widths == [width, steps]
    shifts = [width - x.bit_length() if x else (1 << steps) - 1 for x in xs]
    assert got.values == [[x << s if x else 0 for x, s in zip(xs, shifts, strict=True)], shifts]
    if form == "size":
        assert got.netlist.and_count == sum(width + (1 << k) - 1 for k in range(steps))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(st.integers(10, 70).flatmap(lambda w: st.tuples(st.just(w), st.lists(st.integers(0, 2**w - 1), min_size=1))))
def test_leading_bit_at_any_width(compute, form, case):
    width, xs = case
    got = compute(lambda x: (leading_one(x), *normalise(x)), (width, False, xs), form=form)
    assert got.values[0] == [1 << (x.bit_length() - 1) if x else 0 for x in xs]
    assert got.values[1] == [x << (width - x.bit_length()) for x in xs]
    assert [s for s, x in zip(got.values[2], xs, strict=True) if x] == [width - x.bit_length() for x in xs if x]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("count", range(1, 7))
def test_largest_and_smallest_exhaustively(compute, count, signed, form):
    span = range(-2, 2) if signed else range(4)
    rows = list(itertools.product(span, repeat=count))

    def program(*values: Integer) -> tuple[Integer, ...]:
        return *maximum(values), *minimum(values), argmax(values), argmin(values)

    got = compute(program, *[(2, signed, column) for column in zip(*rows, strict=True)], form=form)
    largest, smallest = [row.index(max(row)) for row in rows], [row.index(min(row)) for row in rows]
    assert got.values == [
        [max(row) for row in rows],
        largest,
        [min(row) for row in rows],
        smallest,
        largest,
        smallest,
    ]
    assert got.widths[1] == got.widths[4] == (count - 1).bit_length()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [7, 8, 9, 16, 17, 66, 73])
def test_largest_and_smallest_of_many(compute, count, form):
    rows = np.random.default_rng(count).integers(-8, 8, (60, count)).tolist()
    rows += np.random.default_rng(count).integers(-1, 1, (60, count)).tolist()
    columns = [(4, True, column) for column in zip(*rows, strict=True)]
    got = compute(lambda *v: (*maximum(v), *minimum(v)), *columns, form=form)
    assert got.values[::2] == [[max(row) for row in rows], [min(row) for row in rows]]
    assert got.values[1::2] == [[row.index(max(row)) for row in rows], [row.index(min(row)) for row in rows]]
    assert got.widths[1] == got.widths[3] == (count - 1).bit_length()


def test_pick(compute):
    rows = list(itertools.product(range(4), range(-2, 2), range(4), (0, 1)))
    columns = list(zip(*rows, strict=True))
    types = [(2, True), (2, False), (1, False)]

    def program(index, *values):
        return pick(decode(index), [*values, Integer.constant(index.graph, -5)])

    got = compute(program, (2, False, columns[0]), *[(*t, c) for t, c in zip(types, columns[1:], strict=True)])
    assert got.values == [[(*row[1:], -5)[row[0]] for row in rows]]
    assert got.widths == [4]
    alike = compute(lambda *v: pick(v[0].wires, v[1:]), *[(5, False, [1])] * 6)
    assert (alike.values, alike.netlist.and_count, alike.netlist.depth) == ([[1]], 4 * 5, 1)


@pytest.mark.parametrize("form", FORMS)
def test_values_of_mixed_types(compute, form):
    rows = list(itertools.product(range(8), range(-2, 2), range(2)))
    types = [(3, False), (2, True), (1, False)]
    columns = [(*t, c) for t, c in zip(types, zip(*rows, strict=True), strict=True)]
    got = compute(lambda *v: maximum(v), *columns, form=form)
    assert got.values == [[max(row) for row in rows], [row.index(max(row)) for row in rows]]


def test_argmax_does_not_carry_the_last_value(compute):
    got = compute(lambda *v: argmax(v), *[(8, False, [0])] * 4)
    # Three comparisons, the two choices of values before the final, one choice of an index bit.
    assert got.netlist.and_count == 3 * 8 + 2 * 8 + 1


@pytest.mark.parametrize("function", [argmax, argmin, maximum, minimum])
def test_of_nothing(function):
    with pytest.raises(ValueError, match="no values"):
        function([])
