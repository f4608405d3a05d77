"""Noise added to a number at its device: a point of the grid, moved by a draw of a public law.

The law is of whole numbers that add up to 2^64. Of point i a device says place i + R + z with weight b + k(z), for z
from -R to R, and every other of the n + 2R + 1 places with weight b: it draws 64 bits, and says its point moved by
the law k if they are below the sum of k, else any place at all. k falls from its middle on to both sides alike, so b
+ k does: where z < d / 2, the weight of z is above that of z - d, the further the larger d is, and elsewhere it is
not. So the two points that are told apart best, by any ratio or sum of differences, are the first and the last, of
which `epsilon` and `delta` are computed. b stands for the tails of k beyond R; the last place has what a division by
the places leaves, of every point: the same added to both sides of a ratio brings it nearer to 1.

k moves with i, so what is said grows by (sum of k) / 2^64 a step in expectation, exactly.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.alone.local.coins import WORD_BITS, Coins
from parties.alone.local.grid import GridMean
from parties.alone.local.mechanism import Reports
from parties.alone.local.packing import to_bytes
from parties.base.arrays import Floats
from smc.errors import InputError

WHOLE = 1 << (2 * WORD_BITS)  # the weights of all places
TAIL_BITS = 40  # the law ends where it is below 2^-40 of its middle
SPARE = 1 - 2.0**-36  # of the weights is what rounding up may take
MOST_PLACES = 1 << 16

Weights = NDArray[np.uint64]


def kernel(half: Weights, steps: int) -> tuple[Weights, int]:
    """Return k, uint64[2R + 1], and b, of a law of which `half` has the weights of 0, ..., R, R + 1, falling."""
    above = half[:-1] - half[-1]
    both = np.concatenate([above[:0:-1], above])
    return both, (WHOLE - int(both.sum())) // (steps + len(both))


def spread_out(law: tuple[Weights, int], steps: int) -> Weights:
    """Return the weight of each place for the first point, uint64[steps + 2R + 1], but for the last's rest."""
    moved, anywhere = law
    weights = np.full(steps + len(moved), anywhere, dtype=np.uint64)
    weights[: len(moved)] += moved
    return weights


def scaled(shape: Floats, steps: int) -> float:
    """Return the factor that makes a law, of which `shape` has 0, ..., R, R + 1, one of weights."""
    return WHOLE * SPARE / (2 * float(shape[:-1].sum()) - float(shape[0]) + steps * float(shape[-1]))


@dataclass(frozen=True)
class NoisyMean(GridMean):
    """The mean of numbers between public bounds, each with noise, on a grid of `steps`."""

    steps: Annotated[int, Field(strict=True, ge=2, le=1 << 12, description="equal steps from low to high")] = field(
        default=64
    )

    @property
    @abstractmethod
    def reach(self) -> int:
        """R."""

    @cached_property
    @abstractmethod
    def law(self) -> tuple[Weights, int]:
        """k, uint64[2R + 1], and b."""

    @override
    def check(self) -> None:
        super().check()
        if self.outcomes > MOST_PLACES:
            raise InputError(
                f"{self.steps} steps at this epsilon take {self.outcomes:,} places, at most {MOST_PLACES:,} are told "
                "apart: choose fewer steps"
            )

    @property
    @override
    def outcomes(self) -> int:
        return self.steps + 2 * self.reach + 1

    @cached_property
    def weights(self) -> Weights:
        """The weights of all places for the lower bound, uint64[outcomes], but for what the last one has besides; those
        for the upper bound are these backwards."""
        return spread_out(self.law, self.steps)

    @cached_property
    @override
    def chances(self) -> Floats:
        chances = self.weights / WHOLE
        chances[-1] += 1 - chances.sum()
        return chances

    @property
    @override
    def slope(self) -> float:
        return int(self.law[0].sum()) / WHOLE

    def report(self, values: Any, coins: Coins) -> Reports:
        """Report numbers, float64[rows]."""
        points = self.points(values, coins)
        words = coins.lasting("noise", points.astype(np.uint64), 2).astype(np.uint64)
        drawn = words[:, 0] << np.uint64(WORD_BITS) | words[:, 1]
        moved, anywhere = self.law
        ends = np.cumsum(moved)
        near = points + np.searchsorted(ends[:-1], drawn, side="right")
        above = np.where(drawn < ends[-1], 0, drawn - ends[-1])
        place = np.minimum(above // np.uint64(anywhere), np.uint64(self.outcomes - 1)).astype(np.int64)
        return to_bytes(np.where(drawn < ends[-1], near, place), self.width)
