"""Kernels of IKNP: streams of AES in counter mode, the receiver's message, and the transposition, a tile at a time.

A tile is that of `smc.kernels.transposition`. Nothing branches or indexes on a secret.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt
from smc.kernels.block import big_endian4, load4, load4_at, make4, store
from smc.kernels.transposition import ROWS, WORDS, transpose_tile

ZERO, FOUR = np.uint64(0), np.uint64(4)


@njit
def _counters(starts, i, place):  # type: ignore[no-untyped-def]
    """Return the sixteen counters of column i from byte `place`, a multiple of 16, on."""
    low = starts[i, 0] + np.uint64(place >> 4)
    high = starts[i, 1] + np.uint64(low < starts[i, 0])
    return (
        big_endian4(low, high, ZERO),
        big_endian4(low, high, FOUR),
        big_endian4(low, high, np.uint64(8)),
        big_endian4(low, high, np.uint64(12)),
    )


@njit
def _after(keys, streamed, starts, i, place, spill):  # type: ignore[no-untyped-def]
    """Return the 256 bytes of a stream from byte `place` on, given those from the multiple of 16 before it on."""
    for j in range(4):
        store(spill, 8 * j, streamed[j])
    (last,) = encrypt(keys, _counters(starts, i, place + 256)[:1])
    store(spill, 32, last)
    skip = place & 15
    return load4_at(spill, skip), load4_at(spill, skip + 64), load4_at(spill, skip + 128), load4_at(spill, skip + 192)


@njit
def _store_row(tile, row, parts):  # type: ignore[no-untyped-def]
    for j in range(4):
        store(tile, row * WORDS + 8 * j, parts[j])


def receiver(starts, zero_keys, one_keys, place, choices, tile, spill, matrix, out):  # type: ignore[no-untyped-def]
    """Write the receiver's part for choices u64[words]: its message u64[128, words], its blocks u64[64 words, 2].

    `starts` u64[128, 2]: where the counter of each column begins, low word first; `zero_keys`, `one_keys`
    u64[128, 22]: round keys of both its seeds. Streams are read from byte `place` on; `spill` u64[48] is scratch.
    """
    words = choices.shape[0]
    for start in range(0, words, WORDS):
        for i in range(ROWS):
            counters = _counters(starts, i, place)
            t, u = encrypt(zero_keys[i], counters), encrypt(one_keys[i], counters)
            if place & 15:
                t = _after(zero_keys[i], t, starts, i, place, spill)
                u = _after(one_keys[i], u, starts, i, place, spill)
            _store_row(tile, i, t)
            at = i * words + start
            store(matrix, at, t[0] ^ u[0] ^ load4(choices, start))
            store(matrix, at + 8, t[1] ^ u[1] ^ load4(choices, start + 8))
            store(matrix, at + 16, t[2] ^ u[2] ^ load4(choices, start + 16))
            store(matrix, at + 24, t[3] ^ u[3] ^ load4(choices, start + 24))
        transpose_tile(tile, out, 64 * start)
        place += 8 * WORDS


def sender(starts, seeds, place, delta, matrix, tile, spill, out):  # type: ignore[no-untyped-def]
    """Write the sender's part, its zero messages, from the receiver's message; `delta` u64[128], all ones
    where its bit is 1."""
    words = matrix.shape[1]
    for start in range(0, words, WORDS):
        for i in range(ROWS):
            q = encrypt(seeds[i], _counters(starts, i, place))
            if place & 15:
                q = _after(seeds[i], q, starts, i, place, spill)
            mask, at = make4(delta[i], delta[i]), i * words + start
            q0, q1 = q[0] ^ (mask & load4(matrix, at)), q[1] ^ (mask & load4(matrix, at + 8))
            q2, q3 = q[2] ^ (mask & load4(matrix, at + 16)), q[3] ^ (mask & load4(matrix, at + 24))
            _store_row(tile, i, (q0, q1, q2, q3))
        transpose_tile(tile, out, 64 * start)
        place += 8 * WORDS
