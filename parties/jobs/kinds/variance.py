"""Test whether the variance of a column is above a bound.

Each party contributes n, sum x and sum x^2 of its rows. x is the distance from the least value in whole units; this
shift does not change the variance. A circuit adds both parties' numbers and compares n sum x^2 - (sum x)^2 > bound n^2
in whole numbers. Without rows the answer is no. The bit is exact: answers for enough bounds reveal the variance of the
other party's rows.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Description, exact
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question, decision
from parties.jobs.release.settings import ApartSettings, DecisionSettings
from parties.jobs.release.values import read
from parties.jobs.settings import Name, public
from smc.circuit import Integer, Wire
from smc.errors import InputError


class VarianceSettings(DecisionSettings, ApartSettings):
    """Settings of `smc variance`."""

    column: Name | None = public(
        None, "Column of numbers", "Column of numbers; its values in the schema are public", column=True
    )
    above: Annotated[float, Field(strict=True, ge=1e-6, le=1e12)] | None = public(
        None, "Bound", "Bound: the answer is yes if the variance is above it"
    )


class Variance(Release):
    """Test whether the variance of a column of numbers, over the rows of both parties, is above a bound. Both learn
    yes or no.

    The variance is the mean squared distance from the mean, divided by the number of rows n, not by n - 1.
    """

    name, Settings = "variance", VarianceSettings
    about = Description("Variance above a bound", "answer", example="--column visits --above 2.5")

    @override
    def ask(self) -> Question:
        column, above = self.settings.column, required(self.settings.above, "variance.above")
        cells = self.cells(column)
        values = read(column, cells.domains[0], "a variance").from_zero
        widths = [max(1, (self.rows_each * max(values.whole) ** power).bit_length()) for power in range(3)]
        if widths[2] > 62:
            raise InputError(
                "column: a sum of squares could take more than 62 bits: round the values, or lower max_rows"
            )
        powers = np.array([values.ones, values.vector, values.vector**2])
        numerator, denominator = (exact(above) / values.unit**2).as_integer_ratio()

        def is_above(n: Integer, s: Integer, q: Integer) -> Wire:
            """Return whether q / n - (s / n)^2 is above the bound."""
            return (s * s * denominator).wide_add(n * n * numerator) < n * q * denominator

        return decision(
            f"whether the variance of {column} over the rows of both tables{self.where.words()} is above {above:g}",
            widths, lambda counts: powers @ cells.count(counts, column), is_above,
            lambda state: {"column": column, "above": above, "answer": bool(state[0])}, target=column,
        )  # fmt: skip
