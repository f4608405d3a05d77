"""Correlate two columns of numbers, with noise.

Each number is scaled by the bounds of its column: u and v are from 0 to 1. Bernstein's polynomials of degree 2, (1 -
u)^2, 2 u (1 - u) and u^2, add up to 1, and likewise for v. Their nine products add up to 1, too. The sums of these
products over the rows are opened, all with equal noise. A row changes the nine sums by 1 together, so all of epsilon
serves all of them (as for a mean, `release.mean`). With x = u - 1/2 and y = v - 1/2 the sums give

    T = all nine, the number of rows                    sum x = (last - first) / 2 of the three sums over v
    sum x^2 = (first - middle + last) / 4 of these      sum x y = (corners of equal ends - the others) / 4

and likewise for y; then r = (sum x y - sum x sum y / T) / sqrt((sum x^2 - (sum x)^2 / T) (sum y^2 - (sum y)^2 / T)).

**The interval.** Each of the six sums adds noisy numbers with factors of one size. Its reach is the bound on such a sum
of noises at a sixth of 5 %. Interval arithmetic gives the least and the greatest r for six sums within these reaches.
Nothing is approximated, so the interval is longer than necessary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Description
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import CONFIDENCE, Noise
from parties.jobs.release.question import Part, Question, own_vector, plain, sums
from parties.jobs.release.settings import DrawnSettings, GroupSettings
from parties.jobs.release.values import Values, decimal, read
from parties.jobs.settings import Columns, public
from parties.tables.delimited import MISSING
from protocols.counts import Rows
from smc.errors import InputError

EACH = 1 - (1 - CONFIDENCE) / 6  # confidence of each sum, so that all six hold together


class CorrelationSettings(GroupSettings, DrawnSettings):
    """Settings of `smc release correlation`."""

    numeric: Columns | None = public(None, "Numbers", "Two columns of numbers, separated by a comma", column=True)


class Correlation(Release):
    """Correlate two columns of numbers over the rows of both parties. Both learn Pearson's correlation, with noise.

    It follows from nine noisy sums that share epsilon. Groups (--by) cost no further epsilon. Rows with a missing
    number do not count. A column with two values that are not numbers counts as 0 and 1, in the order of the
    schema.
    """

    name = "release correlation"
    about = Description("Noisy correlation", "correlation", example="--numeric age,visits --epsilon 1")
    Settings = CorrelationSettings
    streamed = True

    @override
    def ask(self) -> Question:
        named = required(self.settings.numeric, "release correlation.numeric")
        if len(named) != 2:
            raise InputError(f"numeric: a correlation needs two columns, not {len(named)}; name two")
        cells = self.summed(*(self.settings.by or ()), *named)
        first, second = (self._values(column) for column in named)
        noise = self.noise(first.span**2 * second.span**2 * (2 if self.replaced else 1))
        down, across = _parts(first), _parts(second)
        groups = cells.groups.number // down.shape[1]

        def count(rows: Rows) -> Any:
            """Return this party's nine sums of each group, int64[9 groups]."""
            by_first = cells.sums(rows, *across).reshape(3, groups, -1)  # of each value of the first column
            return own_vector(np.einsum("pv,qgv->pqg", down, by_first))

        about = cells.groups.groups
        return sums(
            f"the correlation of {named[0]} and {named[1]} over the rows of both tables{about.words}, from nine "
            "numbers of each: sums of products of what they are above their lower bounds and below their upper ones",
            [Part(9 * groups, self.rows_each * first.span**2 * second.span**2, False, noise)],
            count,
            lambda state: {
                "columns": list(named),
                "by": list(about.by),
                "numbers": about.answers(correlations(state, first, second, noise)),
            },
            subject=" and ".join(named),
            target=cells.by[-1],
        )

    def _values(self, column: str) -> Values:
        labels = self.where.values(column, self.schema)
        present = [label for label in self.schema.attributes[column] if label != MISSING]
        if len(present) == 2 and None in map(decimal, present):
            return Values(tuple(None if label == MISSING else Fraction(present.index(label)) for label in labels))
        return read(column, labels, "a correlation", "numeric")


