"""Choosing and finding: one-hot decoding, the leading bit, normalising shifts, largest and smallest of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smc.circuit.graph import ONE
from smc.circuit.integer import Integer, concatenate, select
from smc.circuit.wire import Wire, any_of


def decode(index: Integer) -> list[Wire]:
    """The 2^m wires of which only number `index` is 1, for an index of m bits; 2^m - 2 ANDs, depth m - 1.

    Bit by bit: a wire w of the shorter table becomes the two wires w & bit and w & ~bit = w ^ (w & bit).
    """
    table = [Wire(index.graph, ONE)]
    for bit in index:
        high = [wire & bit for wire in table]
        table = [wire ^ upper for wire, upper in zip(table, high, strict=True)] + high
    return table


def leading_one(x: Integer) -> Integer:
    """As wide as x, with only the most significant set bit of x left; 0 for 0. n - 1 ANDs, depth n - 1."""
    clear = Wire(x.graph, ONE)  # no bit was set so far
    found: list[Wire] = []
    for wire in reversed(x.wires):
        found.append(clear & wire)
        clear = clear ^ found[-1]
    return Integer(x.graph, found[::-1])


def normalise(x: Integer) -> tuple[Integer, Integer]:
    """x << s with the smallest s that sets the top bit, and s in ceil(log2 n) bits, for n bits of x.

    For x = 0 the shifted value is 0 and every bit of s is 1. Each step asks whether the top 2^k bits are all zero and
    if so shifts by 2^k: n + 2^k - 1 ANDs for k = ceil(log2 n) - 1, ..., 0.
    """
    x = x.as_unsigned()
    shift: list[Wire] = []
    for step in reversed(range(max(len(x) - 1, 0).bit_length())):
        empty = ~any_of(x.wires[-(1 << step) :])
        x = select(empty, x << (1 << step), x)
        shift.append(empty)
    return x, Integer(x.graph, shift[::-1])


def maximum(values: Sequence[Integer]) -> tuple[Integer, Integer]:
    """The largest of n >= 1 values and its index in ceil(log2 n) bits; among equals the lowest index.

    A knock-out tournament: n - 1 comparisons and choices, ceil(log2 n) of them deep.
    """
    return _tournament(values, lambda champion, challenger: champion < challenger)


def minimum(values: Sequence[Integer]) -> tuple[Integer, Integer]:
    """The smallest of n >= 1 values and its index, as `maximum`."""
    return _tournament(values, lambda champion, challenger: champion > challenger)


def argmax(values: Sequence[Integer]) -> Integer:
    """The index of the largest of n >= 1 values in ceil(log2 n) bits; among equals the lowest index."""
    return maximum(values)[1]


def argmin(values: Sequence[Integer]) -> Integer:
    """The index of the smallest of n >= 1 values, as `argmax`."""
    return minimum(values)[1]


def _tournament(values: Sequence[Integer], loses: Callable[[Integer, Integer], Wire]) -> tuple[Integer, Integer]:
    if not values:
        raise ValueError("there is no largest or smallest of no values")
    row = [(value, Integer(value.graph, [])) for value in values]
    while len(row) > 1:
        winners = []
        for (value, index), (other, other_index) in zip(row[::2], row[1::2], strict=False):
            beaten = loses(value, other)
            place = concatenate(select(beaten, other_index, index), beaten)
            winners.append((select(beaten, other, value), place))
        row = winners + row[len(row) & ~1 :]  # an odd one out goes on
    return row[0]
