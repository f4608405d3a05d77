"""Association rules from blurred rows: estimated shares of rows that truly have all items of a set.

A column with randomised response over k values has value v with probability keep + (1 - keep) / k if v is true, and
with probability b = (1 - keep) / k if not. So (1{answer = v} - b) / keep is 1 or 0 on average, as v is true or not.
Columns are blurred independently. The product over a set's columns is therefore, on average over the noise, 1 for a row
that truly has the whole set and 0 for any other row. Its mean over all rows is an unbiased estimate of the set's share
(Rizvi, Haritsa, "Maintaining Data Privacy in Association Rule Mining", VLDB 2002).

The mean is a sum over the set's subsets of the number of rows with each subset. So is the mean of its squares, and with
it the standard error (Evfimievski, Srikant, Agrawal, Gehrke, KDD 2002, who bound sets by it). The error grows with the
product of 1 / keep: long sets need many rows.

Results are computed from published rows, so they cost no further privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from parties.alone.blurring.plan import BlurPlan, ColumnBlur
from parties.alone.blurring.table import read
from parties.base.text import instead, quoted
from parties.sources.opened import RowQuery
from protocols.association import ItemSet, Levels, Problem, counted, rules_of
from smc.errors import InputError

NORMAL_95 = 1.959964  # standard deviations on either side that hold 95%


@dataclass(frozen=True)
class Bounds:
    """Thresholds of frequent sets and of rules; see `smc rules`."""

    support: float
    confidence: float
    lift: float
    max_length: int


@dataclass(frozen=True)
class Column:
    """A categorical column: its values, and the probability `keep` of a true answer (1 if not blurred)."""

    name: str
    values: tuple[str, ...]
    keep: float

    @property
    def by_chance(self) -> float:
        """Probability b of a given value by chance."""
        return (1 - self.keep) / len(self.values)


class Estimates:
    """Estimated shares of rows with sets of items, from the answers `codes`, int64[rows, columns]."""

    def __init__(self, columns: Sequence[Column], codes: Any) -> None:
        self.columns, self._rows = columns, len(codes)
        self._pieces = [np.column_stack([codes, np.ones(len(codes), dtype=np.int64)])]
        self._says: dict[ItemSet, int] = {(): len(codes)}

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Index of the column and index of the value of each item."""
        return [(at, value) for at, column in enumerate(self.columns) for value in range(len(column.values))]

    def named(self, items: ItemSet) -> list[str]:
        """Return the items' names in results, column=value."""
        return [f"{self.columns[at].name}={self.columns[at].values[value]}" for at, value in map(self._place, items)]

    def count(self, sets: Sequence[ItemSet]) -> None:
        """Count the rows that have each of these sets; their subsets must have been counted before."""
        sizes = [len(column.values) for column in self.columns]
        totals = counted(self._pieces, sizes, np.array(self.places), sets)
        self._says.update(zip(sets, totals.tolist(), strict=True))

    def share(self, items: ItemSet) -> float:
        """Return the estimated share of rows with all items; noise may make it negative or above 1."""
        return self._mean(items, lambda column: (1 / column.keep, -column.by_chance / column.keep))

    def reach(self, items: ItemSet) -> float:
        """Return the half-width of the share's 95% interval, over draws of rows and noise."""
        squares = self._mean(
            items, lambda c: ((1 - 2 * c.by_chance) / c.keep**2, c.by_chance**2 / c.keep**2)
        )  # the square of (1{answer = v} - b) / keep, as a multiple of 1{answer = v} and a constant
        return NORMAL_95 * math.sqrt(max(0.0, squares - self.share(items) ** 2) / self._rows)

    def _mean(self, items: ItemSet, terms: Callable[[Column], tuple[float, float]]) -> float:
        """Return the mean over rows of a product over items: slope + constant if the row has the item, else constant.

        `terms` returns the slope and the constant of a column's items. A row has the items that its answers say.
        """
        of_item = {item: terms(self.columns[self._place(item)[0]]) for item in items}
        total = 0.0
        for size in range(len(items) + 1):
            for part in combinations(items, size):
                total += self._says[part] * math.prod(of_item[item][item not in part] for item in items)
        return total / self._rows

    def _place(self, item: int) -> tuple[int, int]:
        return self.places[item]


def mined(rows: RowQuery, plan: BlurPlan, names: Sequence[str] | None, bounds: Bounds) -> tuple[Estimates, Levels]:
    """Return estimates from the rows, and the frequent sets, by length.

    Args:
        rows: the published rows
        plan: their plan
        names: categorical columns of the plan; None: all of them
        bounds: least support, and other thresholds of the rules

    Raises:
        InputError: a column is not categorical or has keep 0, or too many sets may be frequent
    """
    chosen = _categories(plan, names)
    table = read(rows, plan, chosen)
    columns, codes = zip(*(_coded(name, plan.columns[name], table[name]) for name in chosen), strict=True)
    estimates = Estimates(columns, np.column_stack(codes))
    of_column = tuple(at for at, _ in estimates.places)
    problem = Problem(
        of_column, max(1, len(codes[0])), Fraction(str(bounds.support)), max_length=min(bounds.max_length, len(columns))
    )
    levels: list[tuple[ItemSet, ...]] = []
    while candidates := problem.candidates(tuple(levels)):
        estimates.count(candidates)
        levels.append(tuple(items for items in candidates if estimates.share(items) >= bounds.support))
    return estimates, tuple(levels)


def held(estimates: Estimates, levels: Levels, bounds: Bounds) -> dict[tuple[ItemSet, ItemSet], dict[str, float]]:
    """Return the rules of frequent sets that reach the bounds, with support, confidence and lift.

    Args:
        estimates: estimated shares of the sets in the true rows
        levels: frequent sets, by length
        bounds: least confidence and least lift
    """
    rules = {}
    for condition, then in rules_of(levels):
        both, of_if, of_then = map(estimates.share, (tuple(sorted((*condition, *then))), condition, then))
        confidence, lift = min(1.0, both / of_if), both / (of_if * of_then)
        if confidence >= bounds.confidence and lift >= bounds.lift:
            rules[condition, then] = {"support": both, "confidence": confidence, "lift": lift}
    return rules


def _categories(plan: BlurPlan, names: Sequence[str] | None) -> list[str]:
    categorical = [name for name, column in plan.columns.items() if not column.numeric]
    for name in names or ():
        if name in plan.columns and plan.columns[name].numeric:
            raise InputError(f"--columns: {quoted(name)} is blurred as a number, but rules need categories; remove it")
        if name not in categorical:
            raise InputError(f"--columns: the plan has no column {quoted(name)}{instead(name, categorical)}")
    chosen = [name for name in categorical if names is None or name in names]
    if len(chosen) < 2:
        raise InputError("rules need at least two columns of categories (noise response or none); name more columns")
    if unclear := [name for name in chosen if "=" in name]:
        raise InputError(
            f"column {quoted(unclear[0])} has an = in its name, which rules use as column=value; rename the column"
        )
    return chosen


def _coded(name: str, how: ColumnBlur, answers: Any) -> tuple[Column, Any]:
    """Return a column's values with `keep`, and the index of each row's answer."""
    if how.noise == "response":
        if not how.response.keep:
            raise InputError(
                f"column {quoted(name)}: keep is 0, so answers do not depend on the truth; set keep above 0"
            )
        return Column(name, how.values or (), how.response.keep), answers.astype(np.int64)
    values, codes = np.unique(np.array(answers, dtype=object), return_inverse=True)
    return Column(name, tuple(values.tolist()), 1.0), codes
