"""Elimination in a symmetric system of doubles, element by element, so that both parties compute equal bits."""

from __future__ import annotations

import numpy as np

from protocols.arrays import Floats


def eliminated(matrix: Floats, right: Floats, least: float | Floats) -> Floats | None:
    """Solve a symmetric system by elimination, float64[size, sides]; None unless all pivots are above `least` and 0.

    Args:
        matrix: Symmetric matrix, float64[size, size].
        right: Right sides, float64[size, sides].
        least: Greatest pivot that is refused, or one for each unknown, float64[size].
    """
    table = np.column_stack([matrix, right])
    size = len(matrix)
    refused = np.broadcast_to(least, size)
    for index in range(size):
        pivot = table[index, index]
        if pivot <= refused[index] or pivot <= 0:
            return None
        below = table[index + 1 :, index] / pivot
        table[index + 1 :, index:] -= below[:, None] * table[index, index:]
    solved = np.zeros(right.shape)
    for index in reversed(range(size)):
        remainder = table[index, size:].copy()
        for other in range(index + 1, size):  # one after the other, so that all machines round alike
            remainder -= table[index, other] * solved[other]
        solved[index] = remainder / table[index, index]
    return solved
