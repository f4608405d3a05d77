"""Quotients of integers from 0 up."""

from __future__ import annotations

from smc.circuit import prefix, ripple
from smc.circuit.graph import ONE
from smc.circuit.integer import Integer, concatenate
from smc.circuit.wire import Wire


def quotient(dividend: Integer, divisor: Integer, width: int) -> Integer:
    """Return dividend // divisor in `width` bits; some number for a divisor of 0.

    By division without restoring: where a digit is 0 the divisor was subtracted in vain, which the next step makes good
    by adding it. One adder a digit, no choice: n ANDs for a divisor of n bits (Robertson, "A new class of digital
    division methods", IRE Trans. Electronic Computers EC-7, 1958).

    Args:
        dividend: The dividend; its bits are read as a number from 0 up.
        divisor: The divisor; its bits are read as a number from 0 up.
        width: Bits of the quotient. The caller answers for it that the quotient fits.

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
    room = len(divisor) + 1  # what is left lies from -divisor up to below the divisor, in two's complement
    rest = dividend[width:].resize(room).wires  # less than the divisor, as the quotient fits
    digits = [Wire(graph, ONE)]
    for place in reversed(range(width)):
        subtracts = digits[-1]
        term = [bit ^ subtracts for bit in divisor.resize(room)]
        rest = tuple(add((dividend[place], *rest[:-1]), term, subtracts))
        digits.append(~rest[-1])
    return Integer(graph, digits[:0:-1])


def fraction(numerator: Integer, divisor: Integer, bits: int) -> Integer:
    """Return floor(2^bits numerator / divisor) in `bits` + 1 bits; see `quotient`.

    Args:
        numerator: A number from 0 up, below twice the divisor; the caller answers for it.
        divisor: A number from 1 up.
        bits: Binary places after the point.
    """
    zeros = Integer.constant(numerator.graph, 0, bits)
    return quotient(concatenate(zeros, numerator), divisor, bits + 1)
