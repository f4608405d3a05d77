"""Draws among this party's rows by its private key, in memory for a byte of each row and a batch of random words.

The i-th word of a key belongs to the i-th row. Rows are numbered line by line, in the order of `counts.Rows.lines`, so
an equal key draws equal rows from equal tables, whatever the order of their files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from protocols.counts import narrow
from smc.primitives.prg import KEY_BYTES, Prg

BATCH = 1 << 20  # words of a batch
TOP = 20  # first bits of a word, by which the least words are found


def words(key: bytes, count: int) -> Iterator[NDArray[np.uint64]]:
    """Yield uniform 64-bit words in batches, from the PRG of SHAKE-256(key).

    Args:
        key: The key; private.
        count: Number of words in all.
    """
    stream = Prg(hashlib.shake_256(key).digest(KEY_BYTES))
    for start in range(0, count, BATCH):
        yield stream.words(min(BATCH, count - start))


def least(key: bytes, count: int, chosen: int) -> NDArray[np.uint8]:
    """Return 1 for each row whose word is among the `chosen` least, uint8[rows].

    If two words are equal, which has a probability below count^2 / 2^65, one row more may be chosen.

    Args:
        key: The key of the words; private.
        count: Number of rows.
        chosen: Number of rows to choose, at most `count`.
    """
    if chosen == 0:
        return np.zeros(count, dtype=np.uint8)
    shift = np.uint64(64 - TOP)
    tops = np.zeros(1 << TOP, dtype=np.int64)
    for batch in words(key, count):
        tops += np.bincount((batch >> shift).astype(np.int64), minlength=len(tops))
    top = int(np.searchsorted(tops.cumsum(), chosen))  # first bits of the greatest chosen word
    among = np.sort(np.concatenate([batch[batch >> shift == top] for batch in words(key, count)]))
    greatest = among[chosen - 1 - int(tops[:top].sum())]
    return np.concatenate([batch <= greatest for batch in words(key, count)]).astype(np.uint8)


def by_line(rows: NDArray[np.uint8], numbers: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the sum of each line's rows, int[lines].

    Args:
        rows: A number for each row, uint8[rows].
        numbers: Number of rows of each line, 1 or more, int[lines].
    """
    if len(rows) == len(numbers):
        return rows
    return narrow(np.add.reduceat(rows, numbers.cumsum() - numbers, dtype=np.int64))
