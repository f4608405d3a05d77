"""Small tables for linear classifiers: a column of categories and one of numbers, and a row's vector by definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from parties.tables.schema import Schema
from protocols.regression.features import ONE, Column, Features
from protocols.regression.losses import Loss
from protocols.regression.rows import TrainingRows

SCHEMA = Schema({"town": ("north", "mid", "south"), "age": ("0", "10", "40", "?"), "end": ("good", "bad")}, "end")
NUMBERS = (Fraction(-1), Fraction(-1, 2), Fraction(1), Fraction(0))
FEATURES = Features(
    (
        Column("town", SCHEMA.attributes["town"]),
        Column("age", SCHEMA.attributes["age"], NUMBERS, Fraction(20), Fraction(20)),
    )
)
Lines = Sequence[tuple[int, int, int, int]]  # town, age, whether the class is the second, how many


def rows(lines: Lines, features: Features = FEATURES) -> TrainingRows:
    """Rows of these lines."""
    table = np.array(lines, dtype=np.int64).reshape(len(lines), 4)
    return TrainingRows(features, table[:, :2], 2.0 * table[:, 2] - 1, table[:, 3])


def random_rows(seed: int, lines: int = 40, most: int = 5) -> TrainingRows:
    """Some rows, of which the class depends on both columns."""
    rng = np.random.default_rng(seed)
    towns, ages = rng.integers(3, size=lines), rng.integers(4, size=lines)
    labels = rng.random(lines) < 0.15 + 0.25 * towns + 0.1 * (ages == 2)
    counts = rng.integers(1, most + 1, size=lines)
    return rows(list(zip(towns, ages, labels.astype(int), counts, strict=True)))


def matrix(of: TrainingRows) -> NDArray[np.float64]:
    """Every row as a vector, float64[rows, features], times its class."""
    scale = of.features.unit / ONE
    lines = []
    for (town, age), sign, count in zip(of.codes, of.signs, of.counts, strict=True):
        vector = [float(town == value) for value in range(3)] + [float(NUMBERS[age]), 1.0]
        lines += [np.array(vector) * scale * sign] * int(count)
    return np.array(lines).reshape(-1, 5)


def objective(of: TrainingRows, loss: Loss, regularisation: float, weights: NDArray[np.float64]) -> float:
    """J by its definition, row by row."""
    each = [float(loss.value(np.array([weights @ vector]))[0]) for vector in matrix(of)]
    return regularisation / 2 * math.fsum(weights**2) + math.fsum(each) / len(each)
