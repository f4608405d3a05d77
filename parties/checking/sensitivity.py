"""Noise that fits the table, as black boxes: the methods of `parties.alone.sensitivity`, and two known mistakes.

The methods that need a delta are examined at one that samples can show. Neighbours differ by a replaced number or edge.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from parties.alone.sensitivity import ways
from parties.alone.sensitivity.draws import drawn
from parties.alone.sensitivity.median import Table
from parties.checking import evidence
from parties.checking.mechanism import Mechanism
from parties.checking.promise import SEEN, Draw, Promise, pure
from parties.checking.samples import samples, simulated
from parties.checking.statistics.losses import Outcomes
from parties.jobs.spending import exact
from protocols.arrays import Numbers
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law
from protocols.release.tails import tail

HIGH = 30  # largest grade; the smallest is 0
BOUND = 5  # proposed bound
EXTREME = ([0, 0, 0, HIGH, HIGH], [0, 0, HIGH, HIGH, HIGH])
STEADY = [24, 25, 25, 26, HIGH]  # local sensitivity 1
UNSTEADY = [24, 25, 25, HIGH, HIGH]  # a neighbour of STEADY, with local sensitivity 5
TRIANGLES = ((1000, 400), (1400, 401))  # neighbouring graphs: number of triangles, and the largest change by an edge
VERTICES = 1000
DELTA = exact(SEEN)
Pair = tuple[list[int], list[int]]
OfTable = Callable[[Table, ways.Draw, int], Outcomes]


def propose(promise: Promise) -> Mechanism:
    """Return the mechanism propose-test-release on two tables at which its test is hardest to decide."""
    epsilon = promise.epsilon
    distance = tail(2 / epsilon, DELTA)
    below = distance + 1
    first = [0] * (below + 1) + [BOUND] * distance + [HIGH] * (below - distance)
    second = [0] * below + [BOUND] * distance + [HIGH] * (below + 1 - distance)
    tables_text = (
        f"medians 0 and {BOUND}, {distance} or {distance - 1} rows from where one more moves it by over {BOUND}"
    )
    draw = _of(
        (first, second),
        lambda table, noise, copies: np.stack(ways.by_propose(table, BOUND, epsilon, DELTA, noise, copies), axis=1),
    )
    return pure("propose", tables_text, promise, draw, SEEN)


def bound(promise: Promise) -> Mechanism:
    """Return a mechanism that opens a noisy bound on the local sensitivity, and a triangle count with that noise."""
    epsilon = promise.epsilon
    shift = tail(2 / epsilon, DELTA) - 1

    def draw(rng: np.random.Generator, table: int, copies: int) -> Outcomes:
        value, local = TRIANGLES[table]

        def noise(law: Law, number: int) -> Numbers:
            return samples(law, (number,), rng)

        bounds, answers = ways.bounded(value, local, 1, VERTICES - 2, epsilon, DELTA, noise, copies)
        of_values, of_locals = (
            abs(opened - first) - abs(opened - second)
            for opened, (first, second) in zip((answers, bounds - shift), zip(*TRIANGLES, strict=True), strict=True)
        )
        return np.rint((of_values / bounds + of_locals) * evidence.ONE).astype(np.int64)

    tables_text = " or ".join(f"{value} triangles, {local} at most on an edge" for value, local in TRIANGLES)
    return pure("bound", tables_text, promise, simulated(draw), SEEN)


def smooth(promise: Promise) -> Mechanism:
    """Return the mechanism of a median with noise of the smooth sensitivity."""
    by_smooth = lambda table, draw, copies: ways.by_smooth(table, promise.epsilon, DELTA, draw, copies)  # noqa: E731
    return _of_median("smooth", EXTREME, promise, by_smooth, SEEN)


def median(promise: Promise) -> Mechanism:
    """Return the test case of the median of zeros and ones by the exponential mechanism."""
    by_choice = lambda table, draw, copies: ways.by_choice(table, promise.epsilon, draw, copies)  # noqa: E731
    return _of_median("median", ([0, 0, 1], [0, 1, 1]), promise, by_choice, high=1)


def fixed_local(promise: Promise) -> Mechanism:
    """Return a deliberately wrong mechanism: noise of one table's local sensitivity for all tables."""
    law = DiscreteLaplace(Table(STEADY, 0, HIGH).local / promise.epsilon)
    of_one = lambda table, draw, copies: table.median + draw(law, copies)  # noqa: E731
    return _of_median("fixed-local", EXTREME, promise, of_one, SEEN)


def local(promise: Promise) -> Mechanism:
    """Return a deliberately wrong mechanism: noise of each table's own local sensitivity."""
    scale = 1 / promise.epsilon
    of_each = lambda table, draw, copies: table.median + draw(DiscreteLaplace(table.local * scale), copies)  # noqa: E731
    return _of_median("local", (STEADY, UNSTEADY), promise, of_each, SEEN)


def _of_median(
    name: str, tables: Pair, promise: Promise, outcomes: OfTable, delta: float = 0.0, high: int = HIGH
) -> Mechanism:
    first, second = tables
    return pure(name, f"numbers {first}, or {second}", promise, _of(tables, outcomes, high), delta)


def _of(tables: Pair, outcomes: OfTable, high: int = HIGH) -> Draw:
    both = [Table(numbers, 0, high) for numbers in tables]
    return lambda engine, table, copies: outcomes(both[table], partial(drawn, engine), copies)
