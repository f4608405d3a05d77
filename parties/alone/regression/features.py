"""Rows as vectors of norm 1 at most, by public rules: what a row's cells become depends on the schema alone.

A column of categories becomes a 1 in the place of its value; a column of numbers is moved and scaled to [-1, 1] by the
bounds of the values that the schema lists, a missing one becoming 0; one feature more is always 1, the intercept. With
k columns everything is multiplied by F / 2^14, F the greatest integer with (k + 1) F^2 <= 2^28, and rounded towards
zero to multiples of 2^-14. So a row is a vector of integers of norm 2^14 at most: that is proved by the schema, and
nothing is measured in the rows or clipped by what stands in them.

`Contrasts` are vectors about the middle of all that there can be, in which a row says more for its length. The values
of a column of m categories, each a 1 in its place, are as far from their mean as each other: their squared distance
from it is 1 - 1 / m, not 1, and m - 1 coordinates are enough. The j-th, for j = 1, ..., m - 1, sets value j against
those before it (Helmert): 1 / sqrt(j (j + 1)) for each of these, -j / sqrt(j (j + 1)) for value j, 0 for later ones.
The squares of value v's coordinates add up to v / (v + 1) + sum over j > v of 1 / (j (j + 1)) = 1 - 1 / m. A number is
in [-1, 1] as above. The intercept is sqrt(3 / 2): with less, classes that are not alike in size are told apart late,
and more makes all else smaller. So a row's square is S = 3 / 2 + numbers + sum of (1 - 1 / m) at most; F is the
greatest integer with S F^2 <= 2^28, and every coordinate, times F, is rounded towards zero. What a linear function can
say is the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.base.arrays import Floats, Numbers

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
        return sum(map(self._size, self.columns)) + 1

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
        sizes = [0, *map(self._size, self.columns)]
        return tuple(np.cumsum(sizes)[:-1].tolist())

    @cached_property
    def places(self) -> Numbers:
        """Where the values of each column begin among those of all, and how many there are: int64[columns + 1]."""
        return np.cumsum([0, *map(len, self.amounts)])

    def vector(self, codes: Sequence[int]) -> Numbers:
        """Return a row, int64[number], from the indices of its values."""
        tables = np.zeros(self.places[-1], dtype=np.int64)
        tables[self.places[:-1] + np.array(codes, dtype=np.int64)] = 1
        return self.summed(tables, 1)

    @property
    def constant(self) -> int:
        """The last feature of every row, the intercept's."""
        return self.unit

    def added(self, weights: Floats) -> Floats:
        """Return what each value adds to w.d, float64[values of all columns]; every row has that of the intercept
        besides."""
        tables = np.zeros(self.places[-1])
        for of_column, amounts, features in self._parts():
            tables[of_column] = amounts / ONE * weights[features]
        return tables

    def summed(self, tables: NDArray[Any], total: Any) -> NDArray[Any]:
        """Return the sum of rows, each times a number, [number]: from the sums of these for each value of each column,
        and for all rows."""
        totals = np.zeros(self.number, dtype=tables.dtype)
        for of_column, amounts, features in self._parts():
            sums = tables[of_column] * amounts
            totals[features] = sums.sum() if features.stop - features.start == 1 else sums
        totals[-1] = total * self.constant
        return totals

    def _parts(self) -> Iterator[tuple[slice, Numbers, slice]]:
        """Yield of each column where its values stand among those of all, their amounts, and its features."""
        for column, amounts, place, start in zip(self.columns, self.amounts, self.places, self.starts, strict=False):
            yield slice(place, place + len(amounts)), amounts, slice(start, start + self._size(column))

    def _size(self, column: Column) -> int:
        """The features of a column."""
        return column.size


@dataclass(frozen=True)
class Contrasts(Features):
    """The same columns as contrasts of their values."""

    @cached_property
    def square(self) -> Fraction:
        """S."""
        each = (1 - Fraction(1, column.size) if column.numbers is None else Fraction(1) for column in self.columns)
        return Fraction(3, 2) + sum(each)

    @cached_property
    @override
    def unit(self) -> int:
        return math.isqrt(math.floor((1 << 2 * BITS) / self.square))

    @property
    @override
    def constant(self) -> int:
        return math.isqrt(3 * self.unit**2 // 2)

    @override
    def added(self, weights: Floats) -> Floats:
        tables = np.zeros(self.places[-1])
        for (of_column, amounts, features), (before, at) in zip(self._parts(), self._helmert, strict=True):
            slopes = weights[features]
            if before is None or at is None:
                tables[of_column] = amounts / ONE * slopes
            else:  # of the contrasts after a value, and of its own
                later = np.cumsum((before / ONE * slopes)[::-1])[::-1]
                tables[of_column] = np.append(later, 0.0) - np.append(0.0, at / ONE * slopes)
        return tables

    @override
    def summed(self, tables: NDArray[Any], total: Any) -> NDArray[Any]:
        totals = np.zeros(self.number, dtype=tables.dtype)
        for (of_column, amounts, features), (before, at) in zip(self._parts(), self._helmert, strict=True):
            sums = tables[of_column]
            if before is None or at is None:
                totals[features] = (sums * amounts).sum()
            else:
                totals[features] = before * np.cumsum(sums)[:-1] - at * sums[1:]
        totals[-1] = total * self.constant
        return totals

    def plain(self, weights: Floats) -> Floats:
        """Return the weights of `Features`, of the same columns, that give every row the score that these give it."""
        known = Features(self.columns)
        plain, added = np.zeros(known.number), self.added(weights)
        parts = zip(known._parts(), self._parts(), self.columns, strict=True)
        for (_, _, features), (of_column, _, contrasts), column in parts:
            scores = added[of_column] * ONE if column.numbers is None else weights[contrasts] * self.unit
            plain[features] = scores / known.unit
        plain[-1] = weights[-1] * self.constant / known.unit
        return plain

    @override
    def _size(self, column: Column) -> int:
        return column.size - 1 if column.numbers is None else 1

    @cached_property
    def _helmert(self) -> tuple[tuple[Numbers, Numbers] | tuple[None, None], ...]:
        """Of each column of categories what each contrast j is for a value before j, and, its sign changed, for value
        j."""
        columns: list[tuple[Numbers, Numbers] | tuple[None, None]] = []
        for column in self.columns:
            if column.numbers is not None:
                columns.append((None, None))
                continue
            each = range(1, column.size)
            before = [math.isqrt(self.unit**2 // (j * (j + 1))) for j in each]
            at = [math.isqrt(self.unit**2 * j // (j + 1)) for j in each]
            columns.append((np.array(before, dtype=np.int64), np.array(at, dtype=np.int64)))
        return tuple(columns)
