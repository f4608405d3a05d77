"""Clear engine: the ideal functionality, played by two parties that send each other their inputs.

For tests and for counting on paper only: it protects nothing. Both parties hold every bit in the clear, so one protocol
text also computes the reference result, without cryptography.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.arithmetic.inner import Numbers, Size, Vectors
from smc.arithmetic.shares import Shares
from smc.circuit import Netlist, evaluate
from smc.engines.bits import Bits
from smc.engines.inner import Inner
from smc.engines.interface import Engine
from smc.primitives.bits import BitMatrix


class ClearEngine(Engine):
    """Engine without cryptography: its cells are the plain bits, uint8. It is the reference of tests."""

    @override
    def _input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        """Send the owner's bits to the peer in the clear."""
        if self.party == owner:
            assert bits is not None
            self.session.send("clear.input", bits.astype(np.uint8))
            return Bits(bits.astype(np.uint8))
        return Bits(self.session.receive("clear.input", np.uint8, (width, batch)))

    @override
    def _constant(self, bits: BitMatrix) -> Bits:
        return Bits(bits)

    def _execute(self, netlist: Netlist, inputs: Sequence[NDArray[Any]], batch: int) -> NDArray[Any]:
        del batch
        return np.concatenate(evaluate(netlist, inputs))

    @override
    def shares(self, bits: Bits) -> BitMatrix:
        """Return the bits at party 0, and zeros at party 1."""
        return bits.data if self.party == 0 else np.zeros_like(bits.data)

    @override
    def _reveal(self, *secrets: Bits) -> list[BitMatrix]:
        """Compare the bits with the peer's; both parties hold them already."""
        self.session.send("clear.same", np.empty(0, dtype=np.uint8))
        self.session.receive("clear.same", np.uint8, (0,))
        self.session.meter.opened(sum(secret.data.size for secret in secrets))
        return [secret.data.copy() for secret in secrets]


class ClearInner(Inner):
    """Inner products of the clear engine: the bits and the shares are sent in the clear. It protects nothing."""

    def __init__(self, engine: Engine) -> None:
        self._session = engine.session

    @override
    def owned(self, sizes: Sequence[Size], vectors: Vectors, kind: type[Any]) -> list[Numbers]:
        sums = []
        for number, (count, _) in enumerate(sizes):
            bits = self._session.receive("clear.bits", np.uint8, (count,)).astype(kind)
            sums.append((bits[:, None] * vectors(number, slice(0, count))).sum(axis=0, dtype=kind))
        return sums

    @override
    def chosen(self, sizes: Sequence[Size], bits: Vectors, kind: type[Any]) -> list[Numbers]:
        for number, (count, _) in enumerate(sizes):
            self._session.send("clear.bits", bits(number, slice(0, count)).astype(np.uint8))
        return [np.zeros(entries, dtype=kind) for _, entries in sizes]

    @override
    def lifted(self, shares: Numbers) -> Shares:
        self._session.send("clear.shares", shares)
        total: NDArray[Any] = shares + self._session.receive("clear.shares", shares.dtype, shares.shape)
        return total.astype(np.uint64) if self._session.party == 0 else np.zeros(len(shares), dtype=np.uint64)
