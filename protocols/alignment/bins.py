"""Rows in bins of a public size, by a public hash of their blocks. The rows of a block share a bin.

A bin has a fixed number of places for each party. A row takes a random free place of its bin; the places without a row
hold dummies. So neither the number of rows of a block nor the blocks that exist are visible. A circuit compares the
rows of a bin, and only those with equal block tags can match. Rows of a bin beyond its places are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from protocols.alignment.grams import TAG, tags
from protocols.alignment.keys import Rows
from smc.primitives.bits import BitMatrix
from smc.primitives.prg import Prg

EMPTY = -1


def placed(blocks: Sequence[str | None], bins: int, places: int, prg: Prg) -> Rows:
    """Return the row at each place, or -1, int64[bins, places].

    Args:
        blocks: The block of each row; None for a row without one, which gets no place.
        bins: Number of bins.
        places: Number of places of a bin.
        prg: Randomness of the places.
    """
    rows, numbers, rank = _ranked(blocks, bins)
    fits = rank < places
    table = np.full((bins, places), EMPTY, dtype=np.int64)
    table[numbers[fits], rank[fits]] = rows[fits]
    return np.take_along_axis(table, np.argsort(prg.words(bins, places), axis=1), axis=1)


def left_out(blocks: Sequence[str | None], bins: int, places: int) -> int:
    """Return the number of rows with a block that find no place in their bins.

    Args:
        blocks: The block of each row; None for a row without one.
        bins: Number of bins.
        places: Number of places of a bin.
    """
    return int((_ranked(blocks, bins)[2] >= places).sum())


def _ranked(blocks: Sequence[str | None], bins: int) -> tuple[Rows, Rows, Rows]:
    """Return the rows that have a block, their bins, and their ranks within the bin."""
    rows = np.array([row for row, block in enumerate(blocks) if block is not None], dtype=np.int64)
    numbers = np.array([_bin(block, bins) for block in blocks if block is not None], dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    rows, numbers = rows[order], numbers[order]
    return rows, numbers, np.arange(len(rows)) - np.searchsorted(numbers, numbers)


def _bin(block: str, bins: int) -> int:
    return int.from_bytes(hashlib.sha256(b"bin " + block.encode()).digest()[:8], "little") % bins


def block_tags(blocks: Sequence[str | None], party: int) -> BitMatrix:
    """Return the tag of each row's block, and of a dummy in the last column, uint8[64, rows + 1].

    A dummy's tag equals no tag of the other party: the last two bits are 0 for a row and differ for the dummies of
    both parties.

    Args:
        blocks: The block of each row; None for a row without one.
        party: Number of the party, 0 or 1.
    """
    found = tags([*blocks, None])
    found[TAG - 2 :] = 0
    found[TAG - 2 + party, -1] = 1
    return found
