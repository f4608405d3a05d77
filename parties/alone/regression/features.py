"""Rows as vectors of norm 1 at most, by public rules: what a row's cells become depends on the schema alone.

A column of categories becomes a 1 in the place of its value; a column of numbers is moved and scaled to [-1, 1] by the
bounds of the values that the schema lists, a missing one becoming 0; one feature more is always 1, the intercept. With
k columns everything is multiplied by F / 2^14, F the greatest integer with (k + 1) F^2 <= 2^28, and rounded towards
zero to multiples of 2^-14. So a row is a vector of integers of norm 2^14 at most: that is proved by the schema, and
nothing is measured in the rows or clipped by what stands in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from parties.base.arrays import Numbers

BITS = 14  # of a feature behind the point
ONE = 1 << BITS


@dataclass(frozen=True)
class Column:
    """A column to predict from: its values, and their numbers in units of one if it is taken as numbers.

    `numbers` are in [-1, 1], one for each value; None: each value is a feature by itself.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[Fraction, ...] | None = None
    middle: Fraction = Fraction(0)
    half: Fraction = Fraction(1)  # of the distance between the bounds

    @property
    def size(self) -> int:
        """The number of features that it makes."""
        return len(self.values) if self.numbers is None else 1


@dataclass(frozen=True)
class Features:
    """The features of all columns, in their order, and then the intercept."""

    columns: tuple[Column, ...]

    @property
    def number(self) -> int:
        """Their number."""
        return sum(column.size for column in self.columns) + 1

    @property
    def is_one_number(self) -> bool:
        """Whether there is one column, of numbers."""
        return len(self.columns) == 1 and self.columns[0].numbers is not None

    @cached_property
    def unit(self) -> int:
        """F."""
        return math.isqrt((1 << 2 * BITS) // (len(self.columns) + 1))

    @cached_property
    def amounts(self) -> tuple[Numbers, ...]:
        """The amount that each value of a column puts in its place, int64[values] a column, in units of 2^-14."""
        return tuple(
            np.full(len(column.values), self.unit, dtype=np.int64)
            if column.numbers is None
            else np.array([int(self.unit * number) for number in column.numbers], dtype=np.int64)
            for column in self.columns
        )

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first feature of each column."""
        sizes = [0, *(column.size for column in self.columns)]
        return tuple(np.cumsum(sizes)[:-1].tolist())

    @cached_property
    def places(self) -> Numbers:
        """Where the values of each column begin among those of all, and how many there are: int64[columns + 1]."""
        return np.cumsum([0, *map(len, self.amounts)])

    def vector(self, codes: Sequence[int]) -> Numbers:
        """Return a row, int64[number], from the indices of its values."""
        vector = np.zeros(self.number, dtype=np.int64)
        for column, amounts, start, code in zip(self.columns, self.amounts, self.starts, codes, strict=True):
            vector[start + (code if column.numbers is None else 0)] = amounts[code]
        vector[-1] = self.unit
        return vector
