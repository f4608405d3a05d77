"""Rows dealt to the trees of a forest, each to one, by a key of the party's own.

Which tree a row goes to is a pseudorandom function of the row itself: equal rows are numbered, and number i of them
goes where SHAKE-256(key, row) says in its eight bytes from 8 i on. So dealing does not depend on the order in which a
source tells its rows, the same key deals the same rows alike whenever it is asked, and a row that is added or removed
changes the rows of one tree by one row and those of the others not at all: what each tree costs in privacy, the forest
costs (parallel composition). The other party learns nothing of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from protocols.counts import Indices, LevelCounts, RowCounts, Rows
from protocols.tree import Tree
from smc.errors import InputError

DEALT = 1 << 24  # rows that are dealt in memory, at most


class Partitioned:
    """This party's rows, each assigned to one tree. InputError if there are too many rows to assign."""

    def __init__(self, domains: Sequence[int], classes: int, rows: Rows, trees: int, key: bytes) -> None:
        lines = rows.distinct()
        if (count := int(lines[:, -1].sum())) > DEALT:
            raise InputError(
                f"{count:,} rows are too many for several trees; "
                f"at most {DEALT:,} rows can be divided among trees; take one tree"
            )
        tree, line = partition_rows(lines, trees, key)
        dealt = [lines[line[tree == number]] for number in range(trees)]
        self._parts = [RowCounts(domains, classes, part[:, :-2], part[:, -2]) for part in dealt]

    def level(self, forest: Sequence[Tree], attributes: bool) -> LevelCounts:
        """Return this party's counts in the open nodes of all trees, one tree after the other; private.

        Args:
            forest: One tree for each part of the rows; public.
            attributes: True counts by the values of each attribute, too.
        """
        found = [part.level(tree, attributes) for part, tree in zip(self._parts, forest, strict=True)]
        values = tuple(np.concatenate(tables) for tables in zip(*(level.values for level in found), strict=True))
        return LevelCounts(np.concatenate([level.classes for level in found]), values)


def partition_rows(lines: Indices, trees: int, key: bytes) -> tuple[Indices, Indices]:
    """Return the tree of each row and the line that it comes from, int64[rows] both.

    Args:
        lines: This party's distinct rows as of `Rows.distinct`, with their number in the last column; private.
        trees: Number of trees; public.
        key: Key of this party; private. An equal key deals equal rows alike.
    """
    numbers = lines[:, -1]
    drawn = [
        hashlib.shake_256(key + line.tobytes()).digest(8 * int(number))
        for line, number in zip(np.ascontiguousarray(lines[:, :-1].astype("<i8")), numbers, strict=True)
    ]
    words = np.frombuffer(b"".join(drawn), dtype="<u8")
    return (words % np.uint64(trees)).astype(np.int64), np.repeat(np.arange(len(lines)), numbers)
