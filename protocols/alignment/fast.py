"""Private set intersection by an oblivious pseudo-random function (PRF) from vector OLE.

Protocol: Rindal, Schoppmann, "VOLE-PSI" (EUROCRYPT 2021); Raghuraman, Rindal, "Blazing Fast PSI from Improved OKVS and
Subfield VOLE" (CCS 2022). It replaces the points and products of `protocols.alignment.matching`. All the rest is there:
dummies, who receives, the opening before a result can follow, the bits that both learn, the ideal functionality and its
leakage. x is a token's digest, with a value h(x) and a name; D(T, x) is the sum of its cells in a table T
(protocols.alignment.band), which is linear in T.

    both      make A delta + B = C by vector OLE (smc.ot.vole): the sender has delta and B, the receiver A and C
    receiver  fills P so that D(P, x) = h(x) for its tokens, and sends A + P
    sender    computes K = B + delta (A + P) = C + delta P
    both      open a value
    sender    sends F(y) = G(D(K, y) + delta h(y), y) of its tokens, cut, in a random order
    receiver  compares with G(D(C, x), x)

G(t, y) is AES under the key t of y's name, plus the name. For the receiver's tokens F(x) = G(D(C, x), x). For all other
y the key has the term delta (h(y) + D(P, y)), which is not 0, so F(y) is random to the receiver.

Security, semi-honest: A hides P from the sender by learning parity with noise (docs/math/lpn.md); delta hides other
tokens from the receiver. Digests are a random oracle, AES an ideal cipher.

A peer that cheats:
- A sender's wrong entries of vector OLE fail the check of smc.ot.vole. What it sends after that are at most its own
  number of values, so it tests no more keys. A value of 10 bytes that stands for two keys takes 2^40 evaluations to
  find; one of b bytes 2^(4 b).
- A receiver can enter more keys than agreed: each of the 1.2 n + 128 cells is an unknown of a linear system. More keys
  m than cells take a subset of the q hashed keys whose values fit by chance, and C(q, m) 2^(-128 (m - cells)) of these
  exist: for n = 2^20 and q = 2^64 at most 1.6 times the cells, and no way to find them is known. Wagner's generalised
  birthday search (CRYPTO 2002) finds 128 keys of one first cell whose 256 bits of band and value add up to 0, in 2^39
  such keys: they take 127 cells. `Matching.testable` counts the cells.
- It cannot test a key after the exchange: that takes delta.

Errors: two different values are equal with a probability below 2^-40 for all pairs; no table fits, see `band`.

Cost: 16 bytes a cell, so 19.2 a token of the receiver; `cut_bytes` a token of the sender; and vector OLE: 0.6 MB for a
receiver of up to 3,500 tokens, 2.1 MB for 57,000, 2.6 MB for 570,000, 2.9 MB for 1.2 million, 6.8 MB for 10 million.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from typing_extensions import override

from protocols.alignment.band import DIGEST, Keys, cells, decoded, encoded
from protocols.alignment.keys import Rows, Tokens
from protocols.alignment.matching import Exchange, Matching, OwnTokens, batches, equal_rows
from smc import kernels
from smc.hashing import Blocks
from smc.ot.vole import KERNELS as VOLE_KERNELS
from smc.ot.vole import VoleReceiver, VoleSender
from smc.primitives.arrays import Octets
from smc.session import Session

NAME = "alignment.vole"
KERNELS = (*VOLE_KERNELS, "band")  # modules of `smc.kernels` that a fast matching calls


class FastWork(OwnTokens):
    """The computations of a party on its tokens."""

    def __init__(self, session: Session, terms: Matching, tokens: Tokens) -> None:
        super().__init__(session, terms, tokens)
        self._cut, self._cells = terms.cut_bytes, cells(terms.sizes[terms.receiver])
        seed = hashlib.blake2b(key=session.derive("alignment", size=32), digest_size=DIGEST)
        digests = session.prg.bytes(DIGEST * self._size).reshape(-1, DIGEST)
        texts = b"".join(_digest(seed, text) for text in tokens.texts)
        digests[: len(tokens)] = np.frombuffer(texts, dtype=np.uint8).reshape(-1, DIGEST)
        self._keys = Keys.of(digests, self._cells)
        self._order = self._keys.order

    def masked(self, entries: Blocks) -> Blocks:
        """Return the receiver's table plus A, and keep its values of the PRF.

        Args:
            entries: A and C, uint64[2, cells, 2].
        """
        self._values = self._blinded(np.zeros(2, dtype=np.uint64), entries[1])
        return encoded(self._keys, self._cells) ^ entries[0]

    def values(self, delta: Blocks, entries: Blocks, masked: Blocks) -> Octets:
        """Return the sender's values of the PRF, cut, in a random order.

        Args:
            delta: The sender's difference, uint64[2].
            entries: B, uint64[1, cells, 2]; changed.
            masked: The table that it received, uint64[cells, 2].
        """
        kernels.field_add_products(delta, masked, entries[0])
        values = self._blinded(delta, entries[0])
        shuffled = np.argsort(self._session.prg.words(self._size))
        self._order = self._keys.order[shuffled]
        return self._cut_bytes(values[shuffled])

    def common(self, theirs: Octets) -> Rows:
        """Return the positions of equal values, int64[2, pairs]: among the receiver's, and among the sender's.

        Args:
            theirs: The sender's values, uint8[tokens, cut].
        """
        return equal_rows(self._cut_bytes(self._values), theirs)

    def _blinded(self, delta: Blocks, table: Blocks) -> Blocks:
        values, keys = decoded(self._keys, table), self._keys
        kernels.band_blind(delta, keys.values, keys.names, np.empty(22, dtype=np.uint64), values)
        return values

    def _cut_bytes(self, values: Blocks) -> Octets:
        out: Octets = np.ascontiguousarray(values.view(np.uint8)[:, : self._cut])
        return out


def _digest(seed: hashlib.blake2b, text: bytes) -> bytes:
    state = seed.copy()
    state.update(text)
    return state.digest()


class FastExchange(Exchange):
    """The messages that one party sends and receives."""

    sender, receiver = VoleSender, VoleReceiver

    @override
    def _swap_points(self, on_batch: Callable[[int], object]) -> None:
        """Exchange the masked table."""
        session, size = self._session, cells(self._terms.sizes[self._terms.receiver])
        if self._receives:
            masked = self._work.masked(self.receiver(session, NAME).entries(size))
            for part in batches(size):
                session.send("alignment.table", masked[part])
                on_batch(part.stop)
            return
        vole = self.sender(session, NAME)
        entries, masked = vole.entries(size), np.empty((size, 2), dtype=np.uint64)
        for part in batches(size):
            masked[part] = session.receive("alignment.table", np.uint64, (part.stop - part.start, 2))
            on_batch(part.stop)
        self._to_send = self._work.values(vole.delta, entries, masked)

    @override
    def _products(self) -> Rows:
        session, cut = self._session, self._terms.cut_bytes
        if not self._receives:
            for part in batches(self._own):
                session.send("alignment.values", self._to_send[part])
            return np.zeros((2, 0), dtype=np.int64)
        values = np.empty((self._peers, cut), dtype=np.uint8)
        for part in batches(self._peers):
            values[part] = session.receive("alignment.values", np.uint8, (part.stop - part.start, cut))
        return self._work.common(values)


def match_fast(session: Session, terms: Matching, tokens: Tokens) -> Rows | int | None:
    """Return the indices of own tokens that both have; None for a party that learns nothing. See `matching.match`.

    Args:
        session: This party's session.
        terms: The public terms, equal at both parties, with `fast`.
        tokens: Own tokens, at most the agreed number.

    Raises:
        ProtocolError: The peer's vector OLE fails the check, or no table fits the tokens. Or an earlier session of this
            job may have sent values already.
        ValueError: There are more tokens than agreed.
    """
    return FastExchange(session, terms, FastWork(session, terms, tokens)).matched()
