"""Inner products by oblivious transfer, beside an engine whose bits can be converted to XOR shares."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from smc.arithmetic import InnerProducts, bits_to_shares
from smc.arithmetic.inner import Numbers
from smc.arithmetic.shares import Shares
from smc.circuit import Builder, Form, Netlist
from smc.circuit.kept import kept
from smc.engines.inner import Inner
from smc.engines.interface import XorSharedEngine
from smc.ot import Transfers
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix


@kept
def _carry(width: int, form: Form) -> Netlist:
    """Build the circuit of the carry of the sum of two numbers of `width` bits."""
    builder = Builder(form)
    left, right = builder.input(width), builder.input(width)
    builder.output(left.wide_add(right)[width])
    return builder.build()


class SharedInner(InnerProducts, Inner):
    """Inner products of `smc.arithmetic.inner`.

    The sum of two shares modulo 2^w exceeds the number by 2^w times the carry. So lifting computes shares of the
    carry by a circuit, and subtracts 2^w times them.
    """

    def __init__(self, engine: XorSharedEngine, transfers: Transfers) -> None:
        super().__init__(engine.session, transfers)
        self._engine = engine

    @override
    def lifted(self, shares: Numbers) -> Shares:
        width = 8 * shares.dtype.itemsize
        wide = shares.astype(np.uint64)
        if width == 64 or not shares.size:
            return wide
        left, right = self._engine.both(bitpack.from_integers(wide, width))
        (carry,) = self._engine.run(_carry(width, self._engine.form), left, right)
        carries = self._to_shares(self._engine.shares(carry))[0]
        return wide - (carries << np.uint64(width))

    def _to_shares(self, bits: BitMatrix) -> Shares:
        return bits_to_shares(self._transfers, bits)
