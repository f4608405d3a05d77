"""Noise added to a number on its device: a point of the grid, moved by a draw from a public law.

The law consists of integer weights that add up to 2^64. For point i, a device reports position i + R + z with weight b
+ k(z), for z from -R to R, and each other of the n + 2R + 1 positions with weight b. It draws 64 bits: below the sum of
k, the point is moved by the law k, else any position is reported.

k falls from its middle to both sides, symmetrically, and so does b + k. Where z < d / 2, the weight of z is above that
of z - d, and their ratio and difference grow with d; elsewhere the weight of z is not above it. So the first and the
last point are the two that a report separates best, by any ratio or sum of differences. `epsilon` and `delta` are
computed from these two points.

b stands for the tails of k beyond R. For every point, the last position also has the remainder of the division by the
number of positions. Equal addends on both sides of a ratio bring it nearer to 1.

k moves with i, so the expected report grows by exactly (sum of k) / 2^64 a step.
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
from protocols.arrays import Floats
from smc.errors import InputError

WHOLE = 1 << (2 * WORD_BITS)  # sum of the weights of all positions
TAIL_BITS = 40  # the law is truncated where it is below 2^-40 of its middle
SPARE = 1 - 2.0**-36  # the rest of the weights is a reserve for rounding up
MOST_PLACES = 1 << 16

Weights = NDArray[np.uint64]


def kernel(half: Weights, steps: int) -> tuple[Weights, int]:
    """Return a law: its weights k, uint64[2R + 1], and the weight b added to every position (see the module).

    Args:
        half: falling weights of 0, ..., R, R + 1, uint64[R + 2]
        steps: steps of the grid
    """
    above = half[:-1] - half[-1]
    both = np.concatenate([above[:0:-1], above])
    return both, (WHOLE - int(both.sum())) // (steps + len(both))


def spread_out(law: tuple[Weights, int], steps: int) -> Weights:
    """Return the weights of all positions for the first point, uint64[steps + 2R + 1].

    The last position's remainder (see the module) is left out.

    Args:
        law: weights k and number b of the noise
        steps: steps of the grid
    """
    moved, anywhere = law
    weights = np.full(steps + len(moved), anywhere, dtype=np.uint64)
    weights[: len(moved)] += moved
    return weights


def scaled(shape: Floats, steps: int) -> float:
    """Return the factor by which a law becomes weights whose sum is just below 2^64.

    Args:
        shape: unscaled law at 0, ..., R, R + 1, float64[R + 2]
        steps: steps of the grid
    """
    return WHOLE * SPARE / (2 * float(shape[:-1].sum()) - float(shape[0]) + steps * float(shape[-1]))


@dataclass(frozen=True)
class NoisyMean(GridMean):
    """Base of estimators of a mean of numbers between public bounds, with noise on a grid of `steps`."""

    steps: Annotated[int, Field(strict=True, ge=2, le=1 << 12, description="equal steps from low to high")] = field(
        default=64
    )

    @property
    @abstractmethod
    def reach(self) -> int:
        """Greatest distance R, in grid steps, by which the noise moves a point."""

    @cached_property
    @abstractmethod
    def law(self) -> tuple[Weights, int]:
        """Weights k, uint64[2R + 1], and b of the noise (see the module)."""

    @override
    def check(self) -> None:
        super().check()
        if self.outcomes > MOST_PLACES:
            raise InputError(
                f"{self.steps} steps at this epsilon take {self.outcomes:,} positions, and at most {MOST_PLACES:,} are "
                "allowed: choose fewer steps"
            )

    @property
    @override
    def outcomes(self) -> int:
        return self.steps + 2 * self.reach + 1

    @cached_property
    def weights(self) -> Weights:
        """Weights of all positions for the lower bound, uint64[outcomes], without the last position's remainder.

        Those for the upper bound are the same in reverse order.
        """
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

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        points = self.points(values, coins)
        words = coins.lasting("noise", points.astype(np.uint64), 2).astype(np.uint64)
        drawn = words[:, 0] << np.uint64(WORD_BITS) | words[:, 1]
        moved, anywhere = self.law
        ends = np.cumsum(moved)
        near = points + np.searchsorted(ends[:-1], drawn, side="right")
        above = np.where(drawn < ends[-1], 0, drawn - ends[-1])
        anywhere_drawn = np.minimum(above // np.uint64(anywhere), np.uint64(self.outcomes - 1)).astype(np.int64)
        return to_bytes(np.where(drawn < ends[-1], near, anywhere_drawn), self.width)
