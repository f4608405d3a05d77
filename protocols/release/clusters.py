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
Rounds = tuple[tuple[int, ...], ...]  # opened numbers of each round, cluster after cluster


def change(dimensions: int, replaced: bool) -> int:
    """Return D, the greatest change of all integers of a round together by one row.

    Args:
        dimensions: Number of coordinates of a point.
        replaced: True if neighbouring tables differ by a replaced row, False by an added or removed row.
    """
    return (2 if replaced else 1) * (dimensions + 1) * UNIT


def shares(epsilon: Fraction, rounds: int, growth: Fraction) -> tuple[Fraction, ...]:
    """Return epsilon of each round; all add up to epsilon exactly, and each is about `growth` times the one before.

    But the first, which finds where the others begin, has the mean of all. They are whole millionths of epsilon, so
    that a decimal epsilon has decimal shares, which a ledger adds up exactly.

    Args:
        epsilon: Epsilon of all rounds together.
        rounds: Number of rounds, 1 at least.
        growth: Factor from one round to the next; 1 for equal shares.
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
    """Run the remaining rounds and return the opened numbers of all rounds.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: Returns this party's sums at given centroids, as `cluster_sums` of all its points; private.
        places: Returns the centroids after the given rounds. Both parties must get equal centroids.
        laws: Law of noise of each round, None for a round without noise; public.
        width: Bits of a party's number, with its sign; public.
        tell: Called before each round with the rounds so far.
        opened: Numbers of the rounds that are done, to continue an interrupted run. Default: none.

    Raises:
        InputError: A number does not fit the width, or a sum with its noise is too wide.
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
