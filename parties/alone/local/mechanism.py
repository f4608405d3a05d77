"""Base class of local mechanisms: randomised reports, estimates from reports, and the epsilon of a report.

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
from parties.base.declared import Declared
from parties.base.plugins import Family
from parties.base.settings import Finite
from protocols.arrays import Floats
from smc.errors import InputError

Reports = NDArray[np.uint8]
LARGEST_EPSILON = 15.0  # beyond, coins of 32 bits are too coarse, and a report is hardly private anyway


def _apart(values: tuple[str, ...]) -> tuple[str, ...]:
    if not 2 <= len(values) <= 1 << 16 or len(set(values)) < len(values):
        raise ValueError("must be two or more, and none twice")
    return values


# Fields shared by several mechanisms, with their names in the plan.
Names: TypeAlias = Annotated[
    tuple[str, ...], AfterValidator(_apart), Field(alias="values", description="the categories, two or more")
]
Requested: TypeAlias = Annotated[
    Finite, Field(alias="epsilon", gt=0, le=LARGEST_EPSILON, description="the epsilon of a report")
]
Low: TypeAlias = Annotated[Finite, Field(description="the least number")]
High: TypeAlias = Annotated[Finite, Field(description="the greatest number")]
Size: TypeAlias = Annotated[int, Field(strict=True, ge=2, le=1 << 16)]


def check_bounds(low: float, high: float) -> None:
    """Raise InputError unless the lower bound of numbers is below the upper one.

    Args:
        low: Lower bound of the numbers.
        high: Upper bound of the numbers.
    """
    if not low < high:
        raise InputError(f"low must be below high, not {low:g} and {high:g}")


@dataclass(frozen=True)
class Estimates:
    """Unbiased estimates from reports: a share (or a mean) for each name, and its standard deviation."""

    names: tuple[str, ...]
    values: Floats
    deviations: Floats

    def intervals(self, deviations: float = 1.959964) -> Floats:
        """Lower and upper ends of each estimate, float64[names, 2]; by default, of 95% confidence."""
        return self.values[:, None] + self.deviations[:, None] * np.array([-deviations, deviations])


class Mechanism(Declared, ABC):
    """A mechanism that randomises the answers to one question, for all rows at once.

    Its fields are the settings of a plan. With the setting `memoise`, a device keeps coins of earlier answers: only
    then `lasting` holds. A mechanism of categories has their `names`.

    Attributes:
        epsilon: local differential privacy of one report, for the exact probabilities of the coins
        lasting: epsilon of all reports that a person sends on one unchanged value, with memoised coins
        about: kind of the values
        unit: kind of the estimates
    """

    about: ClassVar[Literal["categories", "numbers", "texts"]]  # kind of the values
    unit: ClassVar[Literal["share", "mean"]] = "share"  # kind of the estimates

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Epsilon of one report."""

    @property
    def lasting(self) -> float:
        """Epsilon of all reports on one value; equal to `epsilon` if the memoised answer itself is sent each time."""
        return self.epsilon

    @property
    def delta(self) -> float:
        """Delta of `epsilon` and of `lasting`; 0 except for Gaussian noise."""
        return 0.0

    @property
    def variance(self) -> float:
        """Variance of an estimate from one report, n times that from n reports; NaN: unknown.

        The estimate is the share of a value that nobody holds, or a mean at its worst.
        """
        return math.nan

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of bytes of a report."""

    @abstractmethod
    def report(self, values: NDArray[np.int64] | Floats | Sequence[str], coins: Coins) -> Reports:
        """Return a report of each row, uint8[rows, width].

        Args:
            values: categories int64[rows], numbers float64[rows] (beyond [low, high] the nearer bound counts), or texts
            coins: coins of the rows' persons
        """

    @abstractmethod
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Return the counts that `estimate` needs; counts of several files or collectors add up."""

    @abstractmethod
    def count(self, tally: NDArray[np.int64]) -> int:
        """Return the number of reports in a tally."""

    def possible(self, tally: NDArray[np.int64]) -> bool:
        """Return whether reports can have this tally, whose counts are at least 0."""
        return True

    @abstractmethod
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return the estimated share of each name, or the mean of numbers, from a tally.

        Args:
            tally: sum of the tallies
            candidates: texts to estimate; unused for categories and numbers
        """


MECHANISMS: Family[Mechanism] = Family(
    Mechanism,  # type: ignore[type-abstract]
    "local mechanism",
    __package__,
    "smc.local-mechanisms",
)
