"""Bit triples: shares of random a, b and a b, two random OTs a triple, made ahead of their use.

Party p draws b_p; the peer's OT pair (m0, m1) gives it a' = m0 xor m1 and p's chosen m_b = m0 xor b_p a': shares of the
cross product, with nothing sent beyond the OT extension. Source: Asharov, Lindell, Schneider, Zohner,
"More Efficient Oblivious Transfer and Extensions for Faster Secure Computation" (CCS 2013).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smc.ot import Transfers
from smc.session import Session

BitVector = NDArray[np.uint8]
Triples = tuple[BitVector, BitVector, BitVector]

BATCH = 1 << 17  # triples made at once: 48 bytes each while they are made, 3 bytes in store


class TripleSource:
    """A store of triples, refilled by the batch."""

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._transfers = transfers
        self._store: NDArray[np.uint8] = np.zeros((3, 0), dtype=np.uint8)

    def reserve(self, count: int) -> None:
        """Make sure that `count` triples are in store; both parties ask for the same number."""
        missing = count - self._store.shape[1]
        if missing > 0:
            with self._session.phase("triples"):
                made = [self._make(min(BATCH, missing - start)) for start in range(0, missing, BATCH)]
            self._store = np.concatenate([self._store, *made], axis=1)

    def take(self, count: int) -> Triples:
        """The next `count` triples of those reserved, never given out again."""
        if count > self._store.shape[1]:
            raise ValueError(f"{count} triples were asked for, {self._store.shape[1]} are in store")
        a, b, c = self._store[:, :count]
        self._store = self._store[:, count:]
        return a, b, c

    def _make(self, count: int) -> NDArray[np.uint8]:
        b = self._session.prg.bits(count)
        own, chosen = self._transfers.random(b)
        zero, one, mine = ((keys[:, 0] & np.uint64(1)).astype(np.uint8) for keys in (own[0], own[1], chosen))
        a = zero ^ one
        return np.stack([a, b, (a & b) ^ zero ^ mine])
