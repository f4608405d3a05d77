"""The table King-Rook versus King, by retrograde analysis: in how many moves White wins a chess endgame.

    python -m benchmarks.peers.endgame > krk.csv

28,056 positions with Black to move and White's moves until mate, both at their best, or draw: the table of Bain and
Hoff ("Learning optimal chess strategies", 1994), at UCI "Chess (King-Rook vs. King)". Of positions that are one by
symmetry it has one: the white king in the triangle a1, d1, d4; if it is on the long diagonal, the black king not above
that; if both are on it, nor the rook.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLUMNS = (*(f"{piece} {what}" for piece in ("king", "rook", "black king") for what in ("file", "rank")), "depth")
TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", *TEENS)
FILES, RANKS = np.divmod(np.arange(64), 8)
FAR = np.maximum(abs(FILES[:, None] - FILES), abs(RANKS[:, None] - RANKS))  # steps of a king
STEP, APART, OTHER = FAR == 1, FAR > 1, FAR > 0
LINE = OTHER & ((FILES[:, None] == FILES) | (RANKS[:, None] == RANKS))
BETWEEN = (FAR[:, :, None] + FAR[:, None] == FAR) & LINE[:, :, None] & LINE[:, None] & LINE  # the first of three
# By white king, rook, black king:
LEGAL = APART[:, None] & OTHER[:, :, None] & OTHER  # with Black to move
CHECK = LINE & ~BETWEEN  # and where else the rook goes
SAFE = APART[:, None] & ~CHECK  # where the black king may go, even if it takes the rook


def depths() -> NDArray[np.int8]:
    """Return White's moves until mate, -1 for a draw, int8[64, 64, 64] by white king, rook, black king."""
    moved = LEGAL & _any(SAFE, STEP)
    depth = np.where(LEGAL & CHECK & ~moved, 0, -1).astype(np.int8)
    for moves in range(1, len(WORDS)):
        lost = depth >= 0
        won = ~CHECK & (_any(STEP, lost.reshape(64, -1)).reshape(lost.shape) | _any(CHECK, lost))  # White to move
        depth[moved & ~lost & ~_any(SAFE & ~(LEGAL & won), STEP)] = moves
    return depth


def _any(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the product of matrices of truth values."""
    found: NDArray[np.bool_] = np.matmul(left, right, dtype=np.float32) > 0
    return found


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table, one for each position: files as letters, ranks, and the moves in words."""
    depth = depths()
    for pieces in np.argwhere(LEGAL).tolist():
        king, rook, black = (RANKS[square] - FILES[square] for square in pieces)  # above the diagonal
        if FILES[pieces[0]] < 4 and king <= 0 and (king < 0 or black < 0 or (black == 0 and rook <= 0)):
            moves = depth[tuple(pieces)]
            squares = (name for square in pieces for name in ("abcdefgh"[FILES[square]], str(1 + RANKS[square])))
            yield *squares, "draw" if moves < 0 else WORDS[moves]


if __name__ == "__main__":
    csv.writer(sys.stdout).writerows([COLUMNS, *rows()])
