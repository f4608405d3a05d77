"""Inner products of one party's bits and the other party's vectors: the interface for all engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from smc.arithmetic.inner import Numbers, Size, Vectors
from smc.arithmetic.shares import Shares


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
