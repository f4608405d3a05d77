"""What extensions share whose kernels make whole tiles of OTs: sizes of messages, and rows filled up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smc.hashing import Blocks
from smc.ot.interface import Choices, Packed
from smc.primitives.arrays import Octets

KAPPA = 128
BATCH = 1 << 16  # OTs a message
AHEAD = 4  # messages that both parties may send before either reads: what fills a line with long delays
TILE = 1 << 11  # OTs that the kernels make at a time


def padded(count: int) -> int:
    """Return how many OTs are made for `count`: whole tiles."""
    return -(-count // TILE) * TILE


def batches(count: int) -> Iterator[tuple[int, int]]:
    """Yield the first OT and the number of OTs of each message."""
    for start in range(0, count, BATCH):
        yield start, min(BATCH, count - start)


def scratch() -> Blocks:
    """Return a tile for kernels to work in."""
    return np.empty((KAPPA, TILE // 64), dtype=np.uint64)


class MessageRoom:
    """Room for messages of packed rows, one after another: `Session.send` takes the bytes before it returns."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._words = np.empty(rows * BATCH // 64, dtype=np.uint64)

    def take(self, count: int) -> NDArray[np.uint64]:
        """Return uint64[rows, count / 64] for whole tiles of OTs, at most a message's."""
        return self._words[: self._rows * count // 64].reshape(self._rows, -1)


def whole_rows(received: Octets, count: int) -> NDArray[np.uint64]:
    """Return packed rows uint8[n, bytes] filled up to `count` OTs, whole tiles, as uint64[n, count / 64]."""
    if 8 * received.shape[1] == count:
        return received.view(np.uint64)
    rows = np.zeros((len(received), count // 8), dtype=np.uint8)
    rows[:, : received.shape[1]] = received
    return rows.view(np.uint64)


def packed_choices(choice: Choices, count: int) -> Packed:
    """Return choices packed, with 0 for those up to `count`, whole tiles: uint64[count / 64]."""
    packed = np.zeros(count // 8, dtype=np.uint8)
    packed[: (len(choice) + 7) // 8] = np.packbits(choice, bitorder="little")
    return packed.view(np.uint64)
