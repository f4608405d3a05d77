"""Arithmetic of least AND depth on lists of wires, least bit first; `ripple` needs one level a bit instead.

Carries are computed by a parallel prefix. A group of neighbouring bits has two wires, "generates a carry" and
"propagates a carry"; two neighbouring groups join into one. Adder: Sklansky, "Conditional-sum addition logic" (IRE
Trans. EC-9, 1960). Comparator, a balanced tree of joins: Garay, Schoenmakers, Villegas, "Practical and secure solutions
for integer comparison" (PKC 2007). Both for secure computation by XOR shares: Schneider, Zohner, "GMW vs. Yao?
Efficient secure two-party computation with low depth circuits" (FC 2013).

Two refinements save a level. First, the carry in counts as one more group at the low end, and the generate wire of a
group may be ready a level later than its propagate wire. The depths are then the least possible: an AND gate at most
doubles the algebraic degree, which is n for the top bit of a sum of n bits and n + 1 for a comparison. Second, a carry
over a single bit is a majority, which does not need the bit's generate wire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from smc.circuit.graph import ZERO
from smc.circuit.ripple import majority
from smc.circuit.wire import Wire, balanced

T = TypeVar("T")


@dataclass(frozen=True)
class _Group:
    """Group of neighbouring bits of two addends."""

    generate: Wire  # carry out if there is no carry in
    propagate: Wire  # 1 if a carry in is passed on; never 1 together with `generate`
    carry: Callable[[Wire], Wire]  # maps a carry in to the carry out; one AND


def add(a: Sequence[Wire], b: Sequence[Wire], carry: Wire) -> list[Wire]:
    """Return a + b + carry modulo 2^n for n wires each; depth ceil(log2 n) with a constant carry in.

    For n >= 2 this takes 2S - n + floor(n/2) ANDs, where S is the number of ones in the binary digits of 1 .. n - 1;
    for powers of two these are n log2 n - n/2.

    Args:
        a: One summand, least bit first.
        b: The other summand, of equal length.
        carry: The carry into the lowest bit.

    Raises:
        ValueError: The lengths differ.
    """
    bits = [_bit(x, y, x ^ y) for x, y in zip(a, b, strict=True)]
    groups = scan([_carry_in(carry), *bits], _join)
    return [x ^ y ^ group.generate for x, y, group in zip(a, b, groups, strict=False)]


def subtract(a: Sequence[Wire], b: Sequence[Wire], zero: Wire) -> list[Wire]:
    """Return a - b modulo 2^n for n wires each, at the cost of `add`.

    Args:
        a: The minuend, least bit first.
        b: The subtrahend, of equal length.
        zero: The constant 0.

    Raises:
        ValueError: The lengths differ.
    """
    # Both forms are correct and cost the same unless an operand is constant: then adding to its zeros is cheaper.
    if all(x.is_constant for x in a):
        return add(a, _inverted(b), ~zero)
    return _inverted(add(_inverted(a), b, zero))


def less(a: Sequence[Wire], b: Sequence[Wire], zero: Wire) -> Wire:
    """Return whether a < b, as unsigned numbers of n wires each; depth ceil(log2(n + 1)).

    For n >= 1 this takes 2n + ceil(n/2) - 1 - ceil(log2(n + 1)) ANDs. The result is the carry out of ~a + b.

    Args:
        a: The left operand, least bit first.
        b: The right operand, of equal length.
        zero: The constant 0.

    Raises:
        ValueError: The lengths differ.
    """
    # ~(x ^ y) instead of ~x ^ y: then a < b and b < a share all propagate wires.
    bits = [_bit(~x, y, ~(x ^ y)) for x, y in zip(a, b, strict=True)]
    return balanced(_join, [_carry_in(zero), *bits]).generate


def clear_above(wires: Sequence[Wire], true: Wire) -> list[Wire]:
    """Return n + 1 bits for n wires: bit i is 1 if the top i wires are all 0; depth ceil(log2 n).

    The AND gates are as many as the ones in the binary digits of 1 .. n - 1: n/2 log2 n for powers of two.

    Args:
        wires: The bits, least bit first.
        true: The constant 1.
    """
    return [true, *scan(_inverted(wires[::-1]), Wire.__and__)]


def scan(items: Sequence[T], join: Callable[[T, T], T]) -> list[T]:
    """Join each item with all before it, ceil(log2 n) deep, by Sklansky's network.

    Args:
        items: The items to join.
        join: Associative function; its first argument is the join of the earlier items.

    Returns:
        Entry i is the join of items 0 to i.
    """
    row = list(items)
    span = 1
    while span < len(row):
        for i in range(len(row)):
            if i & span:  # in the upper half of a block of 2 span items: join the whole lower half
                row[i] = join(row[(i & -span) - 1], row[i])
        span *= 2
    return row


def _bit(a: Wire, b: Wire, different: Wire) -> _Group:
    return _Group(a & b, different, lambda carry: majority(a, b, carry))


def _carry_in(carry: Wire) -> _Group:
    return _Group(carry, Wire(carry.graph, ZERO), lambda _: carry)


def _join(low: _Group, high: _Group) -> _Group:
    """Return the group of two neighbours; at most two ANDs, one if its propagate wire is not used."""
    generate, propagate = high.carry(low.generate), high.propagate & low.propagate
    return _Group(generate, propagate, lambda carry: generate ^ (propagate & carry))


def _inverted(wires: Sequence[Wire]) -> list[Wire]:
    return [~wire for wire in wires]
