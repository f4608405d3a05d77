"""Assignment of a party's rows to the trees of a forest, each row to one tree, by the party's private key.

The tree of a row is a pseudorandom function of the row itself. Equal rows are numbered, and the i-th of them goes to
the tree given by eight bytes of SHAKE-256(key, row), from byte 8 i on. So the assignment does not depend on the order
of the rows, and an equal key assigns equal rows alike. An added or removed row changes the rows of one tree by one row,
and those of the other trees not at all: the forest costs as much privacy as one tree (parallel composition). The peer
learns nothing about the assignment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from protocols.counts import Indices, LevelCounts, RowCounts, Rows
from protocols.tree import Tree
from smc.errors import InputError

DEALT = 1 << 24  # most rows that are assigned to trees, in memory


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
    """Return the tree of each row and its index in `lines`, int64[rows] each.

    Args:
        lines: This party's distinct rows as from `Rows.distinct`, with their multiplicity in the last column; private.
        trees: Number of trees; public.
        key: Key of this party; private. An equal key assigns equal rows alike.
    """
    numbers = lines[:, -1]
    drawn = [
        hashlib.shake_256(key + line.tobytes()).digest(8 * int(number))
        for line, number in zip(np.ascontiguousarray(lines[:, :-1].astype("<i8")), numbers, strict=True)
    ]
    words = np.frombuffer(b"".join(drawn), dtype="<u8")
    return (words % np.uint64(trees)).astype(np.int64), np.repeat(np.arange(len(lines)), numbers)
