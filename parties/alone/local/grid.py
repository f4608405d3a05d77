"""Numbers on a public grid: a device says a place near its own, and the mean of the places tells that of the numbers.

The bounds are cut into n equal steps, and a number is rounded to one of the n + 1 points at random, so that its mean
stays. What is said of point i has a mean that is a line in i, so the mean of many is a line in the mean of their
points.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.alone.local.coins import ONE, Coins, falls
from parties.alone.local.mechanism import Estimates, High, Low, Requested, check_bounds
from parties.alone.local.outcomes import OneOutcome
from parties.base.arrays import Floats


@dataclass(frozen=True)
class GridMean(OneOutcome):
    """The mean of numbers between public bounds, from places on a grid of `steps`."""

    low: Low
    high: High
    requested_epsilon: Requested
    steps: Annotated[int, Field(strict=True, ge=2, le=1 << 12, description="equal steps from low to high")] = 256
    about: ClassVar[Literal["numbers"]] = "numbers"
    unit: ClassVar[Literal["mean"]] = "mean"

    @property
    @abstractmethod
    def chances(self) -> Floats:
        """How likely each place is of the lower bound, float64[outcomes]."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """By how many places the mean of what is said grows from a point to the next."""

    @override
    def check(self) -> None:
        check_bounds(self.low, self.high)

    @property
    def width(self) -> int:
        """Bytes of a report: the place."""
        return -(-(self.outcomes - 1).bit_length() // 8)

    def points(self, values: Any, coins: Coins) -> NDArray[np.int64]:
        """Round numbers, float64[rows], to points of the grid, int64[rows]."""
        share = np.clip((values - self.low) / (self.high - self.low), 0, 1) * self.steps
        whole = np.minimum(np.floor(share), self.steps - 1)
        up = falls(coins.lasting("point", None, 1)[:, 0], np.round((share - whole) * ONE).astype(np.uint64))
        return whole.astype(np.int64) + up

    @property
    @override
    def variance(self) -> float:
        """See `Mechanism.variance`: that of a bound, which no other point exceeds, and of rounding at its worst."""
        places = np.arange(self.outcomes)
        spread = float(self.chances @ (places - self.chances @ places) ** 2) / self.slope**2
        return (spread + 1 / 4) * ((self.high - self.low) / self.steps) ** 2

    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return the mean; its deviation is that of the places that were said."""
        del candidates
        total, places = int(tally.sum()), np.arange(self.outcomes)
        start = float(self.chances @ places)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.float64((tally * places).sum()) / total
            spread = np.sqrt(((tally * (places - mean) ** 2).sum() / total) / total)
        step = (self.high - self.low) / self.steps
        return Estimates(
            ("mean",), np.array([self.low + (mean - start) / self.slope * step]), np.array([spread / self.slope * step])
        )
