"""Rows rebuilt from published tables: whole numbers of every combination of values that give all the counts.

T. Dick, C. Dwork, M. Kearns, T. Liu, A. Roth, G. Vietri, Z. S. Wu, "Confidence-ranked reconstruction of census
microdata from published statistics" (PNAS 2023), with integer programmes (HiGHS) instead of their gradient steps: many
solutions are drawn, each the least by other random prices, and a row is the more certain the more of them have it. A
row that no solution can lack is certain: a programme asks for the least number of each, and its bound holds also when
time is up.

Counts that were rounded or carry noise are off by a `slack` at most; then solutions are those that are off least.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.solving import aside
from parties.base.arrays import Codes, Counts, Floats
from parties.base.extras import needing
from smc.errors import InputError

MOST_COMBINATIONS = 1_000_000
MOST_UNKNOWNS = 50_000
SECONDS = 20.0  # of a programme
GAP = 0.02  # a drawn solution need not be the very least by its random prices
ROUNDING = 1e-6

OnProgress: TypeAlias = Callable[[str], object]


@dataclass(frozen=True)
class Count:
    """Of the rows with these values, by column, there are `number`: None if that is hidden."""

    values: tuple[tuple[str, str], ...]
    number: int | None


@dataclass(frozen=True, eq=False)
class Programme:
    """Unknown numbers of combinations. `combinations` int64[columns, unknowns] are places in the columns' `axes`.

    `sums` is sparse float[counts, unknowns], `numbers` float64[counts]; `slack` is the most that a sum may be off.
    `hidden` bool[unknowns] for each hidden count says which combinations it is of.
    """

    axes: dict[str, list[str]]
    combinations: Codes
    sums: Any
    numbers: Floats
    slack: int
    hidden: Mapping[tuple[tuple[str, str], ...], NDArray[np.bool_]]

    def values(self, unknown: int) -> list[str]:
        """Return the values of a combination."""
        return [axis[place] for axis, place in zip(self.axes.values(), self.combinations[:, unknown], strict=True)]


def programme(counts: Sequence[Count], slack: int = 0, most: int = MOST_UNKNOWNS) -> Programme:
    """Return the programme of published counts. `InputError` if there would be more unknowns than `most`, or
    none."""
    with needing("rebuilding rows"):
        import scipy.sparse
    axes: dict[str, list[str]] = {}
    for count in counts:
        for column, value in count.values:
            axes.setdefault(column, [])
            if value not in axes[column]:
                axes[column].append(value)
    shape = tuple(map(len, axes.values()))
    if prod(shape) > MOST_COMBINATIONS:
        raise InputError(f"{prod(shape):,} combinations of values are too many: at most {MOST_COMBINATIONS:,}")
    places = np.indices(shape).reshape(len(shape), -1)
    possible = np.full(prod(shape), True)
    for count in counts:
        if count.number is not None and count.number + slack <= 0:
            possible &= ~_holds(places, axes, count)
    unknowns = int(possible.sum())
    if not 0 < unknowns <= most:
        raise InputError(f"{unknowns:,} combinations could have rows: from 1 to {most:,} can be solved for")
    places = places[:, possible]
    known = [count for count in counts if count.number is not None]
    rows = [np.flatnonzero(_holds(places, axes, count)) for count in known]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    sums = scipy.sparse.csr_array((np.ones(ends[-1]), columns, ends), shape=(len(known), unknowns))
    hidden = {count.values: _holds(places, axes, count) for count in counts if count.number is None}
    numbers = np.array([float(count.number or 0) for count in known])
    return Programme(axes, places, sums, numbers, slack, hidden)


def _holds(places: Codes, axes: dict[str, list[str]], count: Count) -> Any:
    """Return which combinations a count is of, bool[combinations]."""
    where = np.full(places.shape[1], True)
    for column, value in count.values:
        where &= places[[*axes].index(column)] == axes[column].index(value)
    return where


def solutions(problem: Programme, draws: int, random: np.random.Generator, on_progress: OnProgress) -> Counts:
    """Return solutions, int64[draws, unknowns]. `InputError` if there is none, or none is found in time."""
    with aside():
        off = None
        if problem.slack:
            on_progress("looking for the counts that are off least")
            solved = _solve(problem, np.zeros(problem.combinations.shape[1]), 1.0, None)
            off = float(np.abs(problem.sums @ solved - problem.numbers).sum())
        results = []
        for draw in range(draws):
            on_progress(f"solution {draw + 1} of {draws}")
            results.append(_solve(problem, random.random((problem.combinations.shape[1],)), 0.0, off))
    return np.stack(results)


def _solve(problem: Programme, prices: Floats, price_off: float, off: float | None) -> Counts:
    """Return the cheapest solution, int64[unknowns]; with slack a unit off costs `price_off`, and all are `off` at
    most."""
    solution = _minimise(problem, prices, price_off, off)
    if solution.x is None:
        if solution.status == 2:
            slack = "more than --slack allows" if problem.slack else "if they are rounded or have noise, say --slack"
            raise InputError(f"no rows give all these counts: they contradict each other; {slack}")
        raise InputError("no solution was found in time: take fewer tables, or coarser ones")
    counts: Counts = np.round(solution.x[: len(prices)]).astype(np.int64)
    return counts


def _minimise(problem: Programme, prices: Floats, price_off: float, off: float | None) -> Any:
    import scipy.optimize as opt
    import scipy.sparse as sparse

    rows, unknowns = problem.sums.shape
    deviations = 2 * rows if problem.slack else 0  # upwards and downwards
    cost = np.concatenate([prices, np.full(deviations, price_off)])
    matrix = problem.sums
    if deviations:
        matrix = sparse.hstack([matrix, sparse.eye_array(rows), -sparse.eye_array(rows)], format="csr")
    constraints = [opt.LinearConstraint(matrix, problem.numbers, problem.numbers)]
    if off is not None:
        total = sparse.csr_array(np.concatenate([np.zeros(unknowns), np.ones(deviations)])[None])
        constraints.append(opt.LinearConstraint(total, 0, off + ROUNDING))
    upper = np.concatenate([np.full(unknowns, np.inf), np.full(deviations, float(problem.slack))])
    return opt.milp(
        cost,
        integrality=np.concatenate([np.ones(unknowns), np.zeros(deviations)]),
        bounds=opt.Bounds(np.zeros(len(cost)), upper),
        constraints=constraints,
        options={"time_limit": SECONDS, "mip_rel_gap": GAP},
    )


def true_counts(problem: Programme, rows: Sequence[Sequence[str]]) -> Counts:
    """Return how many of these rows, each with a value for every axis, have each combination, int64[unknowns]."""
    often = Counter(map(tuple, rows))
    unknowns = range(problem.combinations.shape[1])
    return np.array([often[tuple(problem.values(unknown))] for unknown in unknowns], dtype=np.int64)


def by_chance(problem: Programme, rows: Sequence[Sequence[str]], draws: int, random: np.random.Generator) -> float:
    """Return how many of these rows are hit, in the mean, by as many that are drawn from the distributions of single
    columns."""
    true = Counter(map(tuple, rows))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    hits = 0
    for _ in range(draws):
        drawn = Counter(zip(*(random.choice(column, len(rows)).tolist() for column in columns), strict=True))
        hits += (drawn & true).total()
    return hits / draws


def certain(problem: Programme, drawn: Counts, seconds: float, on_progress: OnProgress) -> Counts:
    """Return how many rows of each combination every solution has, int64[unknowns], at least: what was proved in time.

    `drawn` int64[draws, unknowns] are some solutions, which bound it from above. With slack nothing is certain.
    """
    bounds = drawn.min(axis=0)
    proved = np.zeros_like(bounds)
    if problem.slack:
        return proved
    end = time.monotonic() + seconds
    candidates = np.flatnonzero(bounds)
    with aside():
        for done, unknown in enumerate(candidates.tolist()):
            if time.monotonic() > end:
                break
            on_progress(f"proving row {done + 1} of {len(candidates)}")
            price = np.zeros(problem.sums.shape[1])
            price[unknown] = 1
            solution = _minimise(problem, price, 0.0, None)
            bound = solution.mip_dual_bound
            if bound is not None and np.isfinite(bound):
                proved[unknown] = min(int(bounds[unknown]), int(np.ceil(bound - ROUNDING)))
    return np.maximum(proved, 0)


def bounds_of_hidden(
    problem: Programme, seconds: float, on_progress: OnProgress
) -> dict[tuple[tuple[str, str], ...], tuple[int, int | None]]:
    """Return the least and the most rows of each hidden count, as far as it is proved in time; None is no bound.

    With slack no bound holds.
    """
    end = time.monotonic() + seconds
    bounds: dict[tuple[tuple[str, str], ...], tuple[int, int | None]] = {}
    with aside():
        for done, (values, where) in enumerate(problem.hidden.items()):
            if problem.slack or time.monotonic() > end:
                break
            on_progress(f"bounding hidden count {done + 1} of {len(problem.hidden)}")
            low, high = (_minimise(problem, sign * where.astype(np.float64), 0.0, None) for sign in (1, -1))
            least, most = low.mip_dual_bound, high.mip_dual_bound
            bounds[values] = (
                max(0, math.ceil(least - ROUNDING)) if least is not None and np.isfinite(least) else 0,
                math.floor(-most + ROUNDING) if most is not None and np.isfinite(most) else None,
            )
    return bounds


def ranked(drawn: Counts) -> list[tuple[int, int, float]]:
    """Return combinations, how many rows of each, and the share of solutions with so many, the surest first."""
    rows = []
    for unknown in np.flatnonzero(drawn.max(axis=0)).tolist():
        column = drawn[:, unknown]
        rows += [(unknown, number, float((column >= number).mean())) for number in range(1, int(column.max()) + 1)]
    return sorted(rows, key=lambda row: -row[2])


def rebuilt(drawn: Counts, true: Counts) -> float:
    """Return how many of the true rows, int64[unknowns], a solution has, in the mean."""
    return float(np.minimum(drawn, true).sum(axis=1).mean())
