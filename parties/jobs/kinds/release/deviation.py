"""Find the standard deviation and mean of a column, with noise.

A number x in [a, b] is s = x - a above the lower bound, and w = b - a is the width. Three sums over the rows are
opened, all with equal noise: of (w - s)^2, of 2 s (w - s), and of s^2. The three terms add up to w^2. So a row changes
the three sums by w^2 together, and all of epsilon serves all of them (as for a mean, `release.mean`). Their total T is
the number of rows times w^2. In units of w, let S(m) be w^2 times the sum of (s / w - m)^2:

    S(m) = m^2 first - m (1 - m) second + (1 - m)^2 third.

S is least at the mean, m = (second / 2 + third) / T. The variance is this least value, divided by T.

**The interval.** For m from 0 to 1 the absolute factors in S(m) add up to at most 1. While each noise is at most q, the
error of S(m) is at most q for all these m at once, and the error of T at most 3 q. So the variance, in units of w^2, is
from (S - q) / (T + 3 q) to (S + q) / (T - 3 q), where S is the least value of the opened sums. Nothing is approximated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.kinds.release.sum import SumSettings
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import CONFIDENCE, Noise
from parties.jobs.release.question import Part, Question, own_vector, plain, sums
from parties.jobs.release.values import Values, read

EACH = 1 - (1 - CONFIDENCE) / 3  # confidence of each noise, so that all three hold together


class Deviation(Release):
    """Find the standard deviation and the mean of a column of numbers over the rows of both parties, with noise.

    They follow from three noisy sums that share epsilon. Groups (--by) cost no further epsilon. Missing values do not
    count. It is the deviation of these rows: the sum of squares is divided by their number.
    """

    name = "release deviation"
    about = Description("Noisy standard deviation", "deviation", example="--column visits --by sex --epsilon 1")
    Settings = SumSettings
    streamed = True

    @override
    def ask(self) -> Question:
        cells = self.summed(*self.named(self.settings))
        of, many = cells.by[-1], cells.groups.number
        values = read(of, cells.domains[-1], "a deviation")
        above, below = values.from_zero.vector, values.below
        noise = self.noise(values.span**2 * (2 if self.replaced else 1))
        return sums(
            f"the standard deviation and the mean of {of} over the rows of both tables{cells.groups.words}, from three "
            "sums: of the square of its excess above the lower bound, of the square of its shortfall below the upper "
            "bound, and of twice their product",
            [Part(3 * many, self.rows_each * values.span**2, False, noise)],
            lambda rows: own_vector(cells.sums(rows, below**2, 2 * above * below, above**2)),
            lambda state: cells.grouped(deviations(state, values, noise)),
            values.from_zero.unit**2,
            target=of,
        )


def deviations(state: Sequence[int], values: Values, noise: Noise | None) -> list[Mapping[str, Any]]:
    """Return standard deviation, variance and mean of each group; with noise also the range of the deviation.

    Args:
        state: The opened sums: three for each group, as an array of shape (3, groups), flattened, in squared units.
        values: Public bounds and numbers of the column.
        noise: Noise on each sum; None if the sums are exact.

    Returns:
        One result for each group; its values are None if the opened sums show less than one row.
    """
    span = values.span
    wide = span * values.from_zero.unit  # b - a
    reach = 0 if noise is None else noise.reach(confidence=EACH)
    answers: list[Mapping[str, Any]] = []
    for first, second, third in np.array(state, dtype=object).reshape(3, -1).T.tolist():
        total = first + second + third
        rows = max(round(Fraction(total, span**2)), 0)
        answer: dict[str, Any] = {"value": None, "variance": None, "mean": None, "rows": rows}
        low, high = 0.0, float(wide) / 2  # the greatest possible: half of the rows at either bound
        if total >= span**2:
            m = min(max((Fraction(second, 2) + third) / total, Fraction(0)), Fraction(1))
            squares = m**2 * first - m * (1 - m) * second + (1 - m) ** 2 * third
            share, mean = _share(squares / total), values.least + m * (values.greatest - values.least)
            answer |= {"value": _root(share, wide), "variance": plain(share * wide**2), "mean": plain(mean)}
            low = _root(_share((squares - reach) / (total + 3 * reach)), wide)
            if total > 3 * reach:
                high = _root(_share((squares + reach) / (total - 3 * reach)), wide)
        if noise is not None:
            unit = values.from_zero.unit**2
            answer |= {"low": low, "high": high, "noisy": [plain(opened * unit) for opened in (first, second, third)]}
        answers.append(answer)
    return answers


def _share(variance: Fraction) -> Fraction:
    return min(max(variance, Fraction(0)), Fraction(1, 4))


def _root(share: Fraction, wide: Fraction) -> float:
    return math.sqrt(share) * float(wide)
