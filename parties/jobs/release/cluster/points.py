"""Rows as points: columns of numbers within public bounds, in fixed point of [-1, 1], and the cells of a grid."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from parties.base.text import quoted
from parties.jobs.release.values import decimal
from parties.tables.delimited import MISSING
from protocols.counts import Rows
from protocols.release.centroids import UNIT, Points, cluster_sums
from smc.errors import InputError

MOST_CELLS = 1_000_000
USUAL_CELLS = 1 << 14  # default limit of a grid's cells


@dataclass(frozen=True)
class Axis:
    """A column of numbers: the number of each category, None if missing or not selected, and public bounds."""

    column: str
    numbers: tuple[Fraction | None, ...]
    low: Fraction
    high: Fraction

    @classmethod
    def read(cls, column: str, categories: Sequence[str], selected_values: Container[str], bounds: str) -> Axis:
        """Return the axis of a column of numbers, with its bounds parsed.

        Args:
            column: Name of the column.
            categories: Values in the schema.
            selected_values: Values that are selected.
            bounds: Text LOW:HIGH.

        Raises:
            InputError: A value is not a number, the bounds are invalid, or no number is left.
        """
        for category in categories:
            if category != MISSING and decimal(category) is None:
                raise InputError(
                    f"columns: the values that the schema gives {quoted(column)} must be numbers, but "
                    f"{quoted(category)} is not; choose another column"
                )
        low, _, high = bounds.partition(":")
        ends = decimal(low.strip()), decimal(high.strip())
        if ends[0] is None or ends[1] is None or ends[0] >= ends[1]:
            raise InputError(f"bounds: {quoted(bounds)} must be LOW:HIGH with LOW < HIGH, such as 0:100")
        numbers = tuple(decimal(category) if category in selected_values else None for category in categories)
        if all(number is None for number in numbers):
            raise InputError(
                f"columns: where leaves no number of {quoted(column)}; change where, or leave the column out"
            )
        return cls(column, numbers, ends[0], ends[1])

    @cached_property
    def places(self) -> tuple[int | None, ...]:
        """Fixed-point number of each category, None if it has none; numbers beyond a bound move to the bound."""
        return tuple(None if number is None else self._place(number) for number in self.numbers)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether each category is selected and has a number, bool[categories]."""
        return np.array([place is not None for place in self.places])

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Fixed-point number of each category, int64[categories]; 0 for a category without a number."""
        return np.array([place or 0 for place in self.places], dtype=np.int64)

    def _place(self, number: Fraction) -> int:
        inside = min(max(number, self.low), self.high)
        return math.floor((2 * inside - self.low - self.high) / (self.high - self.low) * UNIT + Fraction(1, 2))

    def number(self, place: int) -> Fraction:
        """Return the number at a position in fixed point."""
        return (self.low + self.high) / 2 + (self.high - self.low) / 2 * Fraction(place, UNIT)

    def cells(self, parts: int) -> list[list[int]]:
        """Return the distinct fixed-point numbers in each of `parts` equal parts; empty parts are left out."""
        by_part: dict[int, list[int]] = {}
        for place in sorted({place for place in self.places if place is not None}):
            by_part.setdefault(min((place + UNIT) * parts // (2 * UNIT), parts - 1), []).append(place)
        return list(by_part.values())


@dataclass(frozen=True)
class Grid:
    """Cells of a box: for each axis the fixed-point numbers in each part. A cell is a part of each axis."""

    parts: tuple[tuple[tuple[int, ...], ...], ...]

    @classmethod
    def over(cls, axes: Sequence[Axis], parts: int) -> Grid:
        """Return a grid that divides each axis into equal parts. Raise InputError if it has too many cells.

        Args:
            axes: The columns.
            parts: Number of parts of each axis.
        """
        grid = tuple(tuple(map(tuple, axis.cells(parts))) for axis in axes)
        if (cells := math.prod(map(len, grid))) > MOST_CELLS:
            raise InputError(
                f"parts: the grid would have {cells:,} cells, more than {MOST_CELLS:,}; choose fewer parts or columns"
            )
        return cls(grid)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.parts))

    def count(self, points: Points, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of rows in each cell, int64[cells], the first axis slowest.

        Args:
            points: Points in fixed point, [points, axes].
            rows: Number of rows at each point.
        """
        cell = np.zeros(len(points), dtype=np.int64)
        for column, parts in zip(points.T, self.parts, strict=True):
            part_of = np.zeros(2 * UNIT + 1, dtype=np.int64)
            for number, places in enumerate(parts):
                part_of[np.array(places) + UNIT] = number
            cell = cell * len(parts) + part_of[column + UNIT]
        return np.bincount(cell, weights=rows.astype(np.float64), minlength=self.cells).astype(np.int64)

    @property
    def variance(self) -> float:
        """Mean squared distance of a point from the position of its cell, over all cells."""
        return sum(float(np.mean([np.var(places) for places in parts])) for parts in self.parts)

    @property
    def places(self) -> Points:
        """Position of each cell's rows: the mean of the numbers of its parts, int64[cells, axes]."""
        means = [np.array([_mean(places) for places in parts], dtype=np.int64) for parts in self.parts]
        return np.stack([axis.reshape(-1) for axis in np.meshgrid(*means, indexing="ij")], axis=1)


