"""Quotients of integers from 0 up."""

from __future__ import annotations

from smc.circuit.integer import Integer, concatenate, select


def quotient(dividend: Integer, divisor: Integer, width: int) -> Integer:
    """Return dividend // divisor in `width` bits; all ones for a divisor of 0.

    The caller answers for it that the quotient fits. By restoring division: a subtraction and a choice a bit.

    Example:
        >>> from smc.circuit import Builder
        >>> builder = Builder()
        >>> builder.output(quotient(builder.input(8), builder.input(4), 8))
        >>> builder.build().and_count
        67
    """
    dividend, divisor = dividend.as_unsigned().resize(max(width, len(dividend))), divisor.as_unsigned()
    rest, digits = dividend[width:].resize(len(divisor)), []  # less than the divisor, as the quotient fits
    for place in reversed(range(width)):
        rest = concatenate(dividend[place], rest)
        difference = rest.wide_subtract(divisor)
        digits.append(~difference[-1])
        rest = select(difference[-1], rest, difference.as_unsigned())[: len(divisor)]
    return Integer(dividend.graph, digits[::-1])


def fraction(numerator: Integer, divisor: Integer, bits: int) -> Integer:
    """Return floor(2^bits numerator / divisor) in `bits` + 1 bits, for a numerator below 2 divisor; see `quotient`."""
    zeros = Integer.constant(numerator.graph, 0, bits)
    return quotient(concatenate(zeros, numerator), divisor, bits + 1)
