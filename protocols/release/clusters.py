"""k-means by noisy sums: both parties' rows are clustered, and only noisy sums of clusters are opened.

Ideal functionality. Inputs: from each party its points in [-1, 1]^d, in fixed point. Public: d, the number T of
rounds, the law of noise of each round, and a rule that says where a round's centroids are after what was opened before.
In a round each point belongs to its nearest centroid; for each of the clusters the number of its points and their sum,
of both parties together, are opened with noise. Output to both: the noisy sums of each round. Leakage: the clusters of
each round, d, T, the laws and the width. Which cluster a row is in is known to its own party alone, and neither an
exact sum nor the noise to anybody. Security is that of the engine.

Privacy (Blum, Dwork, McSherry, Nissim, "Practical privacy: the SuLQ framework", PODS 2005). The query of a cluster is
(|C|, sum of x): with a count in the units of the coordinates one row changes it by UNIT in each of d + 1 integers at
most, and rounding is done before, row by row. The clusters of a round are disjoint, so all its integers together change
by D = (d + 1) UNIT when a row is added or removed, and by 2 D when one is replaced: discrete Laplace noise of the scale
D / eps_t is eps_t-private for all clusters at once, however many they are and wherever. Rounds add up. T is agreed on
beforehand: to stop when nothing changes any more would be a decision on the data, without an end that is known. So may
a round that counts the rows of public cells be before the others: one row changes its counts by 1, or 2, in all.

Cost: d + 1 noisy sums for each cluster of each round, of which see `protocols.release.numbers`; the points stay where
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from protocols.release.centroids import UNIT, Points
from protocols.release.exact import exact_sums
from protocols.release.laws import Law
from protocols.release.numbers import noisy_sums
from smc.engines import Engine

MILLION = 10**6
Own = Callable[[Points], Points]
Rounds = tuple[tuple[int, ...], ...]  # the opened numbers of each round, cluster after cluster


def change(dimensions: int, replaced: bool) -> int:
    """D: by how much one row changes the integers of a round, all together."""
    return (2 if replaced else 1) * (dimensions + 1) * UNIT


def shares(epsilon: Fraction, rounds: int, growth: Fraction) -> tuple[Fraction, ...]:
    """Epsilon of each round, exactly adding up to all of it; each is about `growth` times the one before.

    But the first, which finds where the others begin, has the mean of all. They are whole millionths of epsilon, so
    that a decimal epsilon has decimal shares, which a ledger adds up exactly.
    """
    later = [growth**i for i in range(rounds - 1)] or [Fraction(1)]
    weights = [sum(later) / len(later), *later][:rounds]
    millionths = [int(MILLION * weight / sum(weights)) for weight in weights[:-1]]
    return tuple(epsilon * share / MILLION for share in (*millionths, MILLION - sum(millionths)))


def noisy_lloyd(
    engine: Engine,
    own: Own,
    places: Callable[[Rounds], Points],
    laws: Sequence[Law | None],
    width: int,
    tell: Callable[[Rounds], object],
    opened: Rounds = (),
) -> Rounds:
    """Return the opened numbers of all rounds, from those of some on; a law of None is a round without noise.

    `own` gives own sums at some centroids, as `cluster_sums` of all own points; these numbers have `width` bits with
    their sign. `places` says where the centroids are after these rounds, the same at both parties. `tell` is told
    the rounds so far before each round begins.
    """
    for law in laws[len(opened) :]:
        tell(opened)
        numbers = own(places(opened)).reshape(-1)
        sums = (
            exact_sums(engine, numbers, width, signed=True)
            if law is None
            else noisy_sums(engine, numbers, width, law, signed=True)
        )
        opened = (*opened, tuple(sums.tolist()))
    return opened
