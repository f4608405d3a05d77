"""What a way of answering is: how a value becomes a report, how reports become estimates, and what it gives away.

A mechanism is one class, in a file of this folder or of another package (entry point `smc.local-mechanisms`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from parties.alone.local.coins import Coins
from parties.base.arrays import Floats
from parties.base.declared import Declared
from parties.base.plugins import Family
from parties.base.settings import Finite
from smc.errors import InputError

Reports = NDArray[np.uint8]
LARGEST_EPSILON = 15.0  # beyond, the coins of 32 bits are too coarse, and nothing is private anyway


def _apart(values: tuple[str, ...]) -> tuple[str, ...]:
    if not 2 <= len(values) <= 1 << 16 or len(set(values)) < len(values):
        raise ValueError("must be two or more, and none twice")
    return values


# Fields that several mechanisms have, as the plan calls them.
Names: TypeAlias = Annotated[
    tuple[str, ...], AfterValidator(_apart), Field(alias="values", description="the categories, two or more")
]
Requested: TypeAlias = Annotated[
    Finite, Field(alias="epsilon", gt=0, le=LARGEST_EPSILON, description="the privacy of a report")
]
Low: TypeAlias = Annotated[Finite, Field(description="the least number")]
High: TypeAlias = Annotated[Finite, Field(description="the greatest number")]
Size: TypeAlias = Annotated[int, Field(strict=True, ge=2, le=1 << 16)]


def check_bounds(low: float, high: float) -> None:
    """Check that the bounds of numbers are such. `InputError` if not."""
    if not low < high:
        raise InputError(f"low must be below high, not {low:g} and {high:g}")


@dataclass(frozen=True)
class Estimates:
    """Estimates from reports: a share (or a mean) of each name, and its standard deviation; both unbiased."""

    names: tuple[str, ...]
    values: Floats
    deviations: Floats

    def intervals(self, deviations: float = 1.959964) -> Floats:
        """Lower and upper ends, float64[names, 2]; by default they hold the truth 95 times in 100."""
        return self.values[:, None] + self.deviations[:, None] * np.array([-deviations, deviations])


class Mechanism(Declared, ABC):
    """A way of answering one question. All rows are handled at once.

    Its fields are what a plan says of it; a field `memoise` is the plan's own, whether answers last. A mechanism about
    categories has their `names`.

    `epsilon`: the local differential privacy of one report, computed from the coins as they are tossed. `lasting`: that
    of all reports a person sends on one unchanged value, with memoised coins.
    """

    about: ClassVar[Literal["categories", "numbers", "texts"]]  # what it takes
    unit: ClassVar[Literal["share", "mean"]] = "share"  # of what it estimates

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Of one report."""

    @property
    def lasting(self) -> float:
        """Of all reports on one value; that of one report if the report is memoised as it stands."""
        return self.epsilon

    @property
    def delta(self) -> float:
        """The chance that `epsilon` does not hold, and `lasting` neither; 0 but for noise of Gauss's law."""
        return 0.0

    @property
    def variance(self) -> float:
        """Of an estimate from one report: of the share of what nobody holds, or of a mean at its worst; NaN: unknown.

        From n reports it is an n-th of that.
        """
        return math.nan

    @property
    @abstractmethod
    def width(self) -> int:
        """Bytes of a report."""

    @abstractmethod
    def report(self, values: NDArray[np.int64] | Floats | Sequence[str], coins: Coins) -> Reports:
        """Report rows: categories int64[rows], numbers float64[rows], or texts; return uint8[rows, width]."""

    @abstractmethod
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Return counts that add up over files and collectors and say all that `estimate` needs."""

    @abstractmethod
    def count(self, tally: NDArray[np.int64]) -> int:
        """Count the reports of a tally."""

    def possible(self, tally: NDArray[np.int64]) -> bool:
        """Return whether any reports have this tally, whose numbers are none below 0."""
        return True

    @abstractmethod
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return shares of categories or candidates, or the mean, from added-up tallies."""


MECHANISMS: Family[Mechanism] = Family(
    Mechanism,  # type: ignore[type-abstract]
    "local mechanism",
    __package__,
    "smc.local-mechanisms",
)
