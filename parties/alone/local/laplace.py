"""The mean of numbers with discrete Laplace noise on a public grid.

    P(z) ~ e^(-eps |z| / n), z in steps, n of them from the lowest number to the highest: sensitivity n, scale n / eps

The law is truncated where it is below 2^-40 of its middle; the rest of its tails is spread evenly over all grid
positions (see `noise`). Weights are computed from the middle on: each is the previous one times e^(-eps / n), rounded
up. So no weight exceeds e^eps times the weight n steps away, exactly. Sources: Dwork, McSherry, Nissim, Smith 2006;
Ghosh, Roughgarden, Sundararajan 2009 (the discrete law).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from typing_extensions import override

from parties.alone.local.noise import TAIL_BITS, WHOLE, NoisyMean, Weights, kernel, scaled


@dataclass(frozen=True)
class LaplaceMean(NoisyMean):
    """Estimator of the mean of numbers between public bounds, from discrete Laplace noise on a grid of `steps`."""

    name: ClassVar[str] = "laplace"

    @property
    @override
    def reach(self) -> int:
        return math.ceil(TAIL_BITS * math.log(2) * self.steps / self.requested_epsilon)

    @cached_property
    @override
    def law(self) -> tuple[Weights, int]:
        ratio = math.exp(-self.requested_epsilon / self.steps)
        factor = math.ceil(ratio * (1 + 2.0**-48) * WHOLE)  # above the exact ratio, whatever its rounding error
        half = [int(scaled(np.power(ratio, np.arange(self.reach + 2), dtype=np.float64), self.steps))]
        for _ in range(self.reach + 1):
            half.append(-(-half[-1] * factor // WHOLE))
        return kernel(np.array(half, dtype=np.uint64), self.steps)

    @property
    @override
    def epsilon(self) -> float:
        return float(np.log(self.weights / self.weights[::-1]).max())
