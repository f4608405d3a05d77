"""Microaggregation: groups of at least k similar rows, whose values are replaced by the group's mean.

Several columns together by MDAV, maximum distance to average vector (Domingo-Ferrer, Mateo-Sanz, "Practical
data-oriented microaggregation for statistical disclosure control", 2002; in the fixed form of Domingo-Ferrer, Torra,
2005). Or each column separately with the least possible squared error (Hansen, Mukherjee, "A polynomial algorithm for
optimal univariate microaggregation", 2003). Sums of columns stay.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from typing_extensions import override

from parties.alone.publish.protecting.method import AtLeastTwo, Columns, Method
from parties.alone.publish.protecting.rows import Rows, spelled
from protocols.arrays import Counts, Floats
from smc.errors import InputError

MOST_ROWS = 50_000  # MDAV takes rows^2 / k steps: a minute


class Microaggregation(Method):
    """Method that replaces numbers by means of groups of `aggr` rows or more, in all columns together or in each one.

    Only mdav makes classes of equal rows.
    """

    columns: Columns
    aggr: AtLeastTwo = 3
    by: Literal["mdav", "univariate"] = "mdav"

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with means in the columns; raise InputError for fewer than `aggr` rows, or too many."""
        del random
        values = rows.matrix(self.columns)
        if len(rows) < self.aggr:
            raise InputError(
                f"{rows.place}: {len(rows)} rows, but a group needs aggr = {self.aggr}; give more rows "
                f"or a smaller aggr"
            )
        if self.by == "mdav":
            if len(rows) > MOST_ROWS:
                raise InputError(
                    f"{rows.place}: mdav takes at most {MOST_ROWS:,} rows, not {len(rows):,}; set by to univariate"
                )
            groups = [mdav(standardised(values), self.aggr)] * values.shape[1]
        else:
            groups = [univariate(column, self.aggr) for column in values.T]
        averaged = np.stack([means(c, g) for c, g in zip(values.T, groups, strict=True)], axis=1)
        spread = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        within = ((values - averaged) ** 2).sum(axis=0)
        lost = np.divide(within, spread, out=np.zeros_like(within), where=spread > 0)
        figures = {"groups": int(groups[0].max()) + 1, "smallest_group": int(min(np.bincount(g).min() for g in groups))}
        changed = {name: spelled(column) for name, column in zip(self.columns, averaged.T, strict=True)}
        return rows.replaced(changed), figures | {"variance_lost": float(lost.mean())}


def standardised(values: Floats) -> Floats:
    """Return columns of mean 0 and standard deviation 1, float[rows, columns]; constant ones are 0."""
    deviation = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def means(values: Floats, groups: Counts) -> Floats:
    """Return the mean of each row's group, float[rows].

    Args:
        values: numbers of a column, float[rows]
        groups: group of each row, int64[rows]
    """
    averages: Floats = (np.bincount(groups, values) / np.bincount(groups))[groups]
    return averages


def mdav(values: Floats, k: int) -> Counts:
    """Return the MDAV group of each row, int64[rows] from 0 on, of k to 2 k - 1 rows each.

    The row farthest from the mean of the remaining rows takes its k - 1 nearest ones. Then the row farthest from that
    row does the same. The rest of fewer than 2 k rows is the last group.

    Args:
        values: float[rows, n], at least k rows
        k: least size of a group
    """
    groups = np.zeros(len(values), dtype=np.int64)
    remaining, number = np.arange(len(values)), 0

    def grouped(center: int) -> None:
        nonlocal remaining, number
        distances = _distances(values[remaining], values[center])
        distances[remaining == center] = -1.0  # before other rows with equal values
        nearest = np.argpartition(distances, k - 1)[:k]
        groups[remaining[nearest]] = number
        remaining, number = np.delete(remaining, nearest), number + 1

    while len(remaining) >= 2 * k:
        first = remaining[np.argmax(_distances(values[remaining], values[remaining].mean(axis=0)))]
        second_too = len(remaining) >= 3 * k
        grouped(first)
        if second_too:
            grouped(remaining[np.argmax(_distances(values[remaining], values[first]))])
    groups[remaining] = number
    return groups


def _distances(values: Floats, point: Floats) -> Floats:
    return np.asarray(((values - point) ** 2).sum(axis=1))


def univariate(values: Floats, k: int) -> Counts:
    """Return the number of each row's group, int64[rows], for groups of k to 2 k - 1 rows with the least squared error.

    Groups of the best partition are runs of the sorted values: the shortest path from the first to the last row.

    Args:
        values: float[rows], at least k rows
        k: least size of a group
    """
    n, order = len(values), np.argsort(values, kind="stable")
    ranked = values[order] - values.mean()
    sums, squares = np.concatenate([[0.0], ranked.cumsum()]), np.concatenate([[0.0], (ranked**2).cumsum()])
    best, before = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(k, n + 1):
        starts = np.arange(max(0, end - 2 * k + 1), end - k + 1)
        errors = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        costs = best[starts] + errors
        chosen = int(np.argmin(costs))
        best[end], before[end] = costs[chosen], starts[chosen]
    groups, end, number = np.zeros(n, dtype=np.int64), n, 0
    while end:
        groups[order[before[end] : end]] = number
        end, number = int(before[end]), number + 1
    return groups
