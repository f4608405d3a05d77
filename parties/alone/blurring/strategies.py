"""Strategies of building trees from blurred rows: where distributions are reconstructed (Agrawal, Srikant 2000).

Global: once for each column. ByClass: once for each column and class. Local: in every node, once for each column and
class. A column already split on keeps its assignment, since the noise of the rows on one side of a split is not that of
all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.alone.blurring.domain import Domain, Observation
from parties.alone.blurring.estimation import Estimate, reconstruct
from parties.alone.blurring.response import Response, reassign
from parties.alone.blurring.tree import Axis, Fixed, Growth, IntervalCodes, Node, Places, grow
from protocols.arrays import Floats

Strategy: TypeAlias = Literal["global", "byclass", "local", "none"]
STRATEGIES: tuple[Strategy, ...] = ("global", "byclass", "local", "none")
RELIABLE = 5000  # least rows of a node in which Local reconstructs again


class Column(Protocol):
    """A column of published values, float64[rows]; categories are indices into the list of categories."""

    @property
    def axis(self) -> Axis:
        """The column's size and order, for the tree."""

    @property
    def blurred(self) -> bool:
        """Whether values must be reconstructed."""

    def plain(self, values: Floats) -> IntervalCodes:
        """Return the interval or category of each value without reconstruction, int32[rows]."""

    def codes(self, published: Floats, rng: np.random.Generator) -> IntervalCodes:
        """Return the interval or category of each row, reconstructed from all these rows, int32[rows].

        Args:
            published: published values, float64[rows]
            rng: source of randomness
        """


@dataclass(frozen=True, eq=False)
class Number:
    """A numeric column: its intervals, and its bins if it is blurred."""

    domain: Domain
    observed: Observation | None

    @property
    def axis(self) -> Axis:
        """Axis of the column's intervals, which are ordered."""
        return Axis(self.domain.size)

    @property
    def blurred(self) -> bool:
        """Whether the column has noise."""
        return self.observed is not None

    def plain(self, values: Floats) -> IntervalCodes:
        """Return the interval of each true value."""
        return self.domain.codes(values)

    def distribution(self, published: Floats) -> Estimate:
        """Return the reconstructed distribution of the true values over the intervals."""
        assert self.observed is not None
        smooth = not self.domain.points_only
        counts, chances = self.observed.counts(published), self.observed.chances
        return reconstruct(counts, chances, self.observed.settled, smooth=smooth)

    def codes(self, published: Floats, rng: np.random.Generator) -> IntervalCodes:
        """Return the interval of each row, by sorted assignment.

        Args:
            published: Blurred numbers, float64[rows].
            rng: Random generator for rows of equal value.

        Returns:
            Index of an interval for each row, such that the intervals have the reconstructed shares.
        """
        if self.observed is None:
            return self.domain.codes(published)
        return assign(published, self.distribution(published).probabilities)


@dataclass(frozen=True)
class Category:
    """A categorical column, and its randomised response if it is blurred."""

    size: int
    response: Response | None

    @property
    def axis(self) -> Axis:
        """Axis of a column of categories, which have no order."""
        return Axis(self.size, ordered=False)

    @property
    def blurred(self) -> bool:
        """Whether answers are randomised."""
        return self.response is not None

    def plain(self, values: Floats) -> IntervalCodes:
        """Return the published categories."""
        return values.astype(np.int32)

    def codes(self, published: Floats, rng: np.random.Generator) -> IntervalCodes:
        """Return categories with the estimated shares; as few rows as possible change.

        Args:
            published: Indices of the published answers, float64[rows].
            rng: Random generator that selects the rows to change.

        Returns:
            Index of a category for each row.
        """
        answers = published.astype(np.int32)
        if self.response is None:
            return answers
        counts = np.bincount(answers, minlength=self.size).astype(np.float64)
        return reassign(answers, self.response.estimate(counts).probabilities, rng)


def learn(
    columns: Sequence[Column],
    published: Floats,
    classes: Places,
    number: int,
    strategy: Strategy,
    how: Growth,
    rng: np.random.Generator,
) -> Node:
    """Learn a tree from blurred rows.

    Args:
        columns: the columns
        published: published values, float64[columns, rows]
        classes: class of each row, int64[rows] below `number`
        number: number of classes
        strategy: where distributions are reconstructed; "none" takes published values as true
        how: parameters of growth
        rng: source of randomness
    """
    axes = [column.axis for column in columns]
    if strategy == "none":
        matrix = np.stack([column.plain(values) for column, values in zip(columns, published, strict=True)])
        return grow(Fixed(matrix), classes, number, axes, how)
    groups = np.zeros_like(classes) if strategy == "global" else classes
    matrix = np.stack([_by_group(c, values, groups, rng) for c, values in zip(columns, published, strict=True)])
    if strategy == "local":
        return grow(_Local(columns, published, classes, matrix, frozenset(), rng), classes, number, axes, how)
    return grow(Fixed(matrix), classes, number, axes, how)


@dataclass(frozen=True, eq=False)
class _Local:
    """View of a node's rows for the Local strategy: their intervals, and the columns already split on."""

    columns: Sequence[Column]
    published: Floats
    classes: Places
    matrix: IntervalCodes
    used: frozenset[int]
    rng: np.random.Generator

    def codes(self) -> IntervalCodes:
        return self.matrix

    def part(self, column: int, rows: NDArray[np.bool_]) -> _Local:
        used = self.used | {column}
        published, classes, matrix = self.published[:, rows], self.classes[rows], self.matrix[:, rows]
        if len(classes) >= RELIABLE:
            for i, description in enumerate(self.columns):
                if i not in used and description.blurred:
                    matrix[i] = _by_group(description, published[i], classes, self.rng)
        return _Local(self.columns, published, classes, matrix, used, self.rng)


def _by_group(column: Column, published: Floats, groups: Places, rng: np.random.Generator) -> IntervalCodes:
    codes = np.empty(len(groups), dtype=np.int32)
    for group in np.unique(groups).tolist():
        rows = groups == group
        codes[rows] = column.codes(published[rows], rng)
    return codes


def assign(published: Floats, probabilities: Floats) -> NDArray[np.int32]:
    """Return the interval of each row, int32[rows], assigned in the order of published values (stable).

    Args:
        published: published values, float64[rows]
        probabilities: distribution of the true values, float64[intervals]
    """
    ends = np.rint(np.cumsum(probabilities) * len(published)).astype(np.int64)
    ends[-1] = len(published)
    intervals = np.empty(len(published), dtype=np.int32)
    assigned = np.searchsorted(ends, np.arange(len(published)), side="right")
    intervals[np.argsort(published, kind="stable")] = assigned
    return intervals
