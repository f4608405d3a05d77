"""Possible values of a number: intervals or points, and bins of its published values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.alone.blurring.noise import Cells, Noise
from protocols.arrays import Floats
from smc.errors import InputError

FEWEST, MOST, ROWS_EACH = 10, 100, 100  # intervals of a column: about 100 rows each, within these bounds
OBSERVED = 400  # most bins of published values


@dataclass(frozen=True, eq=False)
class Domain:
    """Possible values of a number: k increasing intervals, float64[k] each; a single value has lower = upper."""

    lower: Floats
    upper: Floats

    @classmethod
    def intervals(cls, low: float, high: float, rows: int) -> Domain:
        """Return intervals of equal width over a range. More rows give more intervals, within limits.

        Args:
            low: lower end of the range
            high: upper end of the range
            rows: number of rows
        """
        edges = np.linspace(low, high, int(np.clip(rows // ROWS_EACH, FEWEST, MOST)) + 1)
        return cls(edges[:-1], edges[1:])

    @classmethod
    def points(cls, values: Sequence[float] | Floats) -> Domain:
        """Return single values as a domain; raise InputError without values."""
        distinct = np.unique(np.asarray(values, dtype=np.float64))
        if not len(distinct):
            raise InputError("a column needs at least one value")
        return cls(distinct, distinct)

    @classmethod
    def of_values(cls, values: Floats, rows: int) -> Domain:
        """Return the distinct values of an unblurred column, or quantile intervals if there are more than `MOST`.

        Args:
            values: the column, float64[rows]
            rows: number of rows, which determines the number of intervals
        """
        distinct = np.unique(values)
        most = int(np.clip(rows // ROWS_EACH, FEWEST, MOST))
        if len(distinct) <= MOST:
            return cls.points(distinct)
        edges = np.unique(np.quantile(distinct, np.linspace(0, 1, most + 1)))
        return cls(edges[:-1], edges[1:])

    @property
    def size(self) -> int:
        """Number of intervals."""
        return len(self.lower)

    @property
    def points_only(self) -> bool:
        """Whether each interval is a single point."""
        return bool((self.lower == self.upper).all())

    @property
    def cuts(self) -> Floats:
        """Boundaries between neighbours, float64[k - 1]: where a tree may split."""
        return np.asarray((self.upper[:-1] + self.lower[1:]) / 2)

    @property
    def middles(self) -> Floats:
        """Middle of each interval, float64[k]."""
        return np.asarray((self.lower + self.upper) / 2)

    def codes(self, values: Floats) -> NDArray[np.int32]:
        """Return the index of each true value's interval, int32[rows]; a value outside gets the nearest interval."""
        return np.searchsorted(self.cuts, values, side="right").astype(np.int32)


@dataclass(frozen=True, eq=False)
class Observation:
    """Bins of published values, and their probabilities for each interval of true values.

    Attributes:
        cuts: boundaries between bins, float64[bins - 1]; the outermost bins are open
        chances: P(published in bin i | true in interval j), float64[bins, k]; columns sum to 1
        settled: stopping threshold of the reconstruction, see `Noise`
    """

    cuts: Floats
    chances: Floats
    settled: float

    @classmethod
    def of(cls, domain: Domain, noise: Noise) -> Observation:
        """Return bins about as wide as the intervals, over the range of published values; the outermost are open.

        Args:
            domain: intervals or points of the true values
            noise: the noise
        """
        low, high = float(domain.lower[0]), float(domain.upper[-1])
        if isinstance(noise, Cells):
            edges = noise.edges()
            cuts = edges[1:-1]
        else:
            least, most = low - noise.reach(), high + noise.reach()
            step = max((high - low) / max(domain.size, FEWEST), (most - least) / OBSERVED)
            cuts = np.linspace(least, most, int(np.ceil((most - least) / step)) + 1)[1:-1]
        below = noise.below(cuts, domain.lower, domain.upper)
        ends = np.zeros((1, domain.size)), np.ones((1, domain.size))
        chances = np.maximum(np.diff(np.concatenate([ends[0], below, ends[1]]), axis=0), 0)
        return cls(cuts, chances, noise.settled)

    def counts(self, published: Floats) -> Floats:
        """Count the published values in each bin, float64[bins]."""
        bins = np.searchsorted(self.cuts, published, side="right")
        return np.bincount(bins, minlength=len(self.cuts) + 1).astype(np.float64)
