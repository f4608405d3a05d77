"""Quotients of unsigned integers."""

from __future__ import annotations

from smc.circuit import prefix, ripple
from smc.circuit.graph import ONE
from smc.circuit.integer import Integer, concatenate
from smc.circuit.wire import Wire


def quotient(dividend: Integer, divisor: Integer, width: int) -> Integer:
    """Return dividend // divisor in `width` bits; an arbitrary number if the divisor is 0.

    This is division without restoring: where a digit is 0, the next step adds the divisor that was subtracted in vain.
    It takes one adder a digit and no choice, that is n ANDs a digit for a divisor of n bits (Robertson, "A new class of
    digital division methods", IRE Trans. Electronic Computers EC-7, 1958).

    Args:
        dividend: The dividend; its bits are read as an unsigned number.
        divisor: The divisor; its bits are read as an unsigned number.
        width: Bits of the quotient. The caller must ensure that the quotient fits.

    Examples:
        >>> from smc.circuit import Builder
        >>> builder = Builder()
        >>> builder.output(quotient(builder.input(8), builder.input(4), 8))
        >>> builder.build().and_count
        32
    """
    graph = dividend.graph
    add = prefix.add if graph.form == "depth" else ripple.add
    dividend, divisor = dividend.as_unsigned().resize(max(width, len(dividend))), divisor.as_unsigned()
    room = len(divisor) + 1  # the remainder is at least -divisor and below divisor, in two's complement
    rest = dividend[width:].resize(room).wires  # less than the divisor, because the quotient fits
    digits = [Wire(graph, ONE)]
    for place in reversed(range(width)):
        subtracts = digits[-1]
        term = [bit ^ subtracts for bit in divisor.resize(room)]
        rest = tuple(add((dividend[place], *rest[:-1]), term, subtracts))
        digits.append(~rest[-1])
    return Integer(graph, digits[:0:-1])


def fraction(numerator: Integer, divisor: Integer, bits: int) -> Integer:
    """Return floor(2^bits numerator / divisor) in `bits` + 1 bits, by the division of `quotient`.

    Args:
        numerator: Unsigned number below twice the divisor; the caller must ensure this.
        divisor: Unsigned number, 1 or more.
        bits: Binary places after the point.
    """
    zeros = Integer.constant(numerator.graph, 0, bits)
    return quotient(concatenate(zeros, numerator), divisor, bits + 1)
