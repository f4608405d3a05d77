"""Reconstruction of rows from published tables: a row count for each combination of values that gives all counts.

T. Dick, C. Dwork, M. Kearns, T. Liu, A. Roth, G. Vietri, Z. S. Wu, "Confidence-ranked reconstruction of census
microdata from published statistics" (PNAS 2023), with integer programmes (HiGHS) instead of their gradient steps. Many
solutions are drawn, each the minimum for other random prices. A row is the more certain the more solutions contain it.
A row in every solution is certain: a programme minimises its number, and the bound holds even if time runs out.

Counts that were rounded or carry noise are off by a `slack` at most. Solutions are then those with the least total
deviation.
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
from parties.base.extras import needing
from protocols.arrays import Codes, Counts, Floats
from smc.errors import InputError

MOST_COMBINATIONS = 1_000_000
MOST_UNKNOWNS = 50_000
SECONDS = 20.0  # time limit of a programme
GAP = 0.02  # a drawn solution may cost more than the minimum by this share
ROUNDING = 1e-6

OnProgress: TypeAlias = Callable[[str], object]


@dataclass(frozen=True)
class Count:
    """A published count of the rows with these values, by column; `number` None: hidden."""

    values: tuple[tuple[str, str], ...]
    number: int | None


@dataclass(frozen=True, eq=False)
class Programme:
    """Integer programme: an unknown number of rows for each combination of values, and the constraints.

    Attributes:
        axes: values of each column
        combinations: indices into the axes, int64[columns, unknowns]
        sums: unknowns that each count adds, sparse float[counts, unknowns]
        numbers: the counts, float64[counts]
        slack: greatest deviation of a count
        hidden: combinations of each hidden count, bool[unknowns]
    """

    axes: dict[str, list[str]]
    combinations: Codes
    sums: Any
    numbers: Floats
    slack: int
    hidden: Mapping[tuple[tuple[str, str], ...], NDArray[np.bool_]]

    def values(self, unknown: int) -> list[str]:
        """Return the value of each column in the combination with this index."""
        return [axis[place] for axis, place in zip(self.axes.values(), self.combinations[:, unknown], strict=True)]


def programme(counts: Sequence[Count], slack: int = 0, most: int = MOST_UNKNOWNS) -> Programme:
    """Return the integer programme of published counts.

    Args:
        counts: the counts
        slack: greatest deviation of a count
        most: largest number of unknowns

    Raises:
        InputError: there are too many combinations of values, more unknowns than `most`, or none
    """
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
        raise InputError(
            f"{prod(shape):,} combinations of values are too many: at most {MOST_COMBINATIONS:,}; "
            "give tables with fewer columns or values"
        )
    indices = np.indices(shape).reshape(len(shape), -1)
    possible = np.full(prod(shape), True)
    for count in counts:
        if count.number is not None and count.number + slack <= 0:
            possible &= ~_holds(indices, axes, count)
    unknowns = int(possible.sum())
    if not 0 < unknowns <= most:
        raise InputError(f"{unknowns:,} combinations could have rows; give tables that leave 1 to {most:,}")
    indices = indices[:, possible]
    shown = [count for count in counts if count.number is not None]
    rows = [np.flatnonzero(_holds(indices, axes, count)) for count in shown]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    sums = scipy.sparse.csr_array((np.ones(ends[-1]), columns, ends), shape=(len(shown), unknowns))
    hidden = {count.values: _holds(indices, axes, count) for count in counts if count.number is None}
    numbers = np.array([float(count.number or 0) for count in shown])
    return Programme(axes, indices, sums, numbers, slack, hidden)


def _holds(indices: Codes, axes: dict[str, list[str]], count: Count) -> Any:
    """Return which combinations of values a count includes, bool[combinations].

    `indices` has each combination's value index on each axis; `axes` has the values of each column.
    """
    where = np.full(indices.shape[1], True)
    for column, value in count.values:
        where &= indices[[*axes].index(column)] == axes[column].index(value)
    return where


def solutions(problem: Programme, draws: int, random: np.random.Generator, on_progress: OnProgress) -> Counts:
    """Return solutions of the programme for random prices, int64[draws, unknowns].

    Args:
        problem: the programme
        draws: number of solutions
        random: source of randomness
        on_progress: called with a description before each step

    Raises:
        InputError: there is no solution, or none was found in time
    """
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
    """Return the cheapest solution, int64[unknowns].

    With slack, a unit of deviation costs `price_off`, and the total deviation is `off` at most.
    """
    solution = _minimise(problem, prices, price_off, off)
    if solution.x is None:
        if solution.status == 2:
            slack = (
                " by more than --slack; raise it" if problem.slack else "; if they are rounded or noisy, give --slack"
            )
            raise InputError(f"no rows give all these counts: they contradict each other{slack}")
        raise InputError("no solution was found in time; give fewer tables, or tables with fewer values")
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
    """Return the number of these rows with each combination, int64[unknowns].

    Args:
        problem: the programme
        rows: rows with a value for every axis
    """
    row_counts = Counter(map(tuple, rows))
    unknowns = range(problem.combinations.shape[1])
    return np.array([row_counts[tuple(problem.values(unknown))] for unknown in unknowns], dtype=np.int64)


def by_chance(problem: Programme, rows: Sequence[Sequence[str]], draws: int, random: np.random.Generator) -> float:
    """Return the average number of these rows that equally many random rows contain; each column is drawn
    independently.

    Args:
        problem: the integer programme of the attack
        rows: rows with a value for every axis
        draws: number of repetitions
        random: source of randomness
    """
    true = Counter(map(tuple, rows))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    hits = 0
    for _ in range(draws):
        drawn = Counter(zip(*(random.choice(column, len(rows)).tolist() for column in columns), strict=True))
        hits += (drawn & true).total()
    return hits / draws


def certain(problem: Programme, drawn: Counts, seconds: float, on_progress: OnProgress) -> Counts:
    """Return how many rows of each combination are proved, in time, to be in every solution, int64[unknowns].

    With slack, no row is certain.

    Args:
        problem: the programme
        drawn: some solutions, which are upper bounds, int64[draws, unknowns]
        seconds: time limit
        on_progress: called with a description before each step
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
    """Return the least and the most rows of each hidden count, as far as proved in time; None: no bound.

    With slack no bound holds, and the result is empty.

    Args:
        problem: the programme
        seconds: time limit
        on_progress: called with a description before each step
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
    """Return the reconstructed rows, surest first.

    Each line has a combination of values, a number of rows, and the share of solutions with at least this number.
    """
    rows = []
    for unknown in np.flatnonzero(drawn.max(axis=0)).tolist():
        column = drawn[:, unknown]
        rows += [(unknown, number, float((column >= number).mean())) for number in range(1, int(column.max()) + 1)]
    return sorted(rows, key=lambda row: -row[2])


def rebuilt(drawn: Counts, true: Counts) -> float:
    """Return the mean number of true rows that a solution contains.

    Args:
        drawn: solutions, int64[draws, unknowns]
        true: number of true rows of each combination, int64[unknowns]
    """
    return float(np.minimum(drawn, true).sum(axis=1).mean())
