"""Private integers as engine inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.circuit import Netlist
from smc.engines import Bits, Engine
from smc.errors import InputError
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

Integers = Sequence[int] | NDArray[Any]


def checked(values: Integers, width: int, what: str) -> NDArray[np.uint64]:
    """Return the values as uint64[batch]; `InputError` if one is negative or has more than `width` <= 64 bits."""
    if not 1 <= width <= 64:
        raise InputError(f"{what}: a width of {width} bits is not between 1 and 64")
    array = values if isinstance(values, np.ndarray) else np.array([int(v) for v in values], dtype=object)
    fits = (array >= 0) & (array < 1 << width) if width < 64 or array.dtype == object else array >= 0
    wrong = np.flatnonzero(~fits.astype(np.bool_))
    if wrong.size:
        where = f" number {wrong[0] + 1}" if len(array) > 1 else ""
        raise InputError(f"{what}{where} does not fit {width} bits: it must be from 0 to 2^{width} - 1")
    return array.astype(np.uint64)


def both_inputs(engine: Engine, values: NDArray[np.uint64], width: int) -> tuple[Bits, Bits]:
    """Enter each party's private integers uint64[batch]; return party 0's and party 1's, [width, batch]."""
    return engine.both(bitpack.from_integers(values, width))


def run_on_both(engine: Engine, netlist: Netlist, values: NDArray[np.uint64]) -> BitMatrix:
    """Run a netlist and open its only output, on a number of either party, uint8[width, batch].

    Large batches are run in parts, so that memory does not grow with them; all is opened at once.
    """
    width = netlist.input_widths[0]
    size = max(1, engine.comfortable // width)
    engine.expect(width * len(values))
    starts = range(0, max(1, len(values)), size)
    parts = [engine.run(netlist, *both_inputs(engine, values[start : start + size], width))[0] for start in starts]
    (opened,) = engine.reveal(Bits.join(parts))
    return opened
