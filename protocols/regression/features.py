"""Rows as vectors of norm 1 at most, by public rules that depend on the schema alone.

A column of categories becomes a 1 at the index of its value. A column of numbers is scaled to [-1, 1] by the bounds of
the schema's values; a missing number becomes 0. One more feature, the intercept, is always 1. With k columns,
everything is multiplied by F / 2^14, F the greatest integer with (k + 1) F^2 <= 2^28, and rounded towards zero to
multiples of 2^-14. So a row is a vector of integers of norm 2^14 at most. The schema proves this bound; no row is
measured or clipped.

`Contrasts` are vectors centred in the set of all possible rows, in which a row carries more information for its length.
The values of a column of m categories, each a 1 at its index, are equally far from their mean: the squared distance is
1 - 1 / m, not 1, and m - 1 coordinates are enough. The j-th, for j = 1, ..., m - 1, contrasts value j with those before
it (Helmert): 1 / sqrt(j (j + 1)) for each of these, -j / sqrt(j (j + 1)) for value j, 0 for later ones. The squares of
value v's coordinates add up to v / (v + 1) + sum over j > v of 1 / (j (j + 1)) = 1 - 1 / m. A number is in [-1, 1] as
above. The intercept is sqrt(3 / 2): a smaller one separates classes of unequal size late, a greater one shrinks all
other features. So a row's square is S = 3 / 2 + numbers + sum of (1 - 1 / m) at most. F is the greatest integer with S
F^2 <= 2^28, and every coordinate, times F, is rounded towards zero. Both kinds of features give the same linear
functions.
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

from protocols.arrays import Floats, Numbers

BITS = 14  # fractional bits of a feature
ONE = 1 << BITS


@dataclass(frozen=True)
class Column:
    """A predictor column: its values, and their numbers if the column is numeric.

    `numbers` has one number in [-1, 1] for each value; None: each value is a feature by itself. It is the value less
    `middle`, divided by `half`: the middle of the bounds, and half their distance.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[Fraction, ...] | None = None
    middle: Fraction = Fraction(0)
    half: Fraction = Fraction(1)

    @property
    def size(self) -> int:
        """Number of features of the column."""
        return len(self.values) if self.numbers is None else 1


@dataclass(frozen=True)
class Features:
    """Features of all columns, in their order, followed by the intercept."""

    columns: tuple[Column, ...]

    @property
    def number(self) -> int:
        """Number of features."""
        return sum(map(self._size, self.columns)) + 1

    @property
    def is_one_number(self) -> bool:
        """Whether there is one column, and it is numeric."""
        return len(self.columns) == 1 and self.columns[0].numbers is not None

    @cached_property
    def unit(self) -> int:
        """Scale factor F of all features (see the module)."""
        return math.isqrt((1 << 2 * BITS) // (len(self.columns) + 1))

    @cached_property
    def amounts(self) -> tuple[Numbers, ...]:
        """Feature value of each value of a column, int64[values] for each column, in units of 2^-14."""
        return tuple(
            np.full(len(column.values), self.unit, dtype=np.int64)
            if column.numbers is None
            else np.array([int(self.unit * number) for number in column.numbers], dtype=np.int64)
            for column in self.columns
        )

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Index of each column's first feature."""
        sizes = [0, *map(self._size, self.columns)]
        return tuple(np.cumsum(sizes)[:-1].tolist())

    @cached_property
    def places(self) -> Numbers:
        """Index of each column's first value among the values of all columns, and their number, int64[columns + 1]."""
        return np.cumsum([0, *map(len, self.amounts)])

    def vector(self, codes: Sequence[int]) -> Numbers:
        """Return the features of a row, int64[number], from the indices of its values."""
        tables = np.zeros(self.places[-1], dtype=np.int64)
        tables[self.places[:-1] + np.array(codes, dtype=np.int64)] = 1
        return self.summed(tables, 1)

    @property
    def constant(self) -> int:
        """Constant last feature of every row; its weight is the intercept."""
        return self.unit

    def added(self, weights: Floats) -> Floats:
        """Return the contribution of each value to w.d, float64[values of all columns], without the intercept's."""
        tables = np.zeros(self.places[-1])
        for of_column, amounts, features in self._parts():
            tables[of_column] = amounts / ONE * weights[features]
        return tables

    def summed(self, tables: NDArray[Any], total: Any) -> NDArray[Any]:
        """Return the sum over all rows of the feature vector times a number of the row, such as its slope; [features].

        Args:
            tables: sum of these numbers over the rows with each value, [values of all columns]
            total: sum of these numbers over all rows
        """
        totals = np.zeros(self.number, dtype=tables.dtype)
        for of_column, amounts, features in self._parts():
            sums = tables[of_column] * amounts
            totals[features] = sums.sum() if features.stop - features.start == 1 else sums
        totals[-1] = total * self.constant
        return totals

    def _parts(self) -> Iterator[tuple[slice, Numbers, slice]]:
        """Yield each column's slice among the values of all columns, its amounts, and its slice of the features."""
        for column, amounts, place, start in zip(self.columns, self.amounts, self.places, self.starts, strict=False):
            yield slice(place, place + len(amounts)), amounts, slice(start, start + self._size(column))

    def _size(self, column: Column) -> int:
        return column.size


@dataclass(frozen=True)
class Contrasts(Features):
    """Features that represent each categorical column by contrasts of its values (see the module)."""

    @cached_property
    def square(self) -> Fraction:
        """S, the greatest square of a row's norm before scaling (see the module)."""
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
            else:  # from the contrasts after a value, and from its own
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
        """Return the weights of `Features` that give every row the same score as these weights."""
        features_of_columns = Features(self.columns)
        plain, added = np.zeros(features_of_columns.number), self.added(weights)
        parts = zip(features_of_columns._parts(), self._parts(), self.columns, strict=True)
        for (_, _, features), (of_column, _, contrasts), column in parts:
            scores = added[of_column] * ONE if column.numbers is None else weights[contrasts] * self.unit
            plain[features] = scores / features_of_columns.unit
        plain[-1] = weights[-1] * self.constant / features_of_columns.unit
        return plain

    @override
    def _size(self, column: Column) -> int:
        return column.size - 1 if column.numbers is None else 1

    @cached_property
    def _helmert(self) -> tuple[tuple[Numbers, Numbers] | tuple[None, None], ...]:
        """Contrasts of each categorical column; None for numbers.

        The first array has contrast j for a value before j, the second minus contrast j for value j.
        """
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
