"""AND gates on XOR shares. Two ways, one interface: a batch of gates in, the shares of the products out.

Goldreich, Micali, Wigderson, "How to Play any Mental Game" (STOC 1987).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smc.gmw.triples import TripleSource
from smc.ot import Transfers
from smc.primitives import bits as bitpack
from smc.session import Session

Shares = NDArray[np.uint8]


class AndGates(Protocol):
    """Shares of x y from shares of x and y."""

    def prepare(self, count: int) -> None:
        """Do ahead what can be done ahead for `count` gates."""

    def multiply(self, x: Shares, y: Shares) -> Shares:
        """uint8[...] shares of the bitwise product."""


class TripleGates:
    """From precomputed triples (Beaver, CRYPTO 1991): two bits each way a gate, one round a batch.

    The parties open d = x xor a and e = y xor b, uniform and independent of x, y; then
    x y = c xor d b xor e a xor d e.
    """

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._source = TripleSource(session, transfers)

    def prepare(self, count: int) -> None:
        """See `AndGates.prepare`."""
        self._source.reserve(count)

    def multiply(self, x: Shares, y: Shares) -> Shares:
        """See `AndGates.multiply`."""
        a, b, c = (part.reshape(x.shape) for part in self._source.take(x.size))
        own = bitpack.pack(np.stack([x ^ a, y ^ b]))
        self._session.send("gmw.open", own)
        opened = bitpack.unpack(own ^ self._session.receive("gmw.open", np.uint8, own.shape), 2, *x.shape)
        d, e = opened
        product: Shares = c ^ (d & b) ^ (e & a)
        return product ^ (d & e) if self._session.party == 0 else product


class TableGates:
    """Straight from 1-out-of-4 OT, with any OT: party 0 offers its four-row table, party 1 chooses with its shares.

    Row (x1, y1) holds r xor (x0 xor x1)(y0 xor y1) for a random bit r, which is party 0's share.
    """

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._transfers = transfers

    def prepare(self, count: int) -> None:
        """Nothing can be done ahead."""

    def multiply(self, x: Shares, y: Shares) -> Shares:
        """See `AndGates.multiply`."""
        if self._session.party == 0:
            share = self._session.prg.bits(x.size)
            left, right = x.reshape(-1), y.reshape(-1)
            rows = [share ^ ((left ^ x1) & (right ^ y1)) for x1 in (0, 1) for y1 in (0, 1)]
            self._transfers.sender.chosen_bits(np.stack(rows).astype(np.uint8))
        else:
            share = self._transfers.receiver.chosen_bits((2 * x + y).reshape(-1).astype(np.uint8), 4)
        return share.reshape(x.shape)
