"""Inner products of one party's bits and the other party's vectors, as additive shares, by oblivious transfer.

Ideal functionality of a sum. Inputs: from the *chooser* n bits b_j, from the *owner* n vectors v_j of integers modulo
2^w; the sizes are public. Output: to each party an additive share modulo 2^w of the sum over j of b_j v_j. Nothing
else. It assumes a secure random OT, and the hash of `smc.hashing`.

One random OT a bit gives the owner two keys, and the chooser the key of its bit. Hashes of a key are as long as a
vector: H0, H1. The owner sends H0 + v - H1 and keeps -H0; the chooser keeps its hash, plus the message where b = 1.
Papers: Gilboa (CRYPTO 1999); Asharov, Lindell, Schneider, Zohner (CCS 2013), section 5, for vectors.

Cost: an OT a bit, and w / 8 bytes for each entry of the vectors. One message for a batch of many bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.hashing import Blocks, LabelHash
from smc.ot import Transfers
from smc.ot.interface import Choices, Role
from smc.session import Session

MESSAGE_BYTES = 1 << 23  # about the largest message
BLOCK_BYTES = 16

Numbers = NDArray[Any]  # integers modulo 2^w: uint16, uint32 or uint64
Size = tuple[int, int]  # of a sum: number of bits, and number of entries of a vector
Vectors = Callable[[int, slice], Numbers]  # the vectors, or the bits, of some places of a sum: its number, and which
Stretch = tuple[int, slice]  # some of the bits of a sum: its number, and which bits


class InnerProducts:
    """Inner products in both directions; both parties make equal calls in one order."""

    def __init__(self, session: Session, transfers: Transfers) -> None:
        self._session = session
        self._transfers = transfers
        self._hashes: dict[str, LabelHash] = {}

    def owned(self, sizes: Sequence[Size], vectors: Vectors, kind: type[Any]) -> list[Numbers]:
        """Return this party's shares of sums of its own vectors; the peer calls `chosen`.

        Args:
            sizes: Number of bits and of entries of each sum; public.
            vectors: Function of the number of a sum and a slice of its bits. It returns the vector of each of these
                bits, kind[bits, entries].
            kind: np.uint16, np.uint32 or np.uint64.

        Returns:
            A share of each sum, kind[entries].
        """
        sender, shares = self._transfers.sender, _zeros(sizes, kind)
        for pieces in self._batches(sizes, kind):
            keys = sender.random(sum(part.stop - part.start for _, part in pieces))
            message = self._hidden(pieces, keys, vectors, shares)
            self._session.send(f"{sender.name}.inner", message)
        return shares

    def chosen(self, sizes: Sequence[Size], bits: Vectors, kind: type[Any]) -> list[Numbers]:
        """Return this party's shares of sums of the peer's vectors; the peer calls `owned`.

        Args:
            sizes: Number of bits and of entries of each sum; public.
            bits: Function of the number of a sum and a slice of its bits. It returns these bits, uint8[bits], 0 or 1.
            kind: np.uint16, np.uint32 or np.uint64.

        Returns:
            A share of each sum, kind[entries].
        """
        receiver, shares = self._transfers.receiver, _zeros(sizes, kind)
        for pieces in self._batches(sizes, kind):
            keys = receiver.random(choices := self._choices(pieces, bits))
            message = self._session.receive(f"{receiver.name}.inner", kind, (self._length(pieces, shares),))
            self._add(pieces, keys, choices, message, shares)
        return shares

    def _length(self, pieces: list[Stretch], shares: list[Numbers]) -> int:
        """Return the number of entries of a message."""
        return sum((part.stop - part.start) * len(shares[number]) for number, part in pieces)

    def _hidden(self, pieces: list[Stretch], keys: Blocks, vectors: Vectors, shares: list[Numbers]) -> Numbers:
        """Return the owner's message for some bits, and add to its shares; keys are uint64[2, bits, 2]."""
        message, done = [], 0
        for number, part in pieces:
            here, done = slice(done, done + part.stop - part.start), done + part.stop - part.start
            one = shares[number]
            first, second = self._pads(self._transfers.sender, len(one), one.dtype, keys[0, here], keys[1, here])
            message.append((first - second + vectors(number, part)).reshape(-1))
            one -= first.sum(axis=0, dtype=one.dtype)
        return np.concatenate(message)

    def _choices(self, pieces: list[Stretch], bits: Vectors) -> Choices:
        """Return the chooser's bits of some pieces, uint8[bits]."""
        return np.concatenate([bits(number, part) for number, part in pieces])

    def _add(
        self, pieces: list[Stretch], keys: Blocks, choices: Choices, message: Numbers, shares: list[Numbers]
    ) -> None:
        """Add to the chooser's shares; keys are uint64[bits, 2]."""
        done = read = 0
        for number, part in pieces:
            count, one = part.stop - part.start, shares[number]
            (pads,) = self._pads(self._transfers.receiver, len(one), one.dtype, keys[done : done + count])
            masks = np.zeros((), one.dtype) - choices[done : done + count, None].astype(one.dtype)
            sent = message[read : read + count * len(one)].reshape(count, len(one))
            one += (pads + (sent & masks)).sum(axis=0, dtype=one.dtype)
            done, read = done + count, read + count * len(one)

    def _batches(self, sizes: Sequence[Size], kind: type[Any]) -> Iterator[list[Stretch]]:
        """Yield the bits of all sums in batches of bounded size."""
        self._session.note("inner products", repr((list(sizes), np.dtype(kind).name)).encode)
        self._transfers.setup()
        most, width = self._transfers.receiver.batch, np.dtype(kind).itemsize
        pieces: list[Stretch] = []
        count, filled = 0, 0
        for number, (total, entries) in enumerate(sizes):
            start = 0
            while entries and start < total:
                room = min(most - count, max(1, (MESSAGE_BYTES - filled) // (width * entries)))
                end = min(total, start + room)
                pieces.append((number, slice(start, end)))
                count, filled, start = count + end - start, filled + (end - start) * width * entries, end
                if count >= most or filled >= MESSAGE_BYTES:
                    yield pieces
                    pieces, count, filled = [], 0, 0
        if pieces:
            yield pieces

    def _pads(self, role: Role, entries: int, kind: np.dtype[Any], *keys: Blocks) -> list[Numbers]:
        """Return the hashes of keys, kind[bits, entries] for each array of keys uint64[bits, 2]."""
        if role.name not in self._hashes:
            self._hashes[role.name] = LabelHash(self._session, f"{role.name} inner")
        blocks = -(-entries * kind.itemsize // BLOCK_BYTES)
        hashed = self._hashes[role.name](*(np.repeat(block, blocks, axis=0) for block in keys))
        return [pads.view(kind).reshape(len(keys[0]), -1)[:, :entries] for pads in hashed]


def _zeros(sizes: Sequence[Size], kind: type[Any]) -> list[Numbers]:
    return [np.zeros(entries, dtype=kind) for _, entries in sizes]
