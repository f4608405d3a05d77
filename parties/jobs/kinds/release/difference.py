"""Compare the mean of a column between two groups, with noise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.release.comparison import Comparison, ComparisonSettings, Sums
from parties.jobs.release.question import Part
from parties.jobs.release.values import Values, read
from parties.jobs.settings import Name, public
from protocols.arrays import Numbers


class DifferenceSettings(ComparisonSettings):
    """Settings of `smc release difference`."""

    column: Name | None = public(
        None,
        "Column of numbers",
        "Column whose means are compared; its values in the schema are the public bounds",
        column=True,
    )


class Difference(Comparison):
    """Compare the mean of a column between two groups of the rows of both parties. Both learn the means, their
    difference and its size in standard deviations (Hedges' g), with noise.

    Three sums for each group are opened, as for a deviation (`smc release deviation`). Variances may differ (Welch),
    but g divides by the pooled deviation. Intervals include the noise.
    """

    name = "release difference"
    about = Description("Compared means", "comparison", example="--column visits --by arm --epsilon 1")
    Settings = DifferenceSettings
    measures = 3  # squares of the number's part and of the rest of the width of the bounds, and twice their product

    @cached_property
    def _values(self) -> Values:
        column = self.settings.column
        return read(column, self.where.values(column, self.schema), "a mean")

    @override
    def parts(self, cells: int) -> list[Part]:
        most = self._values.span**2
        return [Part(3 * cells, self.rows_each * most, False, self.noise(most * (2 if self.replaced else 1)))]

    @override
    def of_rows(self, codes: Mapping[str, Numbers]) -> tuple[Numbers, NDArray[np.bool_]]:
        place, above, below = codes[self.settings.column], self._values.from_zero.vector, self._values.below
        return np.array([below**2, 2 * above * below, above**2])[:, place], self._values.ones[place] > 0

    @property
    @override
    def unit(self) -> Fraction:
        return self._values.from_zero.unit**2

    @property
    @override
    def learnt(self) -> str:
        return f"the mean of {self.settings.column}"

    @override
    def estimates(self, known: Sums) -> Document:
        values, span = self._values, float(self._values.span)
        known = known.times(span**-2)  # the three add up to the number of rows
        low, wide = float(values.least), float(values.greatest - values.least)

        def rows(group: int) -> Any:
            return lambda x: x[:, 0, group].sum()

        def mean(x: Any, group: int) -> Any:
            return low + wide * (x[1, 0, group] / 2 + x[2, 0, group]) / x[:, 0, group].sum()

        def variance(x: Any, group: int) -> Any:
            """Return the sample variance, divided by n - 1."""
            n = x[:, 0, group].sum()
            return (x[2, 0, group] / n - ((mean(x, group) - low) / (wide or 1)) ** 2) * wide**2 * n / (n - 1)

        def pooled(x: Any) -> Any:
            n = [x[:, 0, group].sum() - 1 for group in (0, 1)]
            return (variance(x, 0) * n[0] + variance(x, 1) * n[1]) / (n[0] + n[1])

        def hedges(x: Any) -> Any:
            n = x.sum()
            return (mean(x, 1) - mean(x, 0)) / np.sqrt(pooled(x)) * (1 - 3 / (4 * n - 9))

        n = [max(float(known.x[:, 0, group].sum()), 2.0) for group in (0, 1)]
        errors = [
            max(float(variance(known.x, g)), 0.0) / n[g] if known.is_above_noise(rows(g)) else 0.0 for g in (0, 1)
        ]
        needs = [lambda x: rows(0)(x) - 1, lambda x: rows(1)(x) - 1]
        of, sized = self.groups, [*needs, pooled]
        g = float(hedges(known.x)) if all(map(known.is_above_noise, sized)) else 0.0
        numbers = [
            known.estimate(f"mean in {of[0]}", lambda x: mean(x, 0), errors[0], needs[:1], tests=False),
            known.estimate(f"mean in {of[1]}", lambda x: mean(x, 1), errors[1], needs[1:], tests=False),
            known.estimate("difference", lambda x: mean(x, 1) - mean(x, 0), sum(errors), needs),
            known.estimate("Hedges' g", hedges, 1 / n[0] + 1 / n[1] + g**2 / 2 / (sum(n) - 3.94), sized),
        ]
        return {"column": self.settings.column, "numbers": numbers}
