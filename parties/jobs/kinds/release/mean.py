"""Find the mean of a column, with noise.

The numbers are in [a, b]. Two sums over the rows are opened with equal noise: of x - a and of b - x. A row changes both
together by b - a, whatever its x (Kulesza, Suresh, Wang 2023). So all of epsilon serves both sums. Their total is the
number of rows times b - a. The first sum's share of the total is the position of the mean between a and b. The error is
1.41 times smaller than with half of epsilon for a sum and half for a number of rows.

**The interval** (Fieller 1954). Let p be the true share, and let U and V be the opened sums with noises X and Y. Then U
- p (U + V) = (1 - p) X - p Y. Discrete Laplace noise and Laplace noise of equal scale have a coupling with a distance
of at most 1. A weighted mean of two Laplace variables is not more spread than one of them (Proschan 1965). So with
probability 95 %, |U - p (U + V)| <= scale ln 20 + 1. The interval has all p that satisfy this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.kinds.release.sum import SumSettings
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import CONFIDENCE, Noise
from parties.jobs.release.question import Part, Question, own_vector, plain, sums
from parties.jobs.release.values import Values, read


class Mean(Release):
    """Find the mean of a column of numbers over the rows of both parties. Both learn it, with noise.

    Two noisy sums are opened: the distances of the numbers from the column's lower public bound, and from the
    upper one. Groups (--by) cost no further epsilon. Missing values do not count.
    """

    name = "release mean"
    about = Description("Noisy mean", "mean", example="--column visits --by sex --epsilon 1")
    Settings = SumSettings
    streamed = True

    @override
    def ask(self) -> Question:
        cells = self.summed(*self.named(self.settings))
        of, many = cells.by[-1], cells.groups.number
        values = read(of, cells.domains[-1], "a mean")
        noise = self.noise(values.span * (2 if self.replaced else 1))
        return sums(
            f"the mean of {of} over the rows of both tables{cells.groups.words}, from two numbers of each: "
            "how much the numbers are above their lower bound in all, and how much below the upper one",
            [Part(2 * many, self.rows_each * values.span, False, noise)],
            lambda rows: own_vector(cells.sums(rows, values.from_zero.vector, values.below)),
            lambda state: cells.grouped(means(state, values, noise)),
            values.from_zero.unit,
            target=of,
        )


def means(state: Sequence[int], values: Values, noise: Noise | None) -> list[Mapping[str, Any]]:
    """Return the mean of each group; with noise also the smallest and largest possible mean.

    Args:
        state: The opened sums in units: for each group the excess above the lower bound, then for each group the
            shortfall below the upper bound.
        values: Public bounds and numbers of the column.
        noise: Noise on each sum; None if the sums are exact.

    Returns:
        One result for each group; the mean is None if the opened sums show less than one row.
    """
    unit, span = values.from_zero.unit, values.span

    def mean(above: int, total: int) -> Fraction:
        return min(max(values.least + Fraction(above * span, total) * unit, values.least), values.greatest)

    reach = 0 if noise is None else 1 + math.ceil(-noise.scale * math.log(1 - CONFIDENCE))
    answers: list[Mapping[str, Any]] = []
    for above, below in zip(state[: len(state) // 2], state[len(state) // 2 :], strict=True):
        total, rows = above + below, max(round(Fraction(above + below, span)), 0)
        value, low, high = None, values.least, values.greatest
        if total >= span:  # below, there may be no row, and any mean is possible
            low, value, high = (mean(above + step, total) for step in (-reach, 0, reach))
        answer: dict[str, Any] = {"value": None if value is None else plain(value), "rows": rows}
        if noise is not None:
            noisy = [plain(above * unit), plain(below * unit)]
            answer |= {"low": plain(low), "high": plain(high), "noisy": noisy}
        answers.append(answer)
    return answers
