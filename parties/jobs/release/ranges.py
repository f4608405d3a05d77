"""Candidates of an answer that is a number of a column: each number by itself, or ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from parties.jobs.kind import exact
from parties.jobs.release.question import plain
from parties.jobs.release.settings import ReleaseSettings
from parties.jobs.release.values import read
from parties.jobs.settings import public
from protocols.arrays import Numbers
from smc.errors import InputError

MOST_COMPARED = 4096  # candidates; a circuit compares them
MOST_CELLS = 1 << 16  # candidates of all groups


class RoundedSettings(ReleaseSettings):
    """Settings of a question whose answer is a number of a column."""

    round_to: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] | None = public(
        None,
        "Rounded to",
        "Width of ranges, such as 5 for ages: one range is opened, instead of a number",
        none="no rounding: the number itself",
    )


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of a column: `ends` has the lowest and highest number of each, in ascending order.

    `range_of` is the index of each value's range, int64[values]; -1 for a missing value.
    """

    ends: Sequence[tuple[Fraction, Fraction]]
    range_of: Numbers
    rounded: bool

    @classmethod
    def of(cls, column: str, values: tuple[str, ...], round_to: float | None, what: str) -> Ranges:
        """Return the ranges of a column's values; a missing value is in none. Raise InputError as `values.read`
        does.

        Args:
            column: Name of the column.
            values: Values in the schema.
            round_to: Width of the ranges; None for single numbers.
            what: The thing that needs numbers, for the message.
        """
        ordered = read(column, values, what).ordered
        step = None if round_to is None else exact(round_to)
        ends: list[tuple[Fraction, Fraction]] = []
        range_of, last = np.full(len(values), -1, dtype=np.int64), None
        for number, index in ordered:
            if (key := number if step is None else Fraction(math.floor(number / step))) != last:
                ends.append((number, number))
                last = key
            ends[-1] = (ends[-1][0], number)
            range_of[index] = len(ends) - 1
        return cls(ends, range_of, round_to is not None)

    def __len__(self) -> int:
        return len(self.ends)

    def check(self, groups: int = 1) -> None:
        """Raise InputError with a remedy if there are too many ranges for a circuit that compares them."""
        limit = max(2, min(MOST_COMPARED, MOST_CELLS // groups))
        if len(self) <= limit:
            return
        minimum_width = (self.ends[-1][1] - self.ends[0][0]) / (limit - 1)
        scale = Fraction(10) ** (math.ceil(math.log10(minimum_width)) - 1)
        suggestion = next(step * scale for step in (1, 2, 5, 10, 20) if step * scale >= minimum_width)
        of_groups = f" in each of {groups:,} groups" if groups > 1 else ""
        raise InputError(
            f"column: {len(self):,} numbers would be compared{of_groups}, at most {limit:,} are: "
            f"give round_to, {float(suggestion):g} for example"
        )

    def fields(self, index: int) -> Mapping[str, Any]:
        """Return a range in the form of a result."""
        least, greatest = self.ends[index]
        return {"value": plain(greatest)} | ({"from": plain(least), "to": plain(greatest)} if self.rounded else {})
