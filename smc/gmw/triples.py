"""Bit triples: shares of random a, b and a b, two random OTs a triple, made ahead of their use.

As a sender a party holds m0 and m1 of each OT and takes a = m0 xor m1; as a receiver it draws b and holds the peer's
m_b = m0 xor b a'. The two cross products a' b are thereby shared, with nothing sent beyond the OT extension. Source:
Asharov, Lindell, Schneider, Zohner, "More Efficient Oblivious Transfer and Extensions for Faster Secure Computation"
(CCS 2013).

Cost of n triples, n a multiple of 64: n random OTs in each direction and nothing besides; by extension (SoftSpoken, k =
4) these are 4 n bytes each way, by Ferret next to nothing after the first 276,480. The directions cross, so the rounds
are those of one. Once a session: the set-up of both directions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smc.ot import Transfers
from smc.ot.interface import Packed
from smc.session import Session

Store = NDArray[np.uint8]


class TripleSource:
    """A store of triples, eight a byte, refilled on request."""

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._transfers = transfers
        self._store: Store = np.zeros((3, 0), dtype=np.uint8)
        self._next = 0
        self._stocked = 0  # bytes made ahead by `stock` and not taken yet

    def stock(self, size: int) -> None:
        """Make `size` bytes of triples for later use, besides those stocked before; both parties ask for the same."""
        self._stocked += size
        self.reserve(self._stocked)

    def reserve(self, size: int) -> None:
        """Make sure that `size` bytes of triples are in store; both parties ask for the same number."""
        missing = size - (self._store.shape[1] - self._next)
        if missing <= 0:
            return
        with self._session.phase("triples"):
            fresh = self._make((missing + 7) // 8)
        self._store = self._kept(fresh, self._store.shape[1] - self._next + fresh.shape[1])
        self._next = 0

    def _kept(self, fresh: Store, size: int) -> Store:
        """Return what is left and the fresh ones, `size` bytes in all."""
        return np.concatenate([self._store[:, self._next :], fresh], axis=1)

    def take(self, size: int) -> tuple[Store, int]:
        """Take the next `size` bytes of those reserved, never again: rows a, b, c, and where in them they begin.

        Bit i of c's row is this party's share of the product of those of a and b.
        """
        left = self._store.shape[1] - self._next
        if size > left:
            raise ValueError(f"{size} bytes of triples were asked for, {left} are in store")
        first = self._next
        self._next += size
        self._stocked = max(0, self._stocked - size)
        return self._store, first

    def _make(self, words: int) -> Store:
        return self._made(*self._transfers.random_bits(words))

    def _made(self, key0: Packed, key1: Packed, b: Packed, chosen: Packed) -> Store:
        a = key0 ^ key1
        return np.stack([a, b, (a & b) ^ key0 ^ chosen]).view(np.uint8)
