"""Noise that fits the table, as black boxes: the methods of `parties.alone.sensitivity`, and two known mistakes.

The methods that need a delta are examined at one that samples can show. Neighbours differ by a replaced number or edge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from parties.alone.sensitivity import ways
from parties.alone.sensitivity.draws import drawn
from parties.alone.sensitivity.median import Table
from parties.checking import evidence
from parties.checking.mechanism import Mechanism
from parties.checking.samples import samples, simulated
from parties.checking.statistics.losses import Outcomes
from protocols.arrays import Numbers
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law
from protocols.release.tails import tail
from smc.engines import Engine

HIGH = 30  # largest grade; the smallest is 0
BOUND = 5  # proposed bound
EXTREME = ([0, 0, 0, HIGH, HIGH], [0, 0, HIGH, HIGH, HIGH])
STEADY = [24, 25, 25, 26, HIGH]  # local sensitivity 1
UNSTEADY = [24, 25, 25, HIGH, HIGH]  # a neighbour of STEADY, with local sensitivity 5
TRIANGLES = ((1000, 400), (1400, 401))  # neighbouring graphs: number of triangles, and the largest change by an edge
VERTICES = 1000


def propose(epsilon: Fraction, delta: Fraction) -> Mechanism:
    """Return the mechanism propose-test-release on two tables at which its test is hardest to decide.

    Args:
        epsilon: Privacy loss that the mechanism promises.
        delta: Probability that epsilon fails.
    """
    distance = tail(2 / epsilon, delta)
    below = distance + 1
    first = [0] * (below + 1) + [BOUND] * distance + [HIGH] * (below - distance)
    second = [0] * below + [BOUND] * distance + [HIGH] * (below + 1 - distance)

    def outcomes(table: Table, draw: ways.Draw, copies: int) -> Outcomes:
        return np.stack(ways.by_propose(table, BOUND, epsilon, delta, draw, copies), axis=1)

    tables_text = (
        f"medians 0 and {BOUND}, {distance} or {distance - 1} rows from where one more moves it by over {BOUND}"
    )
    return Mechanism("propose", tables_text, float(epsilon), float(delta), _of(first, second, outcomes))


def bound(epsilon: Fraction, delta: Fraction) -> Mechanism:
    """Return a mechanism that opens a noisy bound on the local sensitivity, and a triangle count with noise to match.

    Args:
        epsilon: Privacy loss that the mechanism promises.
        delta: Probability that epsilon fails.
    """
    shift = tail(2 / epsilon, delta) - 1

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        value, local = TRIANGLES[table]
        noise = partial(_sampled, rng)
        bounds, answers = ways.bounded(value, local, 1, VERTICES - 2, epsilon, delta, noise, copies)
        of_values, of_locals = (
            abs(opened - first) - abs(opened - second)
            for opened, (first, second) in zip((answers, bounds - shift), zip(*TRIANGLES, strict=True), strict=True)
        )
        return np.rint((of_values / bounds + of_locals) * evidence.ONE).astype(np.int64)

    tables_text = " or ".join(f"{value} triangles, {local} at most on an edge" for value, local in TRIANGLES)
    return Mechanism("bound", tables_text, float(epsilon), float(delta), simulated(draw))


def smooth(epsilon: Fraction, delta: Fraction) -> Mechanism:
    """Return the mechanism of a median with noise of the smooth sensitivity.

    Args:
        epsilon: Privacy loss that the mechanism promises.
        delta: Probability that epsilon fails.
    """

    def outcomes(table: Table, draw: ways.Draw, copies: int) -> Outcomes:
        return ways.by_smooth(table, epsilon, delta, draw, copies)

    return Mechanism("smooth", _grades(*EXTREME), float(epsilon), float(delta), _of(*EXTREME, outcomes))


def median(epsilon: Fraction) -> Mechanism:
    """Return the test case of the median of zeros and ones by the exponential mechanism."""

    def outcomes(table: Table, draw: ways.Draw, copies: int) -> Outcomes:
        return ways.by_choice(table, epsilon, draw, copies)

    tables = [0, 0, 1], [0, 1, 1]
    return Mechanism("median", _grades(*tables), float(epsilon), 0.0, _of(*tables, outcomes, high=1))


def fixed_local(epsilon: Fraction, delta: Fraction) -> Mechanism:
    """Return a deliberately wrong mechanism: noise of one table's local sensitivity for all tables.

    Args:
        epsilon: Privacy loss that the mechanism promises.
        delta: Probability that epsilon fails.
    """
    scale = Table(STEADY, 0, HIGH).local / epsilon

    def outcomes(table: Table, draw: ways.Draw, copies: int) -> Outcomes:
        return table.median + draw(DiscreteLaplace(scale), copies)

    return Mechanism("fixed-local", _grades(*EXTREME), float(epsilon), float(delta), _of(*EXTREME, outcomes))


def local(epsilon: Fraction, delta: Fraction) -> Mechanism:
    """Return a deliberately wrong mechanism: noise of each table's own local sensitivity.

    Args:
        epsilon: Privacy loss that the mechanism promises.
        delta: Probability that epsilon fails.
    """

    def outcomes(table: Table, draw: ways.Draw, copies: int) -> Outcomes:
        return table.median + draw(DiscreteLaplace(table.local / epsilon), copies)

    return Mechanism("local", _grades(STEADY, UNSTEADY), float(epsilon), float(delta), _of(STEADY, UNSTEADY, outcomes))


def _of(
    first: Sequence[int], second: Sequence[int], outcomes: Callable[[Table, ways.Draw, int], Outcomes], high: int = HIGH
) -> Callable[[Engine, int, int], Outcomes]:
    tables = Table(first, 0, high), Table(second, 0, high)
    return lambda engine, table, copies: outcomes(tables[table], _draw(engine), copies)


def _sampled(rng: np.random.Generator, law: Law, number: int) -> Numbers:
    return samples(law, (number,), rng)


def _draw(engine: Engine) -> ways.Draw:
    def draw(law: Law, number: int) -> Numbers:
        return drawn(engine, law, number)

    return draw


def _grades(first: Sequence[int], second: Sequence[int]) -> str:
    return f"numbers {list(first)}, or {list(second)}"
