"""Inner products of one party's bits and the other party's vectors, for all engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.arithmetic import InnerProducts, bits_to_shares
from smc.arithmetic.inner import Numbers, Size, Vectors
from smc.arithmetic.shares import Shares
from smc.circuit import Builder, Form, Netlist
from smc.circuit.kept import kept
from smc.engines.interface import Engine, XorSharedEngine
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


class Inner(ABC):
    """Inner products: see `smc.arithmetic.inner.InnerProducts`, and a longer modulus for their shares."""

    @abstractmethod
    def owned(self, sizes: Sequence[Size], vectors: Vectors, kind: type[Any]) -> list[Numbers]:
        """See `smc.arithmetic.inner.InnerProducts.owned`."""

    @abstractmethod
    def chosen(self, sizes: Sequence[Size], bits: Vectors, kind: type[Any]) -> list[Numbers]:
        """See `smc.arithmetic.inner.InnerProducts.chosen`."""

    @abstractmethod
    def lifted(self, shares: Numbers) -> Shares:
        """Return shares modulo 2^64, uint64[n], of the numbers with these shares modulo 2^16, 2^32 or 2^64.

        Args:
            shares: This party's shares: uint16[n], uint32[n] or uint64[n].
        """


class SharedInner(InnerProducts, Inner):
    """Inner products by oblivious transfer. A share modulo 2^w loses 2^w times the carry of both shares."""

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
