"""The sum of a column of numbers over the rows of both parties, of all or of each group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.release.cells import GroupSettings, OfColumn, words
from parties.jobs.release.kind import Numbers
from parties.jobs.release.noise import laplace
from parties.jobs.release.reading import Question, cells
from parties.jobs.release.settings import DrawnSettings
from parties.jobs.release.sums import Part, Sums, number, own_vector
from parties.jobs.release.values import Values, read
from parties.jobs.settings import public
from parties.jobs.tabular_settings import Name

if TYPE_CHECKING:
    from protocols.counts import Counts


class SumSettings(GroupSettings, DrawnSettings):
    """`smc release sum`."""

    of: Name | None = public(
        None,
        "Column of numbers",
        "The column of numbers; the schema lists its values, so bounds are public",
        column=True,
    )


class Numeric(OfColumn, Sums):
    """A question on the values of a column that are numbers, for all rows or for each group."""

    Settings = SumSettings
    draws = True
    settings: SumSettings
    what = "a sum"

    @property
    def values(self) -> Values:
        """The numbers that the wanted values are."""
        return read(self.subject, self.where.values(self.subject, self.schema), self.what)

    @override
    def check(self) -> None:
        Question(self.where, self.named(self.settings)).check(self.schema)
        _ = self.values  # refused here if they are none
        self.check_sizes()

    def own_table(self, counts: Counts) -> Numbers:
        """Own rows by group and value, int64[groups, values]."""
        table = cells(counts, self.schema, self.target, Question(self.where, self.named(self.settings)))
        return table.reshape(self.group_count, -1)

    def answers(self, numbers: Sequence[Document]) -> Document:
        """Return the result: a number for each group."""
        return {
            "of": self.subject,
            "by": list(self.groups.by),
            "numbers": [{"cell": cell, **one} for cell, one in zip(self.group_labels, numbers, strict=True)],
        }


class Sum(Numeric):
    """What do the numbers of a column add up to over the rows of both parties? Both learn the sum, with noise.

    The column's values are those that the schema lists, as numbers, so what one row can add is public: the noise has
    the scale of the greatest of them, divided by epsilon. Groups (--by) cost nothing more. Missing values count as 0.
    """

    name = "release-sum"
    title = "Noisy sum"
    example = "--data mine.csv --schema schema.toml --of visits --by sex --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --of visits --epsilon 1 "
    noun = "sum"

    @cached_property
    @override
    def parts(self) -> tuple[Part, ...]:
        whole, groups = self.values.whole, self.group_count
        noise = None
        if not self.exact:
            change = max(1, self.values.change(self.replaced, groups))
            noise = laplace(self.epsilon, change, self.settings.adjacency)
        return (Part(groups, self.settings.max_rows * max(map(abs, whole)), min(whole) < 0, noise),)

    @property
    @override
    def unit(self) -> Fraction:
        return self.values.unit

    @property
    @override
    def learnt(self) -> str:
        return f"the sum of {self.subject} over the rows of both tables" + words(self.groups, self.schema)

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        """See `Release.own_numbers`: in units."""
        return own_vector(self.own_table(counts) @ np.array(self.values.whole, dtype=np.int64))

    @override
    def found(self, state: Sequence[int]) -> Document:
        (part,) = self.parts
        reach = None if part.noise is None else part.noise.reach()
        rows = 2 * self.settings.max_rows
        bounds = (rows * min(self.values.least, Fraction(0)), rows * max(self.values.greatest, Fraction(0)))
        return self.answers([number(opened, reach, *bounds, unit=self.unit) for opened in state])
