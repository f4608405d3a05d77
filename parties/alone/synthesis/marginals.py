"""Counts of a few columns together, measured with noise, and what makes rows out of them.

All of it is public: whatever a generator does with measurements is post-processing and costs no privacy. Both parties
run it on the same measurements with the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Measurement:
    """A marginal with noise.

    `counts` is an int64 array with an axis for each of `columns`, in this order, along which categories stand in the
    schema's order; each cell is the exact count of both parties' rows plus independent noise of standard deviation
    `sigma` rows. Counts may be negative.
    """

    columns: tuple[str, ...]
    counts: NDArray[np.int64]
    sigma: float


class Generator(Protocol):
    """Makes rows whose marginals are near what was measured."""

    def generate(
        self, domain: Mapping[str, int], measurements: Sequence[Measurement], rows: int, seed: int
    ) -> dict[str, NDArray[np.int64]]:
        """Draw `rows` synthetic rows as category codes, int64[rows] a column, in the domain's order of columns.

        `domain` is the number of categories of each column. Equal arguments give equal rows on one platform.
        """
        ...
