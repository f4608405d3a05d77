"""Rows for the trees of a forest: each tree draws with replacement from this party's rows, by its private key.

Tree i draws by the PRG of SHAKE-256(key, i), so a run that resumes from a level draws equal rows again: they are
numbered in rising order. Neither party learns how often the other has drawn a row. Rules for leaves hold for distinct
rows: a row drawn twice counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from protocols.counts import Dealt, Indices, LevelCounts, Pieces, Rows
from protocols.draws import by_line, words
from protocols.tree import Forest
from smc.errors import InputError

DRAWN = 1 << 27  # upper bound on the rows of all trees together


class Bootstrapped:
    """A `protocols.counts.ForestCounts` of a party's rows drawn for each tree; raises InputError for too many rows."""

    def __init__(self, domains: Sequence[int], classes: int, rows: Rows, trees: int, key: bytes) -> None:
        pieces = Pieces(rows.lines)
        numbers = pieces.numbers()
        if (count := int(numbers.sum())) * trees > DRAWN:
            raise InputError(
                f"{count:,} rows are too many for {trees:,} trees: at most {DRAWN // trees:,} are drawn; "
                "take fewer trees"
            )
        self._trees: list[list[Dealt]] = []
        for tree in range(trees):
            times = np.zeros(count, dtype=np.uint8)  # a row is drawn 256 times with a probability below 1 / 256!
            for drawn in draw(count, key, tree):
                np.add.at(times, drawn, np.uint8(1))  # a scalar of the same type is 50 times as fast
            of_lines = (by_line(of_rows, numbers) for of_rows in (times, (times > 0).view(np.uint8)))
            self._trees.append([Dealt(domains, classes, pieces, n) for n in of_lines])

    def level(self, forest: Forest, attributes: bool) -> LevelCounts:
        """Count the drawn rows in the open nodes, tree by tree; see `protocols.counts.ForestCounts.level`.

        Args:
            forest: The trees so far, one for each draw; public.
            attributes: True to count by each attribute's values too.

        Returns:
            The counts, with repeated rows. Its `distinct` counts each drawn row once.
        """
        repeated, distinct = (
            joined([counts[which].level(tree, attributes) for counts, tree in zip(self._trees, forest, strict=True)])
            for which in (0, 1)
        )
        return LevelCounts(repeated.classes, repeated.values, distinct)


def joined(trees: Sequence[LevelCounts]) -> LevelCounts:
    """Return the counts of all trees' open nodes as one level, one tree after the other."""
    values = tuple(np.concatenate(tables) for tables in zip(*(counts.values for counts in trees), strict=True))
    return LevelCounts(np.concatenate([counts.classes for counts in trees]), values)


def draw(rows: int, key: bytes, tree: int) -> Iterator[Indices]:
    """Yield the indices of the rows drawn for a tree, in batches; there are as many draws as rows.

    A draw is a 64-bit number modulo the number of rows: the probabilities of two rows differ by at most a factor 1 +
    2^-37.

    Args:
        rows: Number of rows to draw from, and number of draws.
        key: This party's key; private.
        tree: Index of the tree, from 0.
    """
    for batch in words(key + tree.to_bytes(8, "big"), rows):
        yield (batch % np.uint64(rows)).astype(np.int64)
