from __future__ import annotations

import itertools
import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.circuit import Builder, concatenate, multiply, select, total

MODULAR = {"add": operator.add, "sub": operator.sub, "and": operator.and_, "or": operator.or_, "xor": operator.xor}
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
FORMS = ["size", "depth"]
SIGNS = list(itertools.product((False, True), repeat=2))


def span(width, signed):
    """All values of an integer type."""
    low = -(1 << (width - 1)) if signed and width else 0
    return range(low, low + (1 << width))


def binary(a, b):
    """Every two-operand function of Integers, in a fixed order."""
    return [
        *[op(a, b) for op in MODULAR.values()],
        a.wide_add(b),
        a.wide_subtract(b),
        a * b,
        *[op(a, b) for op in COMPARISONS],
        a << b.as_unsigned(),
        a >> b.as_unsigned(),
        select(b[0], a, b) if len(b) else a,
    ]


def check_binary(compute, wrap, form, a_type, b_type, pairs):
    """Compare all functions of `binary` with Python on (x, y) pairs."""
    (wa, sa), (wb, sb) = a_type, b_type
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    got = compute(binary, (wa, sa, xs), (wb, sb, ys), form=form)
    results = iter(zip(got.values, got.widths, got.signed, strict=True))
    wide = max(wa, wb)
    for op in MODULAR.values():
        values, width, signed = next(results)
        assert (width, signed) == (wide, sa or sb)
        assert values == [wrap(op(x, y), width, signed) for x, y in pairs]
    for op in (operator.add, operator.sub):
        values, width, signed = next(results)
        assert values == [op(x, y) for x, y in pairs]
        assert width <= wide + (2 if sa != sb else 1)
    values, width, signed = next(results)
    assert (width, signed) == (wa + wb, sa or sb)
    assert values == [x * y for x, y in pairs]
    for op in COMPARISONS:
        assert next(results)[0] == [int(op(x, y)) for x, y in pairs]
    amounts = [wrap(y, wb, False) for y in ys]
    values, width, signed = next(results)
    assert values == [wrap(x << min(s, wa), wa, sa) for x, s in zip(xs, amounts, strict=True)]
    values, width, signed = next(results)
    assert values == [x >> s for x, s in zip(xs, amounts, strict=True)]
    assert next(results)[0] == [x if y & 1 or wb == 0 else y for x, y in pairs]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("widths", list(itertools.product(range(4), repeat=2)))
def test_binary_operators_exhaustively(compute, wrap, widths, signs, form):
    a_type, b_type = zip(widths, signs, strict=True)
    check_binary(compute, wrap, form, a_type, b_type, list(itertools.product(span(*a_type), span(*b_type))))


@st.composite
def operands(draw):
    """Two types of 0 to 70 bits and a few pairs of values with extremes among them."""
    types = [(draw(st.integers(0, 70)), draw(st.booleans())) for _ in range(2)]
    spans = [span(*kind) for kind in types]
    value = [st.one_of(st.sampled_from((s[0], s[-1], 0)), st.integers(s[0], s[-1])) for s in spans]
    return *types, draw(st.lists(st.tuples(*value), min_size=1, max_size=6))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(operands())
def test_binary_operators_at_any_width(compute, wrap, form, case):
    check_binary(compute, wrap, form, *case)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60)
@given(operands(), st.integers(0, 150))
def test_truncated_product(compute, wrap, form, case, width):
    (wa, sa), (wb, sb), pairs = case
    xs, ys = zip(*pairs, strict=True)
    got = compute(lambda a, b: multiply(a, b, width), (wa, sa, xs), (wb, sb, ys), form=form)
    assert got.widths == [width]
    assert got.values[0] == [wrap(x * y, width, sa or sb) for x, y in pairs]


@settings(max_examples=40)
@given(st.data())
def test_sums_of_many(compute, wrap, data):
    types = data.draw(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=12))
    width, plus = data.draw(st.integers(0, 48)), data.draw(st.integers(1, len(types)))
    spans = [span(*kind) for kind in types]
    value = [st.one_of(st.sampled_from((s[0], s[-1], 0)), st.integers(s[0], s[-1])) for s in spans]
    rows = data.draw(st.lists(st.tuples(*value), min_size=1, max_size=4))
    arguments = [(*kind, column) for kind, column in zip(types, zip(*rows, strict=True), strict=True)]
    signed = any(sign for _, sign in types)
    for form in FORMS:
        got = compute(lambda *v: total(v[:plus], width, v[plus:]), *arguments, form=form)
        assert (got.widths, got.signed) == ([width], [signed])
        assert got.values[0] == [wrap(sum(row[:plus]) - sum(row[plus:]), width, signed) for row in rows]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_unary_operators_exhaustively(compute, wrap, width, signed, form):
    def program(a):
        fixed = [-a, ~a, a.extend(width + 2), a.as_signed(), a.as_unsigned()]
        fixed += [a.resize(w) for w in range(width + 3)]
        fixed += [a << k for k in range(width + 2)]
        fixed += [a >> k for k in range(width + 2)]
        return fixed

    xs = span(width, signed)
    got = compute(program, (width, signed, xs), form=form)
    expected = [
        [wrap(-x, width, signed) for x in xs],
        [wrap(~x, width, signed) for x in xs],
        list(xs),
        [wrap(x, width, True) for x in xs],
        [wrap(x, width, False) for x in xs],
        *[[wrap(x, w, signed) for x in xs] for w in range(width + 3)],
        *[[wrap(x << k, width, signed) for x in xs] for k in range(width + 2)],
        *[[x >> k for x in xs] for k in range(width + 2)],
    ]
    assert got.values == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signed", [False, True])
