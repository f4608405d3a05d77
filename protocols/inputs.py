"""Private integers as inputs of an engine.

A protocol begins with *joint numbers*: each is the sum of one number of either party. Usually the two summands are the
parties' own numbers, from 0 up to a public bound. With `Engine.masked_numbers` they are shares: integers modulo 2^64,
each uniform, whose sum modulo 2^64 is the joint number. The joint number then includes the rows of further holders
(docs/holders.md). The public bound of a party becomes half the bound on the joint number, so the joint number fits the
sum of both parties' numbers.

A circuit that adds both inputs modulo 2^width, and whose width holds the joint number, takes shares as they are
("modular"). Every other circuit takes two numbers of `width` bits with that sum. If the width holds the joint number
("whole"), these are the sum of the shares modulo 2^width, and 0. Else ("two") `split_netlist` adds the shares modulo
2^(width + 1) and cuts the sum into two numbers. An input that is not a summand, such as a bit of a party's own rows,
enters by `Engine.both`. Protocols with such inputs do not work on shares.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smc.circuit import Builder, Form, Netlist
from smc.circuit.kept import kept
from smc.engines import Bits, Engine
from smc.errors import InputError
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

Numbers = Sequence[int | float | Fraction] | NDArray[Any]
Sums = Literal["modular", "whole", "two"]  # how a circuit takes shares, see `both_inputs`
SHOWN_CHARACTERS = 40  # an error shows a value up to this length


def checked(values: Numbers, width: int, what: str) -> NDArray[np.uint64]:
    """Return the values as uint64[batch]; floats without a fraction, such as 3.0, are whole numbers.

    Args:
        values: This party's numbers.
        width: Bits of a number, 1 to 64.
        what: Name of the value in an error, such as "the value".

    Raises:
        InputError: A value is not a whole number, is negative, or does not fit the width; or the width is not 1 to 64.
    """
    if not 1 <= width <= 64:
        raise InputError(f"{what}: a width of {width} bits is not between 1 and 64")
    array = (
        values
        if isinstance(values, np.ndarray) and values.dtype.kind in "biu"
        else np.array([_whole(value, what, place) for place, value in enumerate(values)], dtype=object)
    )
    fits = (array >= 0) & (array < 1 << width) if width < 64 or array.dtype == object else array >= 0
    wrong = np.flatnonzero(~fits.astype(np.bool_))
    if wrong.size:
        where = f" number {wrong[0] + 1}" if len(array) > 1 else ""
        raise InputError(f"{what}{where} does not fit {width} bits: it must be from 0 to 2^{width} - 1")
    return array.astype(np.uint64)


def stepped(
    engine: Engine, values: Numbers, width: int, what: str, signed: bool, step: float | str
) -> NDArray[np.uint64]:
    """Return numbers as multiples of an agreed step, uint64[batch]: the lowest number becomes 0, the order stays.

    Args:
        engine: The engine of this session, which compares sign and step with the peer's.
        values: This party's numbers; private. A float counts as the decimal number that Python prints for it.
        width: Bits of a multiple, 1 to 64, the sign included; public.
        what: Name of the value in an error, such as "the value".
        signed: True if numbers may be negative; public.
        step: The step, such as 0.01 for amounts in cents; public.

    Raises:
        InputError: A number is not a multiple of the step, or does not fit the width; the step is not above 0, or the
            width is not 1 to 64.
    """
    if not signed and step == 1:
        return checked(values, width, what)
    if not 1 <= width <= 64:
        raise InputError(f"{what}: a width of {width} bits is not between 1 and 64")
    unit = _fraction(step)
    if unit is None or unit <= 0:
        raise InputError(f"step: {_shown(step)} is not a number above 0")
    engine.session.note("numbers", str(unit).encode, width=width, signed=signed)
    lowest = -(1 << (width - 1)) if signed else 0
    highest = lowest + (1 << width) - 1
    steps = []
    for place, value in enumerate(values):
        number = None if isinstance(value, str) else _fraction(value)
        multiple = None if number is None else number / unit
        if multiple is None or multiple.denominator != 1:
            raise InputError(
                f"{what} number {place + 1} is {_shown(value)}, not a multiple of the step {step}: round it"
            )
        if not lowest <= multiple <= highest:
            raise InputError(
                f"{what} number {place + 1} is {_shown(value)}, not from {lowest} to {highest} steps of {step}"
            )
        steps.append(int(multiple) - lowest)
    return np.array(steps, dtype=np.uint64)


def _whole(value: Any, what: str, place: int) -> int:
    """Return a whole number as an int; raise InputError for any other value."""
    number = None if isinstance(value, str) else _fraction(value)
    if number is None or number.denominator != 1:
        raise InputError(
            f"{what} number {place + 1} is {_shown(value)}, not a whole number: give a whole number, "
            "or count in steps that both parties agree on (12.5 is 25 steps of 0.5)"
        )
    return int(number)


def _fraction(value: Any) -> Fraction | None:
    """Return a number exactly as Python prints it in decimal; None unless it is a finite number."""
    try:
        return Fraction(operator.index(value))
    except TypeError:
        pass
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def summands(engine: Engine, values: Numbers, width: int, what: str) -> NDArray[np.uint64]:
    """Return this party's summands as uint64[batch]: its numbers, checked, or its shares of joint numbers, unchecked.

    Args:
        engine: The engine of this session.
        values: This party's numbers, or with `Engine.masked_numbers` its shares; private.
        width: Bits of a number, 1 to 64; public.
        what: Name of the value in an error, such as "the count".

    Raises:
        InputError: A number is not a whole number, is negative, or does not fit the width.
    """
    return np.asarray(values).astype(np.uint64) if engine.masked_numbers else checked(values, width, what)


def from_zero_by(engine: Engine, width: int, signed: bool) -> int:
    """Return the integer that this party adds to its numbers to make them 0 or more: 2^(width - 1) if signed, else 0.

    For shares the joint number must be 0 or more: if signed, party 0 adds 2^width and party 1 adds 0.

    Args:
        engine: The engine of this session.
        width: Bits of a number; public.
        signed: True for numbers in two's complement; public.
    """
    shift = int(signed) << (width - 1)
    return shift if not engine.masked_numbers else 2 * shift * (engine.party == 0)


@kept
def split_netlist(width: int, signed: bool, form: Form = "size") -> Netlist:
    """Build the circuit that cuts a joint number, the sum of its inputs modulo 2^(width + 1), into two numbers.

    The cut of J, from 0 to 2^(width + 1) - 2, with the top bit t and L below it, is L + t and t (2^width - 1). The
    first has `width` bits: t = 1 leaves L at most 2^width - 2.

    Args:
        width: Bits of each number of the output.
        signed: True to invert the top bit of both: J is their sum plus 2^width.
        form: "size" for few gates, "depth" for few levels.
    """
    builder = Builder(form)
    total = builder.input(width + 1) + builder.input(width + 1)
    top = total[-1]
    parts = total[:width] + builder.integer([top]), [top] * width
    for wires in parts:
        first = [*wires]
        builder.output([*first[:-1], ~first[-1]] if signed else first)
    return builder.build()


@kept
def _sum_netlist(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(builder.input(width) + builder.input(width))
    return builder.build()


def both_inputs(
    engine: Engine, values: NDArray[Any], width: int, signed: bool = False, sums: Sums = "two"
) -> tuple[Bits, Bits]:
    """Enter each party's private summands; return two secret numbers with their sum, [width, batch] each.

    Without `Engine.masked_numbers` these are the number of party 0 and that of party 1.

    Args:
        engine: The engine of this session.
        values: This party's summands: integers [batch] of `width` bits, or shares of joint numbers; private.
        width: Bits of a number, the sign included; public. A sum of shares fits width + 1 bits: from 0 to
            2^(width + 1) - 2, or if signed from -2^width to 2^width - 2.
        signed: True for numbers in two's complement.
        sums: "modular" if the circuit adds both modulo 2^width, which is above every sum; "whole" if 2^width is above
            every sum; else "two". In doubt, "two".
    """
    if not engine.masked_numbers:
        return engine.both(bitpack.from_integers(values, width))
    shares = values.astype(np.uint64)
    if sums == "modular":
        return engine.both(bitpack.from_integers(shares, width))
    if sums == "whole":
        (total,) = engine.run(_sum_netlist(width, engine.form), *engine.both(bitpack.from_integers(shares, width)))
        return total, engine.constant(np.zeros((width, len(shares)), dtype=np.uint8))
    if signed and engine.party == 0:
        shares = shares + np.uint64(1 << width)
    sides = engine.both(bitpack.from_integers(shares, width + 1))
    left, right = engine.run(split_netlist(width, signed, engine.form), *sides)
    return left, right


def both_rows(engine: Engine, numbers: Sequence[tuple[NDArray[Any], int, bool]]) -> tuple[Bits, Bits]:
    """Enter several private summands of each instance; `both_inputs` enters one.

    Args:
        engine: The engine of this session.
        numbers: For each summand of an instance this party's numbers, integers [batch] or shares; the width; and
            whether it is signed. The numbers are private, all else is public. The caller has checked them.

    Returns:
        Two batches of secret bits, [sum of widths, batch] each, with the bits of the summands in their order.
    """
    if not engine.masked_numbers:
        return engine.both(np.concatenate([bitpack.from_integers(values, width) for values, width, _ in numbers]))
    parts: dict[int, tuple[Bits, Bits]] = {}
    for width, signed in dict.fromkeys((width, signed) for _, width, signed in numbers):
        alike = [i for i, number in enumerate(numbers) if number[1:] == (width, signed)]
        sides = both_inputs(engine, np.concatenate([numbers[i][0] for i in alike]), width, signed=signed)
        batch = len(numbers[alike[0]][0])
        for place, i in enumerate(alike):
            left, right = (side.take(slice(place * batch, (place + 1) * batch)) for side in sides)
            parts[i] = left, right
    left, right = (Bits(np.concatenate([parts[i][side].data for i in range(len(numbers))])) for side in (0, 1))
    return left, right


def run_on_both(engine: Engine, netlist: Netlist, values: NDArray[np.uint64], sums: Sums = "two") -> BitMatrix:
    """Run a circuit on pairs of numbers, one from each party, and open its only output.

    Large batches are run in parts to bound the memory; all outputs are opened at once.

    Args:
        engine: The engine of this session.
        netlist: A circuit of two inputs of one width, the first for party 0; public.
        values: This party's numbers, or shares of joint numbers, uint64[batch], from `summands`; private.
        sums: How the circuit adds shares: "modular", "whole" or, in doubt, "two"; `both_inputs` explains them.

    Returns:
        The output, uint8[width, batch]; both parties learn it.
    """
    width = netlist.input_widths[0]
    size = max(1, engine.comfortable // width)
    engine.expect(width * len(values))
    starts = range(0, max(1, len(values)), size)
    sides = (both_inputs(engine, values[start : start + size], width, sums=sums) for start in starts)
    parts = [engine.run(netlist, *pair)[0] for pair in sides]
    (opened,) = engine.reveal(Bits.join(parts))
    return opened