def usual_parts(rows: int, epsilon: Fraction, dimensions: int) -> int:
    """Return the number of parts that gives a grid about (rows epsilon / 10)^(2d / (2 + d)) cells, in whole numbers.

    That number balances the errors by the cells' noise and by their size (Su and others, 2016). It is at least 2, and
    more only if the grid then has at most 2^14 cells.

    Args:
        rows: Bound on a party's rows.
        epsilon: Privacy loss of the grid.
        dimensions: Number of columns.
    """
    parts = 2
    while (parts + 1) ** dimensions <= USUAL_CELLS and 100 * (parts + 1) ** (2 + dimensions) <= (rows * epsilon) ** 2:
        parts += 1
    return parts


@dataclass(frozen=True)
class OwnPoints:
    """A party's selected rows as points; a row without a number on an axis is left out.

    `rows` has these `columns` in their order; `wanted` holds the selected categories of some of them, bool[values].
    """

    axes: Sequence[Axis]
    rows: Rows
    columns: Sequence[str]
    wanted: Sequence[tuple[str, NDArray[np.bool_]]] = ()

    def __iter__(self) -> Iterator[tuple[Points, NDArray[np.int64]]]:
        """Yield all points in pieces, int64[points, axes], with the frequency of each, int64[points]: one pass."""
        masks = [(self.columns.index(column), meant) for column, meant in self.wanted]
        column_indices = [self.columns.index(axis.column) for axis in self.axes]
        masks += [
            (place, axis.present)
            for place, axis in zip(column_indices, self.axes, strict=True)
            if not axis.present.all()
        ]
        for lines in self.rows.batches():
            is_point = np.ones(len(lines), dtype=bool)
            for place, meant in masks:
                is_point &= meant[lines[:, place]]
            lines = lines if is_point.all() else lines[is_point]
            columns = [axis.table[lines[:, place]] for axis, place in zip(self.axes, column_indices, strict=True)]
            yield np.array(columns).T, lines[:, -1]

    def sums(self, centroids: Points) -> Points:
        """Return each cluster's number of points, times UNIT, and their sum, int64[clusters, 1 + dimensions]."""
        total = np.zeros((len(centroids), 1 + len(self.axes)), dtype=np.int64)
        for points, numbers in self:
            total += cluster_sums(points, numbers, centroids)
        return total


def _mean(places: Sequence[int]) -> int:
    return (2 * sum(places) + len(places)) // (2 * len(places))
