"""Add up a column, with noise."""

from __future__ import annotations

from fractions import Fraction

from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Part, Question, number, own_vector, sums
from parties.jobs.release.settings import DrawnSettings, GroupSettings
from parties.jobs.release.values import read
from parties.jobs.settings import Name, public


class SumSettings(GroupSettings, DrawnSettings):
    """Settings of `smc release sum`."""

    column: Name | None = public(
        None,
        "Column of numbers",
        "Column of numbers; its least and greatest value in the schema are the public bounds",
        column=True,
    )


class Sum(Release):
    """Add up the numbers of a column over the rows of both parties. Both learn the sum, with noise.

    The schema lists the values of the column as numbers. So the sensitivity is public: the most that one row
    changes the sums. The scale of the noise is the sensitivity divided by epsilon. Groups (--by) cost no further
    epsilon. Missing values count as 0.
    """

    name = "release sum"
    about = Description("Noisy sum", "sum", example="--column visits --by sex --epsilon 1")
    Settings = SumSettings
    streamed = True

    @override
    def ask(self) -> Question:
        cells, rows = self.summed(*self.named(self.settings)), 2 * self.rows_each
        values, groups, of = read(cells.by[-1], cells.domains[-1], "a sum"), cells.groups, cells.by[-1]
        noise = self.noise(max(1, values.change(self.replaced, groups.number)))
        reach = None if noise is None else noise.reach()
        bounds = rows * min(values.least, Fraction(0)), rows * max(values.greatest, Fraction(0))
        return sums(
            f"the sum of {of} over the rows of both tables{groups.words}",
            [Part(groups.number, self.rows_each * max(map(abs, values.whole)), min(values.whole) < 0, noise)],
            lambda rows: own_vector(cells.sums(rows, values.vector)),
            lambda state: cells.grouped(number(opened, reach, *bounds, values.unit) for opened in state),
            values.unit,
            target=of,
        )
