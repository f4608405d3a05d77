"""Trees from blurred rows: where distributions are reconstructed (Agrawal, Srikant 2000).

Global: once a column. ByClass: once a column and class. Local: in every node, once a column and class; a column that
was split above keeps what it was given there, as the noise of the rows on one side of a split is not that of all.
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
from parties.base.arrays import Floats

Strategy: TypeAlias = Literal["global", "byclass", "local", "none"]
STRATEGIES: tuple[Strategy, ...] = ("global", "byclass", "local", "none")
RELIABLE = 5000  # rows of a node from which Local reconstructs anew


class Column(Protocol):
    """A column of published values, float64[rows]; categories are their places in the list of them."""

    @property
    def axis(self) -> Axis:
        """As the tree knows it."""

    @property
    def blurred(self) -> bool:
        """True if anything is to be reconstructed."""

    def plain(self, values: Floats) -> IntervalCodes:
        """Return intervals or categories of values taken as they are, int32[rows]."""

    def codes(self, published: Floats, rng: np.random.Generator) -> IntervalCodes:
        """Return those reconstructed from rows taken together, int32[rows]."""


@dataclass(frozen=True, eq=False)
class Number:
    """A number's intervals, and how it was blurred; None: it was not."""

    domain: Domain
    observed: Observation | None

    @property
    def axis(self) -> Axis:
        """Intervals in order."""
        return Axis(self.domain.size)

    @property
    def blurred(self) -> bool:
        """True if there is noise."""
        return self.observed is not None

    def plain(self, values: Floats) -> IntervalCodes:
        """Return the intervals that values lie in."""
        return self.domain.codes(values)

    def distribution(self, published: Floats) -> Estimate:
        """Return the reconstructed distribution."""
        assert self.observed is not None
        smooth = not self.domain.points_only
        counts, chances = self.observed.counts(published), self.observed.chances
        return reconstruct(counts, chances, self.observed.settled, smooth=smooth)

    def codes(self, published: Floats, rng: np.random.Generator) -> IntervalCodes:
        """Return codes by sorted assignment."""
        if self.observed is None:
            return self.domain.codes(published)
        return assign(published, self.distribution(published).probabilities)


@dataclass(frozen=True)
class Category:
    """Categories, and how they were said; None: truly."""

    size: int
    response: Response | None

    @property
    def axis(self) -> Axis:
        """Categories without order."""
        return Axis(self.size, ordered=False)

    @property
    def blurred(self) -> bool:
        """True if not all was true."""
        return self.response is not None

    def plain(self, values: Floats) -> IntervalCodes:
        """Return the categories said."""
        return values.astype(np.int32)

    def codes(self, published: Floats, rng: np.random.Generator) -> IntervalCodes:
        """Return codes by Bayes' rule; as many rows as need be change what they said."""
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
    """Return the tree of blurred rows, float64[columns, rows], and their classes, int64[rows] below `number`.

    "none" takes what was published for the truth.
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
    """The rows of a node, their intervals, and the columns that were split on the way."""

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
    """Return intervals or categories, reconstructed among the rows of each group."""
    codes = np.empty(len(groups), dtype=np.int32)
    for group in np.unique(groups).tolist():
        rows = groups == group
        codes[rows] = column.codes(published[rows], rng)
    return codes


def assign(published: Floats, probabilities: Floats) -> NDArray[np.int32]:
    """Return the interval of each row, int32[rows]: in the order of published values, equal ones in theirs."""
    ends = np.rint(np.cumsum(probabilities) * len(published)).astype(np.int64)
    ends[-1] = len(published)
    intervals = np.empty(len(published), dtype=np.int32)
    places = np.searchsorted(ends, np.arange(len(published)), side="right")
    intervals[np.argsort(published, kind="stable")] = places
    return intervals
