"""Gates and levels of the form "depth", as its docstrings state them."""

from __future__ import annotations

import itertools

import pytest

from smc.circuit import (
    Builder,
    Integer,
    argmin,
    concatenate,
    decode,
    leading_one,
    multiply,
    normalise,
    select,
    sum_rows,
    total,
)

WIDTHS = [*range(1, 20), 31, 32, 33, 44, 63, 64, 65, 70]


def levels(n: int) -> int:
    """ceil(log2 n)."""
    return (n - 1).bit_length()


def ones(n: int) -> int:
    """The ones in the binary digits of 1 .. n - 1."""
    return sum(i.bit_count() for i in range(n))


def adder(n: int) -> int:
    return 2 * ones(n) - n + n // 2 if n > 1 else 0


def cost(program, *types) -> tuple[int, int]:
    builder = Builder("depth")
    made = program(*[builder.input(width, signed) for width, signed in types])
    for output in made if isinstance(made, list) else [made]:
        builder.output(output)
    netlist = builder.build()
    return netlist.and_count, netlist.depth


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", WIDTHS)
def test_adders_and_comparators(n, signed):
    two = [(n, signed)] * 2
    modular, wide = (adder(n), levels(n)), (adder(n + 1), levels(n + 1))
    less = 2 * n + (n + 1) // 2 - 1 - levels(n + 1), levels(n + 1)
    assert cost(lambda a, b: a + b, *two) == cost(lambda a, b: a - b, *two) == modular
    assert cost(lambda a, b: a.wide_add(b), *two) == cost(lambda a, b: a.wide_subtract(b), *two) == wide
    assert cost(lambda a, b: a < b, *two) == cost(lambda a, b: a >= b, *two) == less
    # Both ways: the groups above the lowest, whose "passes a carry on" is an AND, are the same.
    both = 2 * less[0] - (n - levels(n + 1)), less[1]
    assert cost(lambda a, b: [a < b, b < a], *two) == both
    assert cost(lambda a, b: a == b, *two) == (n - 1, levels(n))
    for program in (lambda a: -a, lambda a: a.wide_add(1)[:n], lambda a: a.wide_subtract(1)[:n]):
        gates, depth = cost(program, two[0])  # a carry that starts with a constant is an AND of bits
        assert gates == max(ones(n) - 1, 0)
        assert depth <= levels(n)


def test_powers_of_two():
    for k in range(1, 8):
        n = 1 << k
        assert adder(n) == n * k - n // 2
        assert cost(lambda a: leading_one(a), (n, False)) == (n * k // 2, k)


@pytest.mark.parametrize("n", WIDTHS)
def test_leading_bit(n):
    k = levels(n)
    assert cost(leading_one, (n, False)) == (ones(n), k)
    # No shift depends on the lowest bit if it is number 2^k - 1: such a number of zeros or one more are alike.
    unused = k if n == 1 << k else 0
    assert cost(lambda a: list(normalise(a)), (n, False)) == (k * n + ones(n) - unused, max(2 * k - 1, 0))


@pytest.mark.parametrize("m", range(9))
def test_decoder(m):
    assert cost(lambda a: decode(a), (m, False)) == ((1 << m) - m - 1, levels(m) if m else 0)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", [2, 3, 7, 8, 17, 32, 44, 64])
def test_products(n, signed):
    gates, depth = cost(lambda a, b: a * b, (n, signed), (n, signed))
    assert gates <= 2 * n * n + 2 * n * levels(n)
    assert depth <= 2 * levels(n) + 2
    gates, depth = cost(lambda a, b: multiply(a, b, n), (n, signed), (n, signed))
    assert gates <= n * n + n * levels(n)
    assert depth <= 2 * levels(n) + 1


def test_products_with_constants_and_repeated_signs():
    assert cost(lambda a: a * 8, (32, False)) == (0, 0)
    gates, depth = cost(lambda a: a * 5, (32, False))  # two rows: one adder of at most 35 bits
    assert gates <= adder(35)
    assert depth == 6
    narrow = cost(lambda a, b: a * b, (9, True), (20, True))
    assert cost(lambda a, b: multiply(a.extend(17), b, 29), (9, True), (20, True)) == narrow
    # Less an offset that makes it signed: the top bit is only read in another way.
    assert cost(lambda a, b: multiply(a.wide_subtract(256), b, 29), (9, False), (20, True)) == narrow


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 9, 16, 40])
def test_sums_of_many(m, signed):
    width = 24
    types = [(width, signed)] * m
    gates, depth = cost(lambda *v: list(sum_rows(v[0].graph, v, [], width)), *types)
    assert depth <= levels(m)
    assert gates <= max(m - 1, 0) * width
    assert gates == 0 or m > 2
    rest = cost(lambda *v: total(v, width), *types)
    assert rest[0] <= gates + adder(width)
    assert rest[1] <= depth + levels(width)


@pytest.mark.parametrize(("count", "depth"), [(2, 6), (3, 7), (6, 9), (8, 9), (9, 17)])
def test_least_of_many(count, depth):
    """A comparison is 6 deep for 44 bits; the best of up to eight ceil(log2(count - 1)) more, a choice 1."""
    less = 2 * 44 + 22 - 1 - 6
    gates, found = cost(lambda *v: argmin(v), *[(44, True)] * count)
    assert found == depth
    if count <= 8:
        # One wire of the one-hot index may go unused: index bits are sums of those of odd, .. numbers.
        assert count * (count - 1) // 2 * less <= gates <= count * (count - 1) // 2 * less + (count - 1) * (count - 2)


def test_the_form_is_the_builders():
    def build(*form):
        builder = Builder(*form)
        x, y = builder.input(12), builder.input(12)
        builder.output(select(x < y, (x + y) * x, -y))
        builder.output(concatenate(*normalise(x)))
        return builder.build()

    assert Builder().graph.form == "size"
    assert build().digest() == build("size").digest() != build("depth").digest()
    assert build("depth").depth < build().depth
    assert build("depth").and_count > build().and_count


def test_depth_of_a_wire_is_that_of_its_netlist():
    for form, width in itertools.product(("size", "depth"), (1, 5, 16)):
        builder = Builder(form)
        x, y = builder.input(width), builder.input(width)
        assert {wire.depth for wire in (*x, ~y[0], Integer.constant(builder.graph, 5)[0])} == {0}
        product = x * y
        builder.output(product)
        assert max(wire.depth for wire in product) == builder.build().depth
