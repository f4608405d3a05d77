"""Rows that count more than once in a tree, by public weights of their classes: local, before anything is computed.

The tree is that of the rows repeated as often as the weights say. Rules for leaves hold for the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocols.counts import Counts, LevelCounts
from protocols.tree import Tree


class Weighted:
    """A source of counts whose rows of class c count `weights[c]` times; `max_rows` bounds those of the source."""

    def __init__(self, source: Counts, weights: Sequence[int], max_rows: int) -> None:
        self._source = source
        self._weights = np.array(weights, dtype=np.int64)
        self._max_rows = max_rows

    def level(self, tree: Tree, attributes: bool) -> LevelCounts:
        """See `Counts.level`. `InputError` for more rows than agreed."""
        tables = self._source.level(tree, attributes)
        tables.check(len(tables.classes), len(self._weights), self._max_rows)
        values = tuple(table * self._weights for table in tables.values)
        return LevelCounts(tables.classes * self._weights, values, tables)
