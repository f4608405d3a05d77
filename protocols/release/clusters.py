"""k-means by noisy sums: both parties' rows are clustered, and only noisy sums of clusters are opened.

Ideal functionality. Inputs: from each party its points in [-1, 1]^d, in fixed point. Public: d, the number T of rounds,
the law of noise of each round, and a rule that computes a round's centroids from the values opened before. In a round
each point belongs to the cluster of its nearest centroid. For each cluster, the number of both parties' points and
their sum are opened with noise. Output to both: the noisy sums of each round. Leakage: the number of clusters of each
round, d, T, the laws and the width. Only the owner of a row knows its cluster. Neither party knows an exact sum or the
noise. Security is that of the engine.

Privacy (Blum, Dwork, McSherry, Nissim, "Practical privacy: the SuLQ framework", PODS 2005). The query of a cluster is
(|C|, sum of x), with the count times UNIT. Points are rounded row by row before. So one row changes each of the d + 1
integers by at most UNIT. The clusters of a round are disjoint. All integers of a round together change by at most D =
(d + 1) UNIT if a row is added or removed, and by 2 D if one is replaced. So discrete Laplace noise of scale D / eps_t
(2 D / eps_t) is eps_t-private for all clusters together. Rounds add up. T is fixed in advance, because a stop when
nothing changes would be a decision on the rows. A round that counts the rows of public cells may come first: one row
changes its counts by 1 in all, a replaced row by 2.

Cost: d + 1 noisy sums for each cluster of each round (`protocols.release.numbers`). Points are assigned locally.
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

    Exception: the first share is the mean of all, because its round finds the first centroids. Shares are whole
    millionths of epsilon, so a decimal epsilon has decimal shares, which a ledger adds up exactly.

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
        own: Function from centroids to the `cluster_sums` of this party's points; private.
        places: Function from the opened numbers of the rounds so far to the next centroids; equal at both parties.
        laws: Law of noise of each round, None for a round without noise; public.
        width: Bits of a party's number, with its sign; public.
        tell: Called before each round with the rounds so far.
        opened: Opened numbers of earlier rounds, to continue an interrupted run. Default: none.

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
