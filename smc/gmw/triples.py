"""Bit triples for stars of AND gates, made ahead of their use from random OTs.

A star triple has random bits a and b_1 .. b_w and the products a b_1 .. a b_w, all as XOR shares. It takes two random
OTs of strings of w bits, whatever w is.

As a sender a party holds the strings m0 and m1 of an OT and sets b = m0 xor m1. As a receiver it draws a as choice bit
and holds the peer's m_a = m0 xor a b'. The parties thereby share both cross products a b', and send nothing but the OT
extension. Sources: Asharov, Lindell, Schneider, Zohner, "More Efficient Oblivious Transfer and Extensions for Faster
Secure Computation" (CCS 2013), for w = 1; a factor that several products have in common is masked and opened once, as
by Mohassel, Zhang, "SecureML" (S&P 2017) for rows of a matrix. A party sees one of the two keys that make up the peer's
b, so b is as random to it as the other key. It never sees the peer's a, because the OT hides choices.

Cost of n triples of any widths, a multiple of 8 of each width: n random OTs in each direction and nothing else. A
triple of width w serves the w AND gates of a star, which have one operand in common. Extension (SoftSpoken, k = 4)
sends 4 n bytes for them each way. Ferret sends 1.4 n bits after the first 675,840. The directions cross, so the rounds
are those of one direction. Both directions are set up once a session. Stars of a size between two widths take the wider
one, which costs some hashing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.ot import Transfers
from smc.primitives.arrays import Octets
from smc.session import Session

WIDTHS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], dtype=np.int64)
Counts = NDArray[np.int64]  # triples in eights, for each of `WIDTHS`
Parts = tuple[Octets, Octets, Octets]  # bits a of all triples; bits b and c of all, row by row


class TripleSource:
    """Store of triples for AND gates, eight to a byte; it makes more on request. Counts are numbers of triples / 8."""

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._transfers = transfers
        self._left = np.zeros_like(WIDTHS)  # triples in store
        self._stocked = np.zeros_like(WIDTHS)  # triples made ahead by `stock` and not taken yet
        self._store = {int(width): _nothing(int(width)) for width in WIDTHS}

    def stock(self, counts: Counts) -> None:
        """Make triples for later use, in addition to the triples in the store; both parties pass equal counts."""
        self._stocked += counts
        self.reserve(self._stocked)

    def reserve(self, counts: Counts) -> None:
        """Fill the store up to 8 * counts[i] triples of width `WIDTHS[i]`; both parties pass equal counts."""
        missing = np.maximum(counts - self._left, 0)
        sizes = [(int(width), int(octets)) for width, octets in zip(WIDTHS, missing, strict=True) if octets]
        if not sizes:
            return
        self._left += missing
        with self._session.phase("triples"):
            self._keep(self._transfers.random_strings(sizes))

    def take(self, counts: Counts) -> Parts:
        """Take the next triples of the store, narrow ones first: parts a, b, c of all widths.

        Triples of width w have w rows of b and of c, one after the other. Bit i of a row of c is this party's share of
        a product: bit i of a times bit i of that row of b.

        Raises:
            ValueError: The store has fewer triples.
        """
        if (counts > self._left).any():
            raise ValueError(f"{counts.tolist()} bytes of triples were asked for, {self._left.tolist()} are in store")
        self._left -= counts
        self._stocked = np.maximum(self._stocked - counts, 0)
        return self._cut(counts)

    def _keep(self, pieces: Any) -> None:
        fresh: dict[int, list[list[Octets]]] = {}  # by width
        for keys0, keys1, choice, chosen in pieces:
            b = keys0 ^ keys1
            fresh.setdefault(len(b), []).append([choice, b, (choice & b) ^ keys0 ^ chosen])
        for width, triples in fresh.items():
            parts = zip(self._store[width], *triples, strict=True)
            self._store[width] = [np.concatenate(part, axis=-1) for part in parts]

    def _cut(self, counts: Counts) -> Parts:
        taken = []
        for width, count in zip(WIDTHS.tolist(), counts.tolist(), strict=True):
            parts = self._store[width]
            taken.append([part[..., :count].reshape(-1) for part in parts])
            self._store[width] = [part[..., count:] for part in parts]
        a, b, c = (np.concatenate(part) for part in zip(*taken, strict=True))
        return a, b, c


def _nothing(width: int) -> list[Octets]:
    return [np.zeros(0, dtype=np.uint8), *np.zeros((2, width, 0), dtype=np.uint8)]
