"""Kernels of IKNP: streams of AES in counter mode, and the receiver's message, a tile at a time.

Tiles are those of `smc.kernels.transposition`. No branch and no index depends on a secret.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.aes import encrypt
from smc.kernels.block import big_endian4, load4, make4, store
from smc.kernels.transposition import ROWS, WORDS

STREAM_BLOCKS = np.uint64(16)  # blocks of a stream in a row of a tile
ZERO, FOUR = np.uint64(0), np.uint64(4)


@njit
def _counters(starts, i, block):  # type: ignore[no-untyped-def]
    """Return the sixteen counters of column i from block `block` on."""
    low = starts[i, 0] + block
    high = starts[i, 1] + np.uint64(low < starts[i, 0])
    return (
        big_endian4(low, high, ZERO),
        big_endian4(low, high, FOUR),
        big_endian4(low, high, np.uint64(8)),
        big_endian4(low, high, np.uint64(12)),
    )


def receiver(starts, zero_keys, one_keys, block, choices, matrix, tiles):  # type: ignore[no-untyped-def]
    """Fill tiles with the receiver's rows, and write its message.

    Args:
        starts: The first counter of each column, low word first, u64[128, 2].
        zero_keys: Round keys of each column's first seed, u64[128, 22].
        one_keys: Round keys of each column's second seed, u64[128, 22].
        block: Number of the first block to read from the streams.
        choices: The choice bits, u64[32 tiles].
        matrix: The message, filled in, u64[128, 32 tiles].
        tiles: Filled in, u64[tiles, 128, 32].
    """
    words = choices.shape[0]
    for number in range(tiles.shape[0]):
        tile = tiles[number]
        for i in range(ROWS):
            counters = _counters(starts, i, block)
            t, u = encrypt(zero_keys[i], counters), encrypt(one_keys[i], counters)
            for j in range(4):
                at = number * WORDS + 8 * j
                store(tile, i * WORDS + 8 * j, t[j])
                store(matrix, i * words + at, t[j] ^ u[j] ^ load4(choices, at))
        block += STREAM_BLOCKS


def sender(starts, seeds, block, delta, matrix, tiles):  # type: ignore[no-untyped-def]
    """Fill tiles with the sender's rows, from the receiver's message.

    Args:
        starts: The first counter of each column, low word first, u64[128, 2].
        seeds: Round keys of the seed that the sender has of each column, u64[128, 22].
        block: Number of the first block to read from the streams.
        delta: All ones where delta's bit is 1, u64[128].
        matrix: The message, u64[128, 32 tiles].
        tiles: Filled in, u64[tiles, 128, 32].
    """
    words = matrix.shape[1]
    for number in range(tiles.shape[0]):
        tile = tiles[number]
        for i in range(ROWS):
            q = encrypt(seeds[i], _counters(starts, i, block))
            mask = make4(delta[i], delta[i])
            for j in range(4):
                at = i * words + number * WORDS + 8 * j
                store(tile, i * WORDS + 8 * j, q[j] ^ (mask & load4(matrix, at)))
        block += STREAM_BLOCKS
