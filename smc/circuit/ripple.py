"""Arithmetic on lists of wires, least bit first, with the fewest AND gates known.

The full adder with one AND is from Boyar, Peralta, Pochuev, "On the multiplicative complexity of Boolean functions
over the basis (and, xor, 1)", 2000; the comparator and subtractor from Kolesnikov, Sadeghi, Schneider,
"Improved garbled circuit building blocks and applications to auctions and computing minima", 2009.
"""

from __future__ import annotations

from collections.abc import Sequence

from smc.circuit.wire import Wire


def majority(a: Wire, b: Wire, c: Wire) -> Wire:
    """Return whether at least two of three wires are 1; one AND.

    Args:
        a: The first wire.
        b: The second wire.
        c: The third wire; the order does not matter.
    """
    # Majority is symmetric: a constant as pivot lets the graph fold most of the gates.
    pivot, p, q = sorted((a, b, c), key=lambda wire: not wire.is_constant)
    return pivot ^ ((p ^ pivot) & (q ^ pivot))


def add(a: Sequence[Wire], b: Sequence[Wire], carry: Wire) -> list[Wire]:
    """Return a + b + carry modulo 2^n for n wires each; n - 1 ANDs with a constant carry in.

    Args:
        a: One summand, least bit first.
        b: The other summand, of equal length.
        carry: The carry into the lowest bit.

    Raises:
        ValueError: The lengths differ.
    """
    total = []
    for x, y in zip(a, b, strict=True):
        total.append(x ^ y ^ carry)
        carry = majority(x, y, carry)  # the last carry is a dead gate, dropped when the netlist is built
    return total


def subtract(a: Sequence[Wire], b: Sequence[Wire], zero: Wire) -> list[Wire]:
    """Return a - b modulo 2^n for n wires each; n - 1 ANDs.

    Args:
        a: The minuend, least bit first.
        b: The subtrahend, of equal length.
        zero: The constant 0.

    Raises:
        ValueError: The lengths differ.
    """
    difference = []
    borrow = zero
    for x, y in zip(a, b, strict=True):
        difference.append(x ^ y ^ borrow)
        borrow = _borrow(x, y, borrow)
    return difference


def less(a: Sequence[Wire], b: Sequence[Wire], zero: Wire) -> Wire:
    """Return whether a < b, as unsigned numbers of n wires each; n ANDs.

    Args:
        a: The left operand, least bit first.
        b: The right operand, of equal length.
        zero: The constant 0.

    Raises:
        ValueError: The lengths differ.
    """
    borrow = zero
    for x, y in zip(a, b, strict=True):
        borrow = _borrow(x, y, borrow)
    return borrow


def _borrow(a: Wire, b: Wire, borrow: Wire) -> Wire:
    """Return the borrow out of a - b - borrow: b where a and b differ, else the borrow in; one AND."""
    return borrow ^ ((a ^ b) & (b ^ borrow))
