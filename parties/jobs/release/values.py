"""Values of a column as numbers: its categories, read as decimal numbers. So their bounds are public.

Computations use whole multiples of one unit: the largest unit that makes every value whole. A missing value, `?`, is no
number: a row with it is not counted.
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
MAX_UNITS = 1 << 40  # largest value, in units
MOST_KEPT = 16  # cached columns; a node keeps all tasks, and 10,000 numbers take megabytes


@dataclass(frozen=True)
class Values:
    """Numbers of a column's categories, in their order; None for a missing value."""

    numbers: tuple[Fraction | None, ...]

    @cached_property
    def present(self) -> tuple[Fraction, ...]:
        """Numbers of the categories that are not missing; at least one."""
        return tuple(number for number in self.numbers if number is not None)

    @cached_property
    def least(self) -> Fraction:
        """Least number of a value."""
        return min(self.present)

    @cached_property
    def greatest(self) -> Fraction:
        """Greatest number of a value."""
        return max(self.present)

    @cached_property
    def middle(self) -> Fraction:
        """Midpoint of the bounds."""
        return (self.least + self.greatest) / 2

    def moved(self, by: Fraction) -> Values:
        """Return the values with `by` subtracted from each number."""
        return Values(tuple(None if number is None else number - by for number in self.numbers))

    @cached_property
    def unit(self) -> Fraction:
        """Largest number of which all are whole multiples; 1 if all are 0."""
        nonzero = [number for number in self.present if number]
        if not nonzero:
            return Fraction(1)
        denominator = math.lcm(*(number.denominator for number in nonzero))
        return Fraction(math.gcd(*(int(number * denominator) for number in nonzero)), denominator)

    @cached_property
    def ordered(self) -> tuple[tuple[Fraction, int], ...]:
        """Numbers in ascending order, each with the index of its category."""
        return tuple(sorted((number, index) for index, number in enumerate(self.numbers) if number is not None))

    @cached_property
    def from_zero(self) -> Values:
        """The values with the lower bound subtracted from each number."""
        return self.moved(self.least)

    @cached_property
    def whole(self) -> tuple[int, ...]:
        """Numbers in units; 0 for a missing one."""
        unit = self.unit
        return tuple(0 if number is None else int(number / unit) for number in self.numbers)

    @cached_property
    def vector(self) -> NDArray[np.int64]:
        """Numbers in units, int64[values]; 0 for a missing one."""
        return np.array(self.whole, dtype=np.int64)

    @cached_property
    def ones(self) -> NDArray[np.int64]:
        """1 for each number, 0 for a missing one, int64[values]."""
        return np.array([number is not None for number in self.numbers], dtype=np.int64)

    @cached_property
    def span(self) -> int:
        """Distance of the bounds in units of `from_zero`, at least 1."""
        return max(1, *self.from_zero.whole)

    @cached_property
    def below(self) -> NDArray[np.int64]:
        """Distance of each number below the upper bound in units of `from_zero`, int64[values]; 0 for a missing one.

        The distances above the lower bound are `from_zero.vector`.
        """
        return self.ones * self.span - self.from_zero.vector

    def change(self, replaced: bool, groups: int) -> int:
        """Return the sensitivity: the largest change of all groups' sums together by one row, in multiples of
        `unit`.

        A row is in one group at most; a row in no group counts as 0. Adding or removing a row changes one sum by its
        value. Replacing a row changes one sum by the difference of two values, or two groups' sums by one value each.

        Args:
            replaced: Whether neighbouring tables may differ by a replaced row.
            groups: Number of groups.
        """
        whole = self.whole
        if not replaced:
            return max(map(abs, whole))
        if groups > 1:
            return 2 * max(map(abs, whole))
        return max(*whole, 0) - min(*whole, 0)


def decimal(text: str) -> Fraction | None:
    """Return the number in a decimal text, exactly; None for any other text."""
    return Fraction(text) if _NUMBER.fullmatch(text) else None


@lru_cache(MOST_KEPT)
def read(column: str, categories: tuple[str, ...], what: str, key: str = "column") -> Values:
    """Return the numbers that the categories of a column spell.

    Args:
        column: Name of the column.
        categories: Categories of the schema.
        what: The thing that needs bounds, for the message.
        key: Name of the setting, for the message.

    Raises:
        InputError: A category is not a number, all are missing, or the numbers need too fine a unit.
    """
    values = Values(tuple(map(decimal, categories)))
    for category, number in zip(categories, values.numbers, strict=True):
        if number is None and category != MISSING:
            raise InputError(
                f"{key}: {what} needs bounds, which are public: the values that the schema gives {quoted(column)} "
                f"must be numbers, but {quoted(category)} is not; choose another column"
            )
    if not values.present:
        raise InputError(
            f"{key}: {what} needs bounds: the schema lists no number for {quoted(column)}; list numbers "
            f"there, or choose another column"
        )
    if max(map(abs, (*values.whole, *values.from_zero.whole))) > MAX_UNITS:
        raise InputError(
            f"{key}: the values of {quoted(column)} have too many digits for exact sums in steps of "
            f"{float(values.unit):g}; round them in the schema"
        )
    return values
