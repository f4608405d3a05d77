"""The mean of numbers by the piecewise mechanism, on a public grid: what is said lies in a window about one's number.

The bounds are cut into n equal steps, and a number is rounded to one of the n + 1 points at random, so that its mean
stays. Of point i a device says one of the n + W places 0, ..., n + W - 1: one of the window i, ..., i + W - 1 with
weight a each, one of the others with weight b each, a <= e^eps b. The window moves with i and its weights with it, so
what is said grows by (window's weights - W b) / 2^32 a step in expectation, exactly, and the mean of many is a line in
the mean of i. W = n e^(-eps / 2), rounded: on ever finer grids that is the piecewise mechanism of N. Wang and others
(ICDE 2019). Its greatest variance is below that of one bit (`mean`: Duchi's) from an epsilon of 1.29 on, and below
that of Laplace noise always.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.alone.local.coins import ONE, Coins, falls
from parties.alone.local.mechanism import Estimates, High, Low, Reports, Requested, check_bounds
from parties.alone.local.outcomes import OneOutcome
from parties.alone.local.packing import to_bytes


@dataclass(frozen=True)
class PiecewiseMean(OneOutcome):
    """The mean of numbers between public bounds, from places on a grid of `steps`."""

    low: Low
    high: High
    requested_epsilon: Requested
    steps: Annotated[int, Field(strict=True, ge=2, le=1 << 12, description="equal steps from low to high")] = 256
    name: ClassVar[str] = "piecewise"
    about: ClassVar[Literal["numbers"]] = "numbers"
    unit: ClassVar[Literal["mean"]] = "mean"

    @override
    def check(self) -> None:
        check_bounds(self.low, self.high)

    @cached_property
    def window(self) -> int:
        """W."""
        return max(1, round(self.steps * math.exp(-self.requested_epsilon / 2)))

    @property
    @override
    def outcomes(self) -> int:
        return self.steps + self.window

    @cached_property
    def _outside(self) -> int:
        """b, rounded towards privacy."""
        return math.ceil(ONE / (self.window * math.exp(self.requested_epsilon) + self.steps))

    @cached_property
    def _inside(self) -> NDArray[np.int64]:
        """The weights in the window, int64[W]: what is left, evenly; the first ones may have 1 more."""
        weight, rest = divmod(ONE - self.steps * self._outside, self.window)
        return weight + (np.arange(self.window) < rest)

    @property
    def epsilon(self) -> float:
        """Of one report."""
        return math.log(int(self._inside[0]) / self._outside)

    @property
    def width(self) -> int:
        """Bytes of a report: the place."""
        return -(-(self.outcomes - 1).bit_length() // 8)

    def report(self, values: Any, coins: Coins) -> Reports:
        """Report numbers, float64[rows]."""
        share = np.clip((values - self.low) / (self.high - self.low), 0, 1) * self.steps
        whole = np.minimum(np.floor(share), self.steps - 1)
        up = falls(coins.lasting("point", None, 1)[:, 0], np.round((share - whole) * ONE).astype(np.uint64))
        points = whole.astype(np.int64) + up
        word = coins.lasting("place", points.astype(np.uint64), 1)[:, 0].astype(np.int64)
        inside = int(self._inside.sum())
        within = np.searchsorted(np.cumsum(self._inside), word, side="right")  # W and more: it is none of the window
        other = (word - inside) // self._outside
        other += np.where(other >= points, self.window, 0)  # the places before the window, then those after it
        return to_bytes(np.where(word < inside, points + within, other), self.width)

    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return the mean; its deviation is that of the places that were said."""
        del candidates
        total, places = int(tally.sum()), np.arange(self.outcomes)
        slope = (int(self._inside.sum()) - self.window * self._outside) / ONE
        weights = np.full(self.outcomes, self._outside)
        weights[: self.window] = self._inside  # of the lower bound
        start = int((weights * places).sum()) / ONE
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.float64((tally * places).sum()) / total
            spread = np.sqrt(((tally * (places - mean) ** 2).sum() / total) / total)
        step = (self.high - self.low) / self.steps
        return Estimates(
            ("mean",), np.array([self.low + (mean - start) / slope * step]), np.array([spread / slope * step])
        )
