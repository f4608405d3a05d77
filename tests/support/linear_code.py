"""Rows of Ferret's code alone: the product adds them to leaves of trees only."""

from __future__ import annotations

import numpy as np

from smc.ot.half_tree import SenderTrees
from smc.ot.lpn import LinearCode


def add_rows(key: bytes, table: np.ndarray, first: int, target: np.ndarray) -> None:
    """Set target[i] ^= row first + i times `table`; `first` and the number of rows are multiples of 8."""
    numbers = first | len(target)
    depth = min((numbers & -numbers).bit_length() - 1, 9) if numbers else 3  # trees begin and end where these rows do
    tree, count = first >> depth, len(target) >> depth
    trees = SenderTrees(bytes(16), np.array([1, 0], dtype=np.uint64), np.zeros((tree + count, 2), np.uint64), depth)
    leaves, coded = np.empty_like(target), np.empty_like(target)
    trees.grow(tree, leaves)
    trees.grow(tree, coded, LinearCode(key, table))
    target ^= leaves ^ coded