def test_python_ints_as_operands(compute, wrap, signed, form):
    width, xs = 4, span(4, signed)
    fitting = range(-8, 16)
    anything = range(-40, 40, 3)

    def program(a):
        modular = [f for k in fitting for f in (a + k, k + a, a - k, k - a, a & k, k | a, a ^ k)]
        exact = [f for k in anything for f in (a * k, k * a, a == k, a < k, a > k, k <= a, k >= a, k != a)]
        return modular + exact + [select(a[0], k, a) for k in anything] + [select(a[0], k, -k) for k in anything]

    expected = []
    for k in fitting:
        rows = [[x + k, k + x, x - k, k - x, x & k, k | x, x ^ k] for x in xs]
        expected += [[wrap(v, width, signed) for v in column] for column in zip(*rows, strict=True)]
    for k in anything:
        rows = [[x * k, k * x, x == k, x < k, x > k, k <= x, k >= x, k != x] for x in xs]
        expected += [[int(v) for v in column] for column in zip(*rows, strict=True)]
    expected += [[k if x & 1 else x for x in xs] for k in anything]
    expected += [[k if x & 1 else -k for x in xs] for k in anything]
    assert compute(program, (width, signed, xs), form=form).values == expected


def test_slices_and_concatenation(compute):
    xs = range(64)
    got = compute(lambda a: (a[2:5], a[::-1], concatenate(a[:2], a[5], a[2:5]), a[-1], concatenate(a)), (6, True, xs))
    assert got.values == [
        [x >> 2 & 7 for x in xs],
        [int(f"{x:06b}"[::-1], 2) for x in xs],
        [x & 3 | (x >> 5) << 2 | (x >> 2 & 7) << 3 for x in xs],
        [x >> 5 for x in xs],
        list(xs),
    ]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda a: a + 16, "16 does not fit 4 bits"),
        (lambda a: a + -9, "-9 does not fit 4 bits"),
        (lambda a: a.extend(3), "cannot extend 4 bits to 3"),
        (lambda a: a << -1, "negative"),
        (lambda a: a >> -1, "negative"),
    ],
)
def test_impossible_requests(action, message):
    with pytest.raises(ValueError, match=message):
        action(Builder().input(4))


@pytest.mark.parametrize("other", [None, 1.5, "3"])
def test_other_types_are_refused(other):
    with pytest.raises(TypeError):
        _ = Builder().input(4) + other


@pytest.mark.parametrize("n", [1, 2, 7, 32, 64])
@pytest.mark.parametrize("signed", [False, True])
def test_and_counts(compute, n, signed):
    costs = [
        (n - 1, lambda a, b, c: a + b),
        (n - 1, lambda a, b, c: a - b),
        (n - 1, lambda a, b, c: a == b),
        (n - 1, lambda a, b, c: a != b),
        (n, lambda a, b, c: a.wide_add(b)),
        (n, lambda a, b, c: a.wide_subtract(b)),
        (n, lambda a, b, c: a < b),
        (n, lambda a, b, c: a <= b),
        (n, lambda a, b, c: a > b),
        (n, lambda a, b, c: a >= b),
        (n, lambda a, b, c: select(c[0], a, b)),
        (n, lambda a, b, c: a & b),
        (n, lambda a, b, c: a | b),
        (0, lambda a, b, c: a ^ b),
        (0, lambda a, b, c: ~a),
        (0, lambda a, b, c: a << 1),
        (0, lambda a, b, c: a >> 1),
        (n * n - n + 1, lambda a, b, c: multiply(a, b, n)),
        *([(2 * n * n - n, lambda a, b, c: a * b)] if n < 20 else []),
    ]
    for cost, program in costs:
        netlist = compute(program, (n, signed, [0]), (n, signed, [0]), (1, False, [0])).netlist
        assert netlist.and_count == cost


def test_counts_of_negation_constants_and_shifts(compute):
    def count(program, *widths):
        return compute(program, *[(width, False, [0]) for width in widths]).netlist.and_count

    assert count(lambda a: -a, 32) == 30
    assert count(lambda a: a + 1, 32) == 30
    assert count(lambda a: a * 8, 32) == 0
    assert count(lambda a: a * 5, 32) == 32
    assert count(lambda a: a == 77, 32) == 31
    assert count(lambda a, s: a << s, 32, 5) == 160
    assert count(lambda a, s: a >> s, 32, 5) == 160
    assert count(lambda a, b: a * b, 32, 8) == count(lambda a, b: a * b, 8, 32) == 8 * 32 + 7 * 32
    assert count(lambda a: a * a, 32) < count(lambda a, b: a * b, 32, 32)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 19, 20, 33, 64])
def test_squares(compute, wrap, n, signed, form):
    xs = sorted({*span(n, signed)[:20], *span(n, signed)[-20:], *span(n, signed)[:: max(1, (1 << n) // 7)]})
    widths = [2 * n, n, n + 3, 2 * n + 2]
    got = compute(lambda a: [multiply(a, a, width) for width in widths], (n, signed, xs), form=form)
    assert got.values == [[wrap(x * x, width, signed) for x in xs] for width in widths]
