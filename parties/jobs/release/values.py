"""The values of a column as numbers: its categories, read as decimal numbers. So their bounds are public.

All that is computed with is a whole multiple of one unit: the largest that makes every value whole. A missing value,
`?`, is no number: a row that has it counts as one that is not meant.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from parties.base.text import quoted
from parties.tables.delimited import MISSING
from smc.errors import InputError

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")
MAX_UNITS = 1 << 40  # of a value
MOST_KEPT = 16  # columns whose numbers are kept; a node keeps all tasks, and 10,000 numbers take megabytes


@dataclass(frozen=True)
class Values:
    """The numbers of a column's categories, in their order; None for a missing value."""

    numbers: tuple[Fraction | None, ...]

    @cached_property
    def present(self) -> tuple[Fraction, ...]:
        """The numbers that there are, at least one."""
        return tuple(number for number in self.numbers if number is not None)

    @cached_property
    def least(self) -> Fraction:
        """The lower bound."""
        return min(self.present)

    @cached_property
    def greatest(self) -> Fraction:
        """The upper bound."""
        return max(self.present)

    @cached_property
    def middle(self) -> Fraction:
        """Half way between the bounds."""
        return (self.least + self.greatest) / 2

    def moved(self, by: Fraction) -> Values:
        """Return all of them, less this."""
        return Values(tuple(None if number is None else number - by for number in self.numbers))

    @cached_property
    def unit(self) -> Fraction:
        """The largest number of which all are whole multiples; 1 if all are 0."""
        nonzero = [number for number in self.present if number]
        if not nonzero:
            return Fraction(1)
        denominator = math.lcm(*(number.denominator for number in nonzero))
        return Fraction(math.gcd(*(int(number * denominator) for number in nonzero)), denominator)

    @cached_property
    def ordered(self) -> tuple[tuple[Fraction, int], ...]:
        """The numbers that there are by size, each with its place among the categories."""
        return tuple(sorted((number, place) for place, number in enumerate(self.numbers) if number is not None))

    @cached_property
    def from_zero(self) -> Values:
        """The numbers less the least of them."""
        return self.moved(self.least)

    @cached_property
    def whole(self) -> tuple[int, ...]:
        """The numbers in units, 0 for a missing one."""
        unit = self.unit
        return tuple(0 if number is None else int(number / unit) for number in self.numbers)

    @cached_property
    def vector(self) -> NDArray[np.int64]:
        """The same as an array, int64[values]."""
        return np.array(self.whole, dtype=np.int64)

    @cached_property
    def ones(self) -> NDArray[np.int64]:
        """1 for each number, 0 for a missing one, int64[values]."""
        return np.array([number is not None for number in self.numbers], dtype=np.int64)

    @cached_property
    def span(self) -> int:
        """How many units of `from_zero` the bounds are apart, at least one."""
        return max(1, *self.from_zero.whole)

    @cached_property
    def below(self) -> NDArray[np.int64]:
        """How many of these units each number is below the upper bound, int64[values], 0 for a missing one; those
        above the lower one are `from_zero.vector`."""
        return self.ones * self.span - self.from_zero.vector

    def change(self, replaced: bool, groups: int) -> int:
        """By how many units all sums of the groups together change at most for one row, which is in one group if any.

        Added or removed: its own value. Replaced, by another row of a group, of another one, or of none: of one group
        the difference of two values, or a value; of several groups two values.
        """
        whole = self.whole
        if not replaced:
            return max(map(abs, whole))
        if groups > 1:
            return 2 * max(map(abs, whole))
        return max(*whole, 0) - min(*whole, 0)


def decimal(text: str) -> Fraction | None:
    """Return a decimal number as it is written, None if it is none."""
    return Fraction(text) if _NUMBER.fullmatch(text) else None


@lru_cache(MOST_KEPT)
def read(column: str, categories: tuple[str, ...], what: str, key: str = "column") -> Values:
    """Return the numbers of a column's categories. `InputError`, of a setting: `what` needs bounds if one is no
    number."""
    values = Values(tuple(map(decimal, categories)))
    for category, number in zip(categories, values.numbers, strict=True):
        if number is None and category != MISSING:
            raise InputError(
                f"{key}: {what} needs bounds, which are public: the values that the schema gives {quoted(column)} must "
                f"be numbers, and {quoted(category)} is none"
            )
    if not values.present:
        raise InputError(f"{key}: {what} needs bounds: the schema gives {quoted(column)} no number")
    if max(map(abs, (*values.whole, *values.from_zero.whole))) > MAX_UNITS:
        raise InputError(
            f"{key}: the values of {quoted(column)} are too many units of {float(values.unit):g}: round them"
        )
    return values
