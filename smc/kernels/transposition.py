"""The transposition of a tile of bits, u64[128, 32]: 128 rows of 2048 columns, one column an OT."""

from __future__ import annotations

import numpy as np
from numba import njit

from smc.kernels.block import highs, load4, lows, make4, shift_left, shift_right, store, turn4

ROWS = 128
WORDS = 32  # of a row of a tile


@njit
def _exchange(upper, lower, distance, mask):  # type: ignore[no-untyped-def]
    """Exchange the high bit groups of `upper` with the low ones of `lower`; `mask` has the low groups."""
    flipped = (shift_right(upper, distance) ^ lower) & mask
    return upper ^ shift_left(flipped, distance), lower ^ flipped


@njit
def _exchange8(tile, at, step, distance, masks):  # type: ignore[no-untyped-def]
    """Do three levels of the transposition of 64 x 64 bits, on eight rows `step` apart and eight words of each."""
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
    return r0, r1, r2, r3, r4, r5, r6, r7


@njit
def _write4(out, place, r0, r1, r2, r3):  # type: ignore[no-untyped-def]
    """Write four neighbouring blocks of each of four columns, a word of a row apart twice over."""
    b0, b1, b2, b3 = turn4(r0, r1, r2, r3)
    store(out, place, b0)
    store(out, place + 256, b1)
    store(out, place + 512, b2)
    store(out, place + 768, b3)


@njit
def transpose_tile(tile, out, first):  # type: ignore[no-untyped-def]
    """Set out[first + j] = column j of the tile. Spoils the tile.

    The two 64 x 64 bit matrices of a word column are transposed by exchanging ever smaller groups (Warren, Hacker's
    Delight, 7-3): in place, and then on the way to `out`, where row i and row 64 + i are the halves of block i of each
    word column.
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
                at = row * WORDS + column
                rows = _exchange8(tile, at, 8, 8, coarse)
                for i in range(8):
                    store(tile, at + 8 * i * WORDS, rows[i])
    for column in range(0, WORDS, 8):
        for row in range(0, 64, 8):
            a0, a1, a2, a3, a4, a5, a6, a7 = _exchange8(tile, row * WORDS + column, 1, 1, fine)
            b0, b1, b2, b3, b4, b5, b6, b7 = _exchange8(tile, (64 + row) * WORDS + column, 1, 1, fine)
            place = 2 * (first + 64 * column + row)
            _write4(out, place, lows(a0, b0), lows(a1, b1), lows(a2, b2), lows(a3, b3))
            _write4(out, place + 8, lows(a4, b4), lows(a5, b5), lows(a6, b6), lows(a7, b7))
            _write4(out, place + 128, highs(a0, b0), highs(a1, b1), highs(a2, b2), highs(a3, b3))
            _write4(out, place + 136, highs(a4, b4), highs(a5, b5), highs(a6, b6), highs(a7, b7))
