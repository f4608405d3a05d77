"""Inner products of one party's bits and the other party's vectors: the interface for all engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from smc.arithmetic.inner import Numbers, Size, Vectors
from smc.arithmetic.shares import Shares


class Inner(ABC):
    """Interface of inner products (`smc.arithmetic.inner.InnerProducts`), and of lifting their shares to 2^64."""

    @abstractmethod
    def owned(self, sizes: Sequence[Size], vectors: Vectors, kind: type[Any]) -> list[Numbers]:
        """Return this party's shares of sums of its own vectors; the peer calls `chosen`.

        Args:
            sizes: Number of bits and of entries of each sum; public.
            vectors: Function of the number of a sum and a slice of its bits. It returns the vector of each of these
                bits, kind[bits, entries].
            kind: np.uint16, np.uint32 or np.uint64.
        """

    @abstractmethod
    def chosen(self, sizes: Sequence[Size], bits: Vectors, kind: type[Any]) -> list[Numbers]:
        """Return this party's shares of sums of the peer's vectors; the peer calls `owned`.

        Args:
            sizes: Number of bits and of entries of each sum; public.
            bits: Function of the number of a sum and a slice of its bits. It returns these bits, uint8[bits], 0 or 1.
            kind: np.uint16, np.uint32 or np.uint64.
        """

    @abstractmethod
    def lifted(self, shares: Numbers) -> Shares:
        """Return shares modulo 2^64, uint64[n], of the numbers with these shares modulo 2^16, 2^32 or 2^64.

        Args:
            shares: This party's shares: uint16[n], uint32[n] or uint64[n].
        """
