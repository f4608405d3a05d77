"""A table as its distinct cells and their counts, the only information that anonymisation needs from the rows.

A cell is a row's values in the quasi-identifiers and sensitive columns; two rows with equal values are one cell,
counted twice. Algorithms work on cells, not rows: the 32,561 rows of Adult have some 10,000 cells in 6
quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.tables.texts import TextColumn
from protocols.arrays import Counts


@dataclass(frozen=True, eq=False)
class Cells:
    """Distinct cells of a table.

    Attributes:
        hierarchies: hierarchies of the quasi-identifiers
        sensitive_hierarchies: hierarchies of the sensitive columns
        quasi: codes in these hierarchies, int[columns, cells]
        sensitive: codes in these hierarchies, int[columns, cells]
        counts: rows of each cell, int64[cells]
        public: cells and counts of a public table of all people who could be in this table, by the quasi-identifiers
    """

    hierarchies: tuple[Hierarchy, ...]
    sensitive_hierarchies: tuple[Hierarchy, ...]
    quasi: ValueCodes
    sensitive: ValueCodes
    counts: Counts
    public: tuple[ValueCodes, Counts] | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def texts(self, places: Counts) -> dict[str, TextColumn]:
        """Return the columns of a table that has the cells at these places as rows."""
        hierarchies, codes = (*self.hierarchies, *self.sensitive_hierarchies), (*self.quasi, *self.sensitive)
        return {h.column: TextColumn.among(h.values, c[places]) for h, c in zip(hierarchies, codes, strict=True)}

    def of_sensitive(self, names: Container[str | None]) -> Cells:
        """Return the cells with only some of the sensitive columns."""
        places = [i for i, h in enumerate(self.sensitive_hierarchies) if h.column in names]
        hierarchies = tuple(self.sensitive_hierarchies[i] for i in places)
        return replace(self, sensitive_hierarchies=hierarchies, sensitive=self.sensitive[places])


def reduced(columns: ValueCodes, counts: Counts | None = None) -> tuple[ValueCodes, Counts]:
    """Return the distinct rows of a table int[columns, rows], in lexical order, and the count of each.

    Args:
        columns: codes of the rows' values
        counts: number of table rows for which each given row stands; None: 1
    """
    if counts is None:
        counts = np.ones(columns.shape[1], dtype=np.int64)
    if not columns.shape[1]:
        return columns, counts
    order, starts = grouped(columns, [int(column.max()) + 1 for column in columns])
    return columns[:, order[starts]], np.add.reduceat(counts[order], starts)


def grouped(
    columns: ValueCodes | Sequence[ValueCodes], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order that groups equal cells of int[columns, cells], and the start of each group in it.

    Groups come in lexical order.

    Args:
        columns: codes of the cells' values
        sizes: number of codes of each column
    """
    number = len(columns[0])
    keys, bound = np.zeros(number, dtype=np.int64), 1
    for column, size in zip(columns, map(int, sizes), strict=True):
        if bound * size >= 1 << 62:
            keys, bound = np.unique(keys, return_inverse=True)[1].astype(np.int64), number
        keys *= size
        keys += column
        bound *= size
    bits = number.bit_length()
    if bound << bits < 1 << 62:  # sorting numbers is several times faster than ranking them
        keys <<= bits
        keys |= np.arange(number)
        keys.sort()
        order = keys & ((1 << bits) - 1)
        keys >>= bits
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    return order, np.flatnonzero(np.concatenate([np.ones(min(1, number), dtype=bool), keys[1:] != keys[:-1]]))


class Finder:
    """Lookup table: finds the position of each row of value codes in a table of distinct rows.

    Each row of codes becomes one integer key of at most 62 bits. The keys of the distinct rows are sorted, so a lookup
    is a binary search.
    """

    def __init__(self, known: ValueCodes | Sequence[ValueCodes], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._ranks: dict[int, Counts] = {}  # by column: the keys so far, ranked where they would grow too large
        keys, bound = np.zeros(len(known[0]), dtype=np.int64), 1
        for i, (column, size) in enumerate(zip(known, sizes, strict=True)):
            if bound * size >= 1 << 62:
                self._ranks[i] = _distinct(keys)
                keys, bound = np.searchsorted(self._ranks[i], keys), len(self._ranks[i])
            keys *= size
            keys += column
            bound *= size
        self._order: Counts | None = None  # of the distinct rows, unless they are in order
        if (keys[1:] < keys[:-1]).any():
            self._order = np.argsort(keys, kind="stable")
            keys = keys[self._order]
        self._keys = keys

    def find(self, codes: ValueCodes) -> Counts:
        """Return the position of each row of codes in the table of distinct rows, int64[rows]; -1 if it is missing."""
        if not len(self._keys):
            return np.full(codes.shape[1], -1, dtype=np.int64)
        keys = np.zeros(codes.shape[1], dtype=np.int64)
        known = np.logical_and.reduce(codes >= 0)
        for i, (column, size) in enumerate(zip(codes, self._sizes, strict=True)):
            if i in self._ranks:
                ranks = np.searchsorted(self._ranks[i], keys)
                known &= self._ranks[i][np.minimum(ranks, len(self._ranks[i]) - 1)] == keys
                keys = ranks
            keys = keys * size + column
        order = np.argsort(keys)  # a search for keys in order finds most of the table in the processor's cache
        ranked = keys[order]
        places = np.minimum(np.searchsorted(self._keys, ranked), len(self._keys) - 1)
        known[order] &= self._keys[places] == ranked
        keys[order] = places if self._order is None else self._order[places]
        return np.where(known, keys, -1)


def _distinct(keys: Counts) -> Counts:
    """Return the distinct keys in order, by sorting, which is several times faster than hashing here."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(keys) else ordered
