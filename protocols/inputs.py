"""Private integers as inputs of an engine."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.circuit import Netlist
from smc.engines import Bits, Engine
from smc.errors import InputError
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

Numbers = Sequence[int | float | Fraction] | NDArray[Any]
SHOWN_CHARACTERS = 40  # an error shows a value up to this length


def checked(values: Numbers, width: int, what: str) -> NDArray[np.uint64]:
    """Return the values as uint64[batch]; 3.0 counts as the whole number 3.

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
    """Return the decimal number that Python prints for a value; None unless it is a finite number."""
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


def both_inputs(engine: Engine, values: NDArray[np.uint64], width: int) -> tuple[Bits, Bits]:
    """Enter each party's private integers; return party 0's and party 1's as secret bits, [width, batch] each.

    Args:
        engine: The engine of this session.
        values: This party's numbers, uint64[batch], each below 2^width; private.
        width: Bits of a number; public.
    """
    return engine.both(bitpack.from_integers(values, width))


def run_on_both(engine: Engine, netlist: Netlist, values: NDArray[np.uint64]) -> BitMatrix:
    """Run a circuit on a number of either party and open its only output.

    Large batches are run in parts to bound the memory; all outputs are opened at once.

    Args:
        engine: The engine of this session.
        netlist: A circuit of two inputs of one width, the first for party 0; public.
        values: This party's numbers, uint64[batch]; private.

    Returns:
        The output, uint8[width, batch]; both parties learn it.
    """
    width = netlist.input_widths[0]
    size = max(1, engine.comfortable // width)
    engine.expect(width * len(values))
    starts = range(0, max(1, len(values)), size)
    parts = [engine.run(netlist, *both_inputs(engine, values[start : start + size], width))[0] for start in starts]
    (opened,) = engine.reveal(Bits.join(parts))
    return opened
