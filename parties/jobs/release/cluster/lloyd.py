"""Plan of k-means in rounds, from public numbers: the number of rounds, and the cells of the first one.

`rows` is the bound on a party's rows. All values are integers and fractions, so both parties compute equal plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from parties.jobs.kind import Adjacency
from parties.jobs.release.noise import Noise, laplace
from parties.jobs.release.question import Part
from protocols.arrays import Numbers
from protocols.release.centroids import UNIT, Points

if TYPE_CHECKING:
    from protocols.release.clusters import Rounds

LEAST_ROUNDS, MOST_ROUNDS = 2, 7
LEAST_CELLS, MOST_CELLS = 4, 16  # for each cluster
ERROR = 500  # constant of the error of a round: a round is worth its epsilon below it
ROWS_PER_NOISE = 10  # a cell should have at least this many times the scale of its count's noise
FEW = 2  # a cluster with a noisy count below this many scales of its noise has no mean


@dataclass(frozen=True)
class Lloyd:
    """K-means in rounds, each of which opens noisy numbers.

    `cells` is the number of cells of the grid that the first round counts. `most` is a bound on both parties' rows
    together. `parts` has the opened numbers and the noise of each round.
    """

    clusters: int
    dimensions: int
    cells: int
    most: int
    parts: tuple[Part, ...]

    @property
    def least(self) -> list[int]:
        """For each round, the noisy count times UNIT below which a cluster keeps its centroid."""
        return [least_count(part) for part in self.parts]

    def followed(self, opened: Rounds) -> tuple[Points, Numbers]:
        """Return the centroids after these rounds, and the rows of each; after none, the cells' middles and 0."""
        from parties.jobs.release.cluster.kmeans import followed

        return followed(opened, self.cells, self.clusters, self.dimensions, self.least, self.most)

    def places(self, opened: Rounds) -> Points:
        """Return the centroids after these rounds."""
        return self.followed(opened)[0]


def least_count(part: Part) -> int:
    """Return the noisy count times UNIT below which a cluster of a round keeps its centroid."""
    return max(UNIT, 0 if part.noise is None else int(FEW * part.noise.scale))


def ends(parts: Sequence[Part]) -> list[int]:
    """Return the number of opened numbers after 0, 1, ... rounds."""
    return list(accumulate((part.numbers for part in parts), initial=0))


def split(state: Sequence[int], parts: Sequence[Part]) -> Rounds:
    """Return the opened numbers of each round.

    Args:
        state: All opened numbers of the finished rounds, in order.
        parts: Sizes of the rounds.
    """
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
    """Return the plan of all rounds of k-means: the numbers that each opens, with its noise.

    Args:
        rows: Bound on a party's rows.
        epsilon: Privacy loss of `together` rows; None for no noise.
        clusters: Number of clusters.
        dimensions: Number of columns.
        rounds: Number of rounds; None for the usual number.
        growth: Factor of epsilon from round to round.
        adjacency: Definition of neighbouring tables.
        together: Number of rows that noise hides together.
    """
    from protocols.release.clusters import change, shares

    round_count, cells = rounds or MOST_ROUNDS, MOST_CELLS * clusters
    noises: list[Noise | None] = [None] * round_count
    if epsilon is not None:
        of_row = epsilon / together
        round_count = rounds or usual_rounds(rows, of_row, clusters, dimensions)
        cells = usual_cells(rows, of_row / round_count, clusters, dimensions)
        moved = change(dimensions, adjacency == "replace")
        noises = [laplace(share, moved, adjacency, together) for share in shares(epsilon, round_count, growth)]
    numbers = [size * (1 + dimensions) for size in (cells, *[clusters] * (round_count - 1))]
    parts = tuple(Part(count, rows * UNIT, True, noise) for count, noise in zip(numbers, noises, strict=True))
    return Lloyd(clusters, dimensions, cells, 2 * rows, parts)


def usual_rounds(rows: int, epsilon: Fraction, clusters: int, dimensions: int) -> int:
    """Return the largest number of rounds, from 2 to 7, for which each round has the epsilon that it needs.

    A round needs sqrt(500 k^3 (d + 1)^3) / N, by the mean squared error of its centroids (Su, Cao, Li, Bertino, Jin,
    CODASPY 2016), here with the same noise on counts and on sums.

    Args:
        rows: Bound on a party's rows.
        epsilon: Privacy loss of all rounds.
        clusters: Number of clusters.
        dimensions: Number of columns.
    """
    rounds = LEAST_ROUNDS
    need = ERROR * (clusters * (dimensions + 1)) ** 3
    while rounds < MOST_ROUNDS and need * (rounds + 1) ** 2 <= (rows * epsilon) ** 2:
        rounds += 1
    return rounds


def usual_cells(rows: int, epsilon: Fraction, clusters: int, dimensions: int) -> int:
    """Return the number of cells in which evenly spread rows are ten times the noise; 4 to 16 for each cluster.

    Args:
        rows: Bound on a party's rows.
        epsilon: Privacy loss of the round.
        clusters: Number of clusters.
        dimensions: Number of columns.
    """
    cells = int(rows * epsilon / (ROWS_PER_NOISE * (dimensions + 1)))
    return min(max(cells, LEAST_CELLS * clusters), MOST_CELLS * clusters)
