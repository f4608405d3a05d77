"""Arithmetic of least AND depth on lists of wires, least bit first: a few levels where `ripple` needs one a bit.

Carries are found by a parallel prefix: two neighbouring groups of bits, each with "makes a carry" and "passes a carry
on", join into one group. Adder: Sklansky, "Conditional-sum addition logic" (IRE Trans. EC-9, 1960). Comparator, a
balanced tree of joins: Garay, Schoenmakers, Villegas, "Practical and secure solutions for integer comparison" (PKC
2007). Both for secure computation by XOR shares: Schneider, Zohner, "GMW vs. Yao? Efficient secure two-party
computation with low depth circuits" (FC 2013).

Two refinements here. The carry in counts as one more group at the low end, and what a group makes may come a level
later than what it passes on: so no level is lost, and the depths are the least possible ones (an AND gate at most
doubles the algebraic degree, which is n for the top bit of a sum of n bits, n + 1 for a comparison). And a carry over
a single bit is a majority, which does without the bit's own "makes a carry".
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
    """Neighbouring bits of two addends."""

    generate: Wire  # the carry out if none comes in
    propagate: Wire  # whether a carry in comes out again; never together with `generate`
    carry: Callable[[Wire], Wire]  # the carry out for a carry in; one AND


def add(a: Sequence[Wire], b: Sequence[Wire], carry: Wire) -> list[Wire]:
    """Return a + b + carry modulo 2^n for n wires each; depth ceil(log2 n) with a constant carry in.

    For n >= 2 that takes 2S - n + floor(n/2) ANDs, S being the number of ones in the binary digits of 1 .. n - 1:
    n log2 n - n/2 for powers of two.

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
    # Both are right, and cost the same unless an operand is constant: then the one that adds to its zeros is cheaper.
    if all(x.is_constant for x in a):
        return add(a, _inverted(b), ~zero)
    return _inverted(add(_inverted(a), b, zero))


def less(a: Sequence[Wire], b: Sequence[Wire], zero: Wire) -> Wire:
    """Return whether a < b, as unsigned numbers of n wires each; depth ceil(log2(n + 1)).

    For n >= 1 that takes 2n + ceil(n/2) - 1 - ceil(log2(n + 1)) ANDs. The answer is the carry out of ~a + b.

    Args:
        a: The left operand, least bit first.
        b: The right operand, of equal length.
        zero: The constant 0.

    Raises:
        ValueError: The lengths differ.
    """
    # ~(x ^ y), not ~x ^ y: so a < b and b < a share all that is passed on.
    bits = [_bit(~x, y, ~(x ^ y)) for x, y in zip(a, b, strict=True)]
    return balanced(_join, [_carry_in(zero), *bits]).generate


def clear_above(wires: Sequence[Wire], true: Wire) -> list[Wire]:
    """Return n + 1 bits for n wires: are the top 0, 1, ..., n all 0; depth ceil(log2 n).

    That takes as many ANDs as there are ones in the binary digits of 1 .. n - 1: n/2 log2 n for powers of two.

    Args:
        wires: The bits, least bit first.
        true: The constant 1.
    """
    return [true, *scan(_inverted(wires[::-1]), Wire.__and__)]


def scan(items: Sequence[T], join: Callable[[T, T], T]) -> list[T]:
    """Join each item with all before it, ceil(log2 n) deep, by Sklansky's network.

    Args:
        items: The items to join.
        join: An associative function; it takes the earlier items' join first.

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
    """Return one group of two neighbours; at most two ANDs, one if what it passes on is never asked for."""
    generate, propagate = high.carry(low.generate), high.propagate & low.propagate
    return _Group(generate, propagate, lambda carry: generate ^ (propagate & carry))


def _inverted(wires: Sequence[Wire]) -> list[Wire]:
    return [~wire for wire in wires]
