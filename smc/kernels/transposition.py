"""Transposition of a tile of bits, u64[128, 32]: 128 rows of 2048 columns, one column for each OT."""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.block import load4, make, make4, shift_left, shift_right, store

ROWS = 128
WORDS = 32  # words of a row of a tile


@njit
def _exchange(upper, lower, distance, mask):  # type: ignore[no-untyped-def]
    """Return both with the high bit groups of `upper` and the low ones of `lower` exchanged.

    Groups have `distance` bits; `mask` has the low groups.
    """
    flipped = (shift_right(upper, distance) ^ lower) & mask
    return upper ^ shift_left(flipped, distance), lower ^ flipped


@njit
def _exchange8(tile, at, step, distance, masks):  # type: ignore[no-untyped-def]
    """Do three levels of the transposition of 64 x 64 bits, on eight rows `step` apart, eight words of each."""
    mask4, mask2, mask1 = masks
    step = step * WORDS
    r0, r1, r2, r3 = load4(tile, at), load4(tile, at + step), load4(tile, at + 2 * step), load4(tile, at + 3 * step)
    at4 = at + 4 * step
    r4, r5, r6, r7 = load4(tile, at4), load4(tile, at4 + step), load4(tile, at4 + 2 * step), load4(tile, at4 + 3 * step)
    r0, r4 = _exchange(r0, r4, 4 * distance, mask4)
    r1, r5 = _exchange(r1, r5, 4 * distance, mask4)
    r2, r6 = _exchange(r2, r6, 4 * distance, mask4)
    r3, r7 = _exchange(r3, r7, 4 * distance, mask4)
    r0, r2 = _exchange(r0, r2, 2 * distance, mask2)
    r1, r3 = _exchange(r1, r3, 2 * distance, mask2)
    r4, r6 = _exchange(r4, r6, 2 * distance, mask2)
    r5, r7 = _exchange(r5, r7, 2 * distance, mask2)
    r0, r1 = _exchange(r0, r1, distance, mask1)
    r2, r3 = _exchange(r2, r3, distance, mask1)
    r4, r5 = _exchange(r4, r5, distance, mask1)
    r6, r7 = _exchange(r6, r7, distance, mask1)
    store(tile, at, r0)
    store(tile, at + step, r1)
    store(tile, at + 2 * step, r2)
    store(tile, at + 3 * step, r3)
    store(tile, at4, r4)
    store(tile, at4 + step, r5)
    store(tile, at4 + 2 * step, r6)
    store(tile, at4 + 3 * step, r7)


@njit
def transpose_tile(tile, out, first):  # type: ignore[no-untyped-def]
    """Set out[first + j] = column j of the tile.

    The two 64 x 64 bit matrices of a word column are transposed in place, by exchanging ever smaller groups (Warren,
    Hacker's Delight, 7-3); row i and row 64 + i then hold the halves of block i of each column.

    Args:
        tile: u64[128, 32]; overwritten.
        out: Changed in place, u64[n, 2].
        first: The first row of `out`.
    """
    coarse = (
        make4(np.uint64(0x00000000FFFFFFFF), np.uint64(0x00000000FFFFFFFF)),
        make4(np.uint64(0x0000FFFF0000FFFF), np.uint64(0x0000FFFF0000FFFF)),
        make4(np.uint64(0x00FF00FF00FF00FF), np.uint64(0x00FF00FF00FF00FF)),
    )
    fine = (
        make4(np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0F0F0F0F0F0F0F0F)),
        make4(np.uint64(0x3333333333333333), np.uint64(0x3333333333333333)),
        make4(np.uint64(0x5555555555555555), np.uint64(0x5555555555555555)),
    )
    for half in range(0, ROWS, 64):
        for column in range(0, WORDS, 8):
            for row in range(half, half + 8):
                _exchange8(tile, row * WORDS + column, 8, 8, coarse)
            for row in range(half, half + 64, 8):
                _exchange8(tile, row * WORDS + column, 1, 1, fine)
    for word in range(WORDS):
        for row in range(64):
            store(out, 2 * (first + 64 * word + row), make(tile[row, word], tile[64 + row, word]))
