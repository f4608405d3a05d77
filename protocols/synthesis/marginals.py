"""Marginals measured with noise, and the interface of generators that make rows from them.

All of it is public: a generator's use of measurements is post-processing and costs no privacy. Both parties run it on
the same measurements with the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protocols.arrays import Codes


@dataclass(frozen=True)
class Measurement:
    """A marginal with noise.

    Attributes:
        columns: names of the axes of `counts`
        counts: int64, categories in the schema's order; each cell is the exact count of both parties' rows plus
            independent noise, and may be negative
        sigma: standard deviation of the noise, in rows
    """

    columns: tuple[str, ...]
    counts: NDArray[np.int64]
    sigma: float


class Generator(Protocol):
    """Generator of rows whose marginals are near the measured ones."""

    def generate(
        self, domain: Mapping[str, int], measurements: Sequence[Measurement], rows: int, seed: int
    ) -> dict[str, Codes]:
        """Draw `rows` synthetic rows as category codes, int64[rows] for each column, in the domain's order.

        Equal arguments give equal rows on one platform.

        Args:
            domain: number of categories of each column
            measurements: the noisy marginals
            rows: number of rows
            seed: seed of all randomness
        """
        ...
