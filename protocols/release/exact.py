"""Exact sums: joint numbers opened without noise, at the explicit request of both parties.

Ideal functionality. Inputs: from each party its own integers (a batch) of a public width. Output to both: the sum of
both integers at each position. So each party learns the other's integer by subtracting its own: nothing is hidden, and
there is no privacy guarantee. Further leakage: width, batch size. Security is that of the engine.

Cost of n sums of integers of w bits: n w ANDs in the form "size"; inputs of w n bits from each party; n (w + 1) bits
opened.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import from_zero_by, run_on_both, summands
from smc.circuit import Builder, Form, Netlist
from smc.engines import Engine
from smc.primitives import bits as bitpack


@lru_cache(maxsize=64)
def sum_netlist(width: int, form: Form, modular: bool = False) -> Netlist:
    """Build the sum of two integers from 0 up, width + 1 bits.

    Args:
        width: Bits of each integer.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
        modular: True for shares of width + 1 bits, whose sum is taken modulo 2^(width + 1).
    """
    builder = Builder(form)
    left, right = (builder.input(width + modular) for _ in range(2))
    builder.output(left + right if modular else left.wide_add(right))
    return builder.build()


def exact_sums(engine: Engine, own: NDArray[np.integer], width: int, signed: bool = False) -> NDArray[np.int64]:
    """Return the sums of both parties' integers without noise, int64[batch], opened to both.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: This party's integers, int[batch]; private, but the peer learns them from the sums.
        width: Bits of an integer, at most 62; public.
        signed: False for integers from 0 to 2^width - 1, True for -2^(width - 1) to 2^(width - 1) - 1.

    Raises:
        InputError: An integer does not fit the width.
    """
    offset = 1 << (width - 1) if signed else 0
    own_from_zero = own.astype(np.int64) + from_zero_by(engine, width, signed)
    shifted = summands(engine, own_from_zero, width, "the number" + " shifted by half its range" * signed)
    opened = run_on_both(engine, sum_netlist(width, engine.form, engine.masked_numbers), shifted, "modular")
    return bitpack.to_words(opened).astype(np.int64) - 2 * offset
