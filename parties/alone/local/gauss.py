"""The mean of numbers with discrete Gaussian noise on a public grid: (epsilon, delta).

    P(z) ~ e^(-z^2 / (2 sigma^2)), z in steps

The law is truncated where it is below 2^-40 of its middle; the rest of its tails is spread evenly over all grid
positions (see `noise`). The delta of a sigma is computed, not bounded: the weights are integers, and the result is
rounded up. Delta is the sum over positions of the excess of the first point's weight over e^eps times the last point's.
sigma is the least multiple of n / 2^16 whose delta is at most the delta asked for. On finer and finer grids, it
approaches the sigma of the analytic Gaussian mechanism (Balle, Wang, ICML 2018). Discrete law: Canonne, Kamath,
Steinke, NeurIPS 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.alone.local.noise import MOST_PLACES, TAIL_BITS, WHOLE, NoisyMean, Weights, kernel, scaled, spread_out
from parties.base.settings import Finite

PARTS = 1 << 16  # sigma is a multiple of 1/65536 of the range


@dataclass(frozen=True)
class GaussMean(NoisyMean):
    """Estimator of the mean of numbers between public bounds, from discrete Gaussian noise on a grid of `steps`."""

    requested_delta: Annotated[Finite, Field(alias="delta", ge=1e-12, le=0.01, description="the delta of a report")] = (
        field(kw_only=True)
    )
    name: ClassVar[str] = "gauss"

    @cached_property
    def parts(self) -> int:
        """Standard deviation of the noise in units of the range divided by `PARTS`."""
        return least_parts(self.steps, self.requested_epsilon, self.requested_delta)

    @property
    @override
    def reach(self) -> int:
        return reach_of(self.steps, self.parts)

    @cached_property
    @override
    def law(self) -> tuple[Weights, int]:
        return law_of(self.steps, self.parts)

    @property
    def epsilon(self) -> float:
        """Epsilon of one report, which holds together with `delta`."""
        return self.requested_epsilon

    @cached_property
    @override
    def delta(self) -> float:
        return delta_of(self.weights, self.requested_epsilon)


def reach_of(steps: int, parts: int) -> int:
    """Return R, the distance in steps beyond which the Gaussian law is below 2^-40 of its middle.

    Args:
        steps: steps of the grid
        parts: sigma, in units of the range divided by `PARTS`
    """
    return math.ceil(math.sqrt(2 * TAIL_BITS * math.log(2)) * steps * parts / PARTS)


def law_of(steps: int, parts: int) -> tuple[Weights, int]:
    """Return a discrete Gaussian law: its weights k, uint64[2R + 1], and the weight b added to every position (see
    `noise`).

    Args:
        steps: steps of the grid
        parts: sigma, in units of the range divided by `PARTS`
    """
    shape = np.exp(-((np.arange(reach_of(steps, parts) + 2) * PARTS / (steps * parts)) ** 2) / 2)
    return kernel(np.ceil(scaled(shape, steps) * shape).astype(np.uint64), steps)


def delta_of(weights: Weights, epsilon: float) -> float:
    """Return the delta at which a noise distribution keeps epsilon, rounded up.

    Args:
        weights: weight of each position for the first point, uint64[outcomes]
        epsilon: the epsilon
    """
    grown = int(Fraction(math.exp(epsilon) * (1 - 2.0**-44)) * WHOLE)  # below the exact e^eps
    first = weights.tolist()
    more = sum(max(0, one_weight * WHOLE - other * grown) for one_weight, other in zip(first, first[::-1], strict=True))
    return math.nextafter(more / WHOLE**2, 1) if more else 0.0


@lru_cache(maxsize=64)
def least_parts(steps: int, epsilon: float, delta: float) -> int:
    """Return the least sigma whose delta is at most `delta`, in units of the range divided by `PARTS`.

    If a report has too many outcomes with that sigma, return a greater sigma, which `check` rejects as well.

    Args:
        steps: steps of the grid
        epsilon: epsilon of a report
        delta: greatest delta of a report
    """

    def approximate_delta(parts: int) -> float:
        first = spread_out(law_of(steps, parts), steps).astype(np.float64)
        return float(np.maximum(first - math.exp(epsilon) * first[::-1], 0).sum()) / WHOLE

    enough = 1 << 10
    while approximate_delta(enough) > delta:
        enough *= 2
        if steps + 2 * reach_of(steps, enough) > 2 * MOST_PLACES:
            return enough  # `check` rejects it
    least = enough // 2 if enough > 1 << 10 else 0
    while enough - least > 1:
        middle = (least + enough) // 2
        least, enough = (middle, enough) if approximate_delta(middle) > delta else (least, middle)
    while delta_of(spread_out(law_of(steps, enough), steps), epsilon) > delta:
        enough += 1
    return enough
