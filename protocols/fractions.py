"""Fractions of secret integers, cut to a public number of bits: circuits that protocols run on batches."""

from __future__ import annotations

from smc.circuit import Integer, concatenate, select


def quotient(numerator: Integer, divisor: Integer, fraction: int) -> Integer:
    """Return floor(2^fraction numerator / divisor), `fraction` + 1 bits, for a numerator below 2 divisor.

    By restoring division. A divisor of 0 gives all ones.
    """
    width, rest, digits = len(divisor), numerator, []
    for _ in range(fraction + 1):
        less = rest.wide_subtract(divisor)
        digits.append(~less[-1])
        remainder = select(less[-1], rest.resize(width), less[:width])
        rest = concatenate(Integer.constant(rest.graph, 0, 1), remainder)
    return Integer(numerator.graph, digits[::-1])
