"""Public class weights: each row's multiplicity is the weight of its class; applied locally before the protocol.

The tree is that of the rows repeated by their weights. Rules for leaves hold for the rows without weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protocols.counts import LevelCounts
from protocols.tree import Forest, Tree


class Weighted:
    """Source of counts, of a tree or a forest, whose rows of class c count `weights[c]` times."""

    def __init__(self, source: Any, weights: Sequence[int], max_rows: int) -> None:
        """Wrap a `protocols.counts.Counts` or `protocols.counts.ForestCounts` of at most `max_rows` rows.

        Args:
            source: The source of this party's counts.
            weights: Weight of each class, whole numbers; public.
            max_rows: Upper bound on the rows that a level counts, before weights; public.
        """
        self._source = source
        self._weights = np.array(weights, dtype=np.int64)
        self._max_rows = max_rows

    def level(self, trees: Tree | Forest, attributes: bool) -> LevelCounts:
        """Count this party's rows in the open nodes, times the weights; see `Counts.level` and `ForestCounts.level`.

        Args:
            trees: The tree or the forest so far; public.
            attributes: True to count by each attribute's values too.

        Returns:
            The weighted counts. Its `distinct` holds the rows without weights.

        Raises:
            InputError: This party has more rows than agreed.
        """
        tables = self._source.level(trees, attributes)
        tables.check(len(tables.classes), len(self._weights), self._max_rows)
        values = tuple(table * self._weights for table in tables.values)
        return LevelCounts(tables.classes * self._weights, values, tables.distinct or tables, tables.are_shares)
