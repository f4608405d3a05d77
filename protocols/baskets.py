"""Counts of baskets: how many of a party's baskets have all items of a set. Local work: nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocols.association import ItemSet
from protocols.counts import Indices

WORD = 64  # baskets of a word


@dataclass(frozen=True, eq=False)
class Baskets:
    """Baskets of a party, `number` of them: bit b of `present[i]`, uint64[items, words], is 1 if b has item i."""

    number: int
    present: NDArray[np.uint64]

    @classmethod
    def of(cls, lines: Indices, sizes: Sequence[int]) -> Baskets:
        """Return baskets from their lines, one category of each column a line.

        Args:
            lines: This party's lines, int64[lines, 1 + columns]; private. The first column is the basket's number from
                0, the others are categories, indices from 0.
            sizes: Number of categories of each column; public.

        Returns:
            The baskets. Items are the categories of the first column, then those of the next.

        Examples:
            >>> milk_and_bread, bread = [[0, 0], [0, 1]], [[1, 1]]
            >>> Baskets.of(np.array(milk_and_bread + bread), [2]).count([(0,), (1,), (0, 1)]).tolist()
            [1, 2, 1]
        """
        number = int(lines[:, 0].max(initial=-1)) + 1
        present = np.zeros((sum(sizes), -(-number // WORD)), dtype=np.uint64)
        bits = np.uint64(1) << (lines[:, 0] % WORD).astype(np.uint64)
        for column, start in enumerate(np.cumsum([0, *sizes[:-1]]), start=1):
            np.bitwise_or.at(present, (start + lines[:, column], lines[:, 0] // WORD), bits)
        return cls(number, present)

    def count(self, sets: Sequence[ItemSet]) -> Indices:
        """Return the number of baskets with all items of each set, int64[sets]."""
        totals = np.zeros(len(sets), dtype=np.int64)
        by_beginning: dict[ItemSet, list[int]] = {}
        for place, items in enumerate(sets):
            by_beginning.setdefault(items[:-1], []).append(place)
        for beginning, places in by_beginning.items():
            rows = self.present[[sets[place][-1] for place in places]]
            if beginning:
                rows &= np.bitwise_and.reduce(self.present[list(beginning)])
            totals[places] = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        return totals
