"""k-means in rounds: how many there are and what the first one counts, by public numbers; what follows from them.

`rows` is the bound on a party's rows. All is in whole numbers and fractions, so both parties find the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from parties.base.arrays import Numbers
from parties.jobs.release.noise import Noise, laplace
from parties.jobs.release.question import Part
from parties.jobs.spending import Adjacency
from protocols.release.centroids import UNIT, Points

if TYPE_CHECKING:
    from protocols.release.clusters import Rounds

LEAST_ROUNDS, MOST_ROUNDS = 2, 7
LEAST_CELLS, MOST_CELLS = 4, 16  # for each cluster
ERROR = 500  # of a round, below which it is worth its epsilon
ROWS_PER_NOISE = 10  # a cell should have so many times the scale of its count's noise
FEW = 2  # a cluster with a noisy count of less than so many scales of its noise has no mean


@dataclass(frozen=True)
class Lloyd:
    """Rounds that open these parts, the first of `cells` cells; `most` bounds the rows of both parties."""

    clusters: int
    dimensions: int
    cells: int
    most: int
    parts: tuple[Part, ...]

    @property
    def least(self) -> list[int]:
        """The noisy count, times UNIT, from which a cluster of each round has a mean."""
        return [least_count(part) for part in self.parts]

    def followed(self, opened: Rounds) -> tuple[Points, Numbers]:
        """Return the centroids after these rounds, and the rows of each."""
        from parties.jobs.cluster.kmeans import followed

        return followed(opened, self.cells, self.clusters, self.dimensions, self.least, self.most)

    def places(self, opened: Rounds) -> Points:
        """Return the centroids after these rounds."""
        return self.followed(opened)[0]


def least_count(part: Part) -> int:
    """Return the noisy count, times UNIT, from which a cluster of a round has a mean."""
    return max(UNIT, 0 if part.noise is None else int(FEW * part.noise.scale))


def ends(parts: Sequence[Part]) -> list[int]:
    """Return how many numbers have been opened after 0, 1, ... rounds."""
    return list(accumulate((part.numbers for part in parts), initial=0))


def split(state: Sequence[int], parts: Sequence[Part]) -> Rounds:
    """Return the opened numbers of each round."""
    return tuple(tuple(state[start:end]) for start, end in pairwise(ends(parts)) if end <= len(state))


def planned(
    rows: int,
    epsilon: Fraction | None,
    clusters: int,
    dimensions: int,
    rounds: int | None,
    growth: Fraction,
    adjacency: Adjacency,
    together: int = 1,
) -> Lloyd:
    """So many rounds, as many as is usual for None; without noise if there is no epsilon, else it hides so many rows
    together."""
    from protocols.release.clusters import change, shares

    many, cells = rounds or MOST_ROUNDS, MOST_CELLS * clusters
    noises: list[Noise | None] = [None] * many
    if epsilon is not None:
        of_row = epsilon / together
        many = rounds or usual_rounds(rows, of_row, clusters, dimensions)
        cells = usual_cells(rows, of_row / many, clusters, dimensions)
        moved = change(dimensions, adjacency == "replace")
        noises = [laplace(share, moved, adjacency, together) for share in shares(epsilon, many, growth)]
    numbers = [size * (1 + dimensions) for size in (cells, *[clusters] * (many - 1))]
    parts = tuple(Part(count, rows * UNIT, True, noise) for count, noise in zip(numbers, noises, strict=True))
    return Lloyd(clusters, dimensions, cells, 2 * rows, parts)


def usual_rounds(rows: int, epsilon: Fraction, clusters: int, dimensions: int) -> int:
    """Return the most rounds, up to 7, of which each has the epsilon that it needs; at least 2.

    That is sqrt(500 k^3 (d + 1)^3) / N, by the mean squared error of a round's centroids (Su, Cao, Li, Bertino, Jin,
    CODASPY 2016), here with the same noise on counts and on sums.
    """
    rounds = LEAST_ROUNDS
    need = ERROR * (clusters * (dimensions + 1)) ** 3
    while rounds < MOST_ROUNDS and need * (rounds + 1) ** 2 <= (rows * epsilon) ** 2:
        rounds += 1
    return rounds


def usual_cells(rows: int, epsilon: Fraction, clusters: int, dimensions: int) -> int:
    """As many cells as have ten times the rows of their noise, if all are alike; 4 to 16 for each cluster.

    `epsilon` is that of the round.
    """
    cells = int(rows * epsilon / (ROWS_PER_NOISE * (dimensions + 1)))
    return min(max(cells, LEAST_CELLS * clusters), MOST_CELLS * clusters)
