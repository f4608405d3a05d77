"""Numbers on a public grid: a device reports a random position near its number, and positions give the mean number.

The range is divided into n equal steps. A number is rounded at random to one of the n + 1 points next to it, so that
its expectation stays the same. The expected report of point i is linear in i, so the mean report is linear in the mean
point.
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
from protocols.arrays import Floats


@dataclass(frozen=True)
class GridMean(OneOutcome):
    """Estimator of the mean of numbers between public bounds, from positions on a grid of `steps`."""

    low: Low
    high: High
    requested_epsilon: Requested
    steps: Annotated[int, Field(strict=True, ge=2, le=1 << 12, description="equal steps from low to high")] = 256
    about: ClassVar[Literal["numbers"]] = "numbers"
    unit: ClassVar[Literal["mean"]] = "mean"

    @property
    @abstractmethod
    def chances(self) -> Floats:
        """Probability of each reported position for the lower bound, float64[outcomes]."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """Growth of the expected reported position from one point to the next."""

    @override
    def check(self) -> None:
        check_bounds(self.low, self.high)

    @property
    def width(self) -> int:
        """Bytes of a report: the position."""
        return -(-(self.outcomes - 1).bit_length() // 8)

    def points(self, values: Any, coins: Coins) -> NDArray[np.int64]:
        """Round numbers, float64[rows], to points of the grid, int64[rows], at random.

        Args:
            values: True numbers, float64[rows]; beyond [low, high] the nearer bound counts.
            coins: Coins of the persons.

        Returns:
            Index of a grid point for each number, int64[rows]; the expected value of this point is the number.
        """
        share = np.clip((values - self.low) / (self.high - self.low), 0, 1) * self.steps
        whole = np.minimum(np.floor(share), self.steps - 1)
        up = falls(coins.lasting("point", None, 1)[:, 0], np.round((share - whole) * ONE).astype(np.uint64))
        return whole.astype(np.int64) + up

    @property
    @override
    def variance(self) -> float:
        """Variance at a bound, which no other point exceeds, plus that of rounding at its worst."""
        places = np.arange(self.outcomes)
        spread = float(self.chances @ (places - self.chances @ places) ** 2) / self.slope**2
        return (spread + 1 / 4) * ((self.high - self.low) / self.steps) ** 2

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return the estimated mean and its standard deviation; `tally` counts the reports of each position."""
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
