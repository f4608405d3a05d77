"""Rows whose class is partly noise, rows by questions, and what runs took but for the time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from protocols.edges import Questions
from protocols.tree import child_of
from smc.meter import Cost, Meter


def answers(questions: Questions, rows: np.ndarray) -> np.ndarray:
    """The rows by questions instead of columns."""
    asked = [child_of(edge, rows[:, column]) for column, edge in questions.asked]
    return np.column_stack([*asked, rows[:, -2:]]).astype(np.int64)


def noisy(rows: int, seed: int, classes: int = 2) -> np.ndarray:
    """Four columns of which two say the class, but for a fifth of the rows; then owner and class."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, [3, 2, 4, 2, 2, classes], (rows, 6))
    table[:, -1] = np.where(rng.random(rows) < 0.2, table[:, -1], (table[:, 0] + table[:, 1]) % classes)
    return table


def timeless(meter: Meter) -> dict[str, Cost]:
    """What each phase took but for the time."""
    return {path: replace(cost, seconds=0) for path, cost in meter.phases.items()}
