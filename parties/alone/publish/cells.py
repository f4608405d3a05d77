"""A table as its distinct cells: all that anonymisation asks of the rows is which occur, and how often.

A cell is what a row says in the quasi-identifiers and sensitive columns; two rows that agree there are one cell that is
counted twice. Work is on cells, not rows: of the 32,561 rows of Adult 6 quasi-identifiers leave some 10,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.base.arrays import Counts


@dataclass(frozen=True, eq=False)
class Cells:
    """`quasi` and `sensitive`, both int[columns, cells], are numbers of values in their hierarchies.

    `counts` int64[cells] are rows. `public` are cells of another table, whose quasi-identifiers are the same: everybody
    of whom it is known that they could be in this one.
    """

    hierarchies: tuple[Hierarchy, ...]
    sensitive_hierarchies: tuple[Hierarchy, ...]
    quasi: ValueCodes
    sensitive: ValueCodes
    counts: Counts
    public: tuple[ValueCodes, Counts] | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())


def reduced(columns: ValueCodes, counts: Counts | None = None) -> tuple[ValueCodes, Counts]:
    """Return the distinct columns of int[columns, rows] and how often each occurs, in lexical order."""
    if counts is None:
        counts = np.ones(columns.shape[1], dtype=np.int64)
    if not columns.shape[1]:
        return columns, counts
    order, starts = grouped(columns, [int(column.max()) + 1 for column in columns])
    return columns[:, order[starts]], np.add.reduceat(counts[order], starts)


def grouped(
    columns: ValueCodes | Sequence[ValueCodes], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order that brings equal columns of int[columns, cells] together, and where each group starts in it.

    `sizes` bound the numbers of each row. Groups come in lexical order.
    """
    number = len(columns[0])
    keys, bound = np.zeros(number, dtype=np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if bound * size >= 1 << 62:
            keys, bound = np.unique(keys, return_inverse=True)[1].astype(np.int64), number
        keys = keys * size + column
        bound *= size
    bits = number.bit_length()
    if bound << bits < 1 << 62:  # numbers are sorted several times faster than they are ranked
        packed = np.sort(keys << bits | np.arange(len(keys)))
        order, keys = packed & ((1 << bits) - 1), packed >> bits
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.zeros(0, np.int64)
    return order, starts
