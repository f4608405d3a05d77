"""Questions whose answer is numbers that add up: counts and sums, each opened with noise of a public law."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import State
from parties.jobs.release.kind import Numbers, Release
from parties.jobs.release.noise import Noise
from parties.jobs.spending import Loss
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


@dataclass(frozen=True)
class Part:
    """Some of a question's numbers: how many, the bound on a party's own, and their noise, None if they are exact."""

    numbers: int
    bound: int  # of the absolute value of an own number; of several units a row, for sums
    signed: bool
    noise: Noise | None

    @property
    def width(self) -> int:
        """Bits of an own number, its sign included."""
        return max(1, self.bound.bit_length() + self.signed)

    def check(self) -> None:
        """`InputError` if a sum, or its noise, could be too large to be opened."""
        from protocols.release.numbers import MOST_BITS, sum_width

        width = self.width + 1 if self.noise is None else sum_width(self.width, self.noise.law(self.numbers))
        if width > MOST_BITS:
            raise InputError(f"a sum could take {width} bits, at most {MOST_BITS} are opened: lower max_rows")

    def opened(self, engine: Engine, own: Numbers) -> list[int]:
        """Return the protocol: the sums of both parties' own numbers, opened with their noise."""
        from protocols.release.exact import exact_sums
        from protocols.release.numbers import noisy_sums

        if self.noise is None:
            return exact_sums(engine, own, self.width, self.signed).tolist()
        return noisy_sums(engine, own, self.width, self.noise.law(self.numbers), self.signed).tolist()


class Sums(Release):
    """A question whose answer is numbers that add up."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The numbers, in the order in which they are opened."""

    @property
    @override
    def own_count(self) -> int:
        return sum(part.numbers for part in self.parts)

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        return tuple(part.noise.loss for part in self.parts if part.noise is not None)

    @override
    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        return {"exact number" if self.exact else "number with noise": 0 if state is None else len(state)}

    def check_sizes(self) -> None:
        """`InputError` if a sum, or its noise, could be too large to be opened."""
        for part in self.parts:
            part.check()

    @override
    def answer(self, engine: Engine, own: Numbers) -> list[int]:
        ends = [0, *accumulate(part.numbers for part in self.parts)]
        places = zip(self.parts, pairwise(ends), strict=True)
        return [number for part, (start, end) in places for number in part.opened(engine, own[start:end])]

    @property
    @override
    def noise_fields(self) -> dict[str, Any]:
        """See `Release.noise_fields`: of the first part, in the units of its numbers."""
        noise = self.parts[0].noise
        return {} if noise is None else noise.fields(self.unit)

    @property
    def unit(self) -> Fraction:
        """What one of the first part's numbers is worth."""
        return Fraction(1)


def number(
    opened: int, reach: int | None, least: Fraction, greatest: Fraction, unit: Fraction = Fraction(1)
) -> dict[str, Any]:
    """Return a number for a result: as opened, within its bounds, and the interval; nothing but it if it is exact."""
    if reach is None:
        return {"value": plain(opened * unit)}
    low, value, high = (min(max(x * unit, least), greatest) for x in (opened - reach, opened, opened + reach))
    return {"value": plain(value), "noisy": plain(opened * unit), "low": plain(low), "high": plain(high)}


def plain(value: Fraction) -> int | float:
    """Return a fraction as a number of JSON."""
    return int(value) if value.denominator == 1 else float(value)


def own_vector(*tables: Any) -> Numbers:
    """Own counts of several tables one after the other, int64[numbers]."""
    return np.concatenate([np.asarray(table, dtype=np.int64).reshape(-1) for table in tables])