def _parts(values: Values) -> Any:
    """Return the three polynomials of each value, times span^2, int64[3, values]; 0 for a missing value."""
    above, below = values.from_zero.vector, values.below
    return np.array([below**2, 2 * above * below, above**2])


@dataclass(frozen=True)
class _Range:
    """Interval of real numbers, from `low` to `high`."""

    low: Fraction
    high: Fraction

    def __sub__(self, other: _Range) -> _Range:
        return _Range(self.low - other.high, self.high - other.low)

    def __mul__(self, other: _Range) -> _Range:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return _Range(min(ends), max(ends))

    def __truediv__(self, positive: _Range) -> _Range:
        return self * _Range(1 / positive.high, 1 / positive.low)

    def squared(self) -> _Range:
        ends = self.low**2, self.high**2
        return _Range(Fraction(0) if self.low <= 0 <= self.high else min(ends), max(ends))


def correlations(state: Sequence[int], first: Values, second: Values, noise: Noise | None) -> list[Mapping[str, Any]]:
    """Return Pearson's correlation of each group; with noise also the smallest and largest possible correlation.

    Args:
        state: The opened sums: nine numbers for each group, as an array of shape (9, groups), flattened. A row adds at
            most span(first)^2 * span(second)^2 to all nine sums of its group.
        first: Public bounds and numbers of the first column.
        second: Public bounds and numbers of the second column.
        noise: Noise on each sum; None if the sums are exact.

    Returns:
        One result a group. `value` is None if the opened sums show less than one row, or a column without spread.
    """
    unit = first.span**2 * second.span**2
    answers: list[Mapping[str, Any]] = []
    for table in np.array(state, dtype=object).reshape(3, 3, -1).transpose(2, 0, 1):
        answer: dict[str, Any] = {"value": None, "rows": max(round(Fraction(int(table.sum()), unit)), 0)}
        exact = _correlation(table, unit, lambda terms: 0)
        answer["value"] = None if exact is None else exact[0]
        if noise is not None:
            low, high = _correlation(table, unit, lambda terms: noise.reach(terms, EACH)) or (-1.0, 1.0)
            scale = first.from_zero.unit**2 * second.from_zero.unit**2
            noisy = [plain(int(opened) * scale) for opened in table.reshape(-1)]
            answer |= {"low": low, "high": high, "noisy": noisy}
        answers.append(answer)
    return answers


def _correlation(table: Any, unit: int, reach: Callable[[int], int]) -> tuple[float, float] | None:
    """Return the least and the greatest correlation for nine sums; None if any correlation is possible.

    `reach` returns the bound on the noise in a sum, from its number of noisy terms.
    """

    def around(total: int, factor: int, terms: int) -> _Range:
        """Return the interval of `total`, a sum of `terms` noisy numbers, divided by `factor` and `unit`."""
        return _Range(*(Fraction(int(total) + side * reach(terms), factor * unit) for side in (-1, 1)))

    rows = around(table.sum(), 1, 9)
    if rows.low < 1:
        return None
    centre, spread = [], []
    for three in (table.sum(axis=1), table.sum(axis=0)):
        middle = around(three[2] - three[0], 2, 6)
        centre.append(middle)
        spread.append(around(three[0] - three[1] + three[2], 4, 9) - middle.squared() / rows)
    product = around(table[0, 0] + table[2, 2] - table[0, 2] - table[2, 0], 4, 4) - centre[0] * centre[1] / rows
    if min(part.low for part in spread) <= 0:
        return None
    least, most = (math.sqrt(spread[0].low * spread[1].low), math.sqrt(spread[0].high * spread[1].high))
    ends = [float(end) / size for end in (product.low, product.high) for size in (least, most)]
    low, high = (min(max(end, -1.0), 1.0) for end in (min(ends), max(ends)))
    return low, high
