"""Quotients of integers."""

from __future__ import annotations

from smc.circuit.integer import Integer, concatenate, select
from smc.circuit.wire import any_of


def quotient(dividend: Integer, divisor: Integer, width: int) -> Integer:
    """Return dividend // divisor, of integers from 0 up, in `width` bits; 0 where the divisor is 0.

    The caller answers for it that the quotient fits. Long division, bit by bit: with d bits of the divisor a step takes
    2 d + 1 ANDs, or somewhat more in the form "depth"; `width` steps one after the other, and d more for the divisor 0.

    Example:
        >>> from smc.circuit import Builder
        >>> builder = Builder()
        >>> builder.output(quotient(builder.input(8), builder.input(4), 8))
        >>> builder.build().and_count
        78
    """
    dividend = dividend.as_unsigned().resize(max(width, len(dividend)))
    rest = dividend[width:].resize(len(divisor))  # less than the divisor, as the quotient fits
    digits = []
    for step in reversed(range(width)):
        rest = concatenate(dividend[step], rest)
        less = rest < divisor
        digits.append(~less)
        rest = select(less, rest, rest - divisor)[: len(divisor)]
    defined = any_of(divisor.wires)
    return Integer(dividend.graph, [digit & defined for digit in reversed(digits)])
