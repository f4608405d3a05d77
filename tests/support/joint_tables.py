"""Joint tables by their definition, cell by cell: which are small, and what a reader finds out of those hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize

Grid = Any


def state(own: Sequence[int], threshold: int, against: str, zeros: str) -> int:
    """0 if a cell with so many rows of each party may be published, 1 if not, 2 if it is shown as empty."""
    if zeros == "shown" and sum(own) == 0:
        return 2
    counts = [sum(own)] if against == "public" else list(own)
    fine = [count >= threshold or (zeros == "shown" and count == 0) for count in counts]
    return 0 if all(fine) else 1


def ranges(grid: Grid, hidden: Grid) -> dict[tuple[int, int], tuple[float, float]]:
    """The least and the largest that each hidden cell of a table with totals can be, for who knows all others."""
    places = [tuple(map(int, place)) for place in np.argwhere(hidden)]
    number = {place: i for i, place in enumerate(places)}
    rows, columns = grid.shape
    lines = [[(r, c) for c in range(columns)] for r in range(rows)] if columns > 1 else []
    lines += [[(r, c) for r in range(rows)] for c in range(columns)]
    matrix, right = np.zeros((len(lines), len(places))), np.zeros(len(lines))
    for i, line in enumerate(lines):
        for cell in line:
            factor = -1.0 if cell == line[-1] else 1.0
            if cell in number:
                matrix[i, number[cell]] = factor
            else:
                right[i] -= factor * grid[cell]
    found = {}
    for place, i in number.items():
        ends = []
        for sign in (1.0, -1.0):
            goal = np.zeros(len(places))
            goal[i] = sign
            solved = scipy.optimize.linprog(goal, A_eq=matrix, b_eq=right, bounds=(0, None), method="highs")
            assert solved.status in (0, 3), solved.message  # 3: there is no bound
            ends.append(sign * solved.fun if solved.status == 0 else float("inf"))
        found[place] = (ends[0], ends[1])
    return found
