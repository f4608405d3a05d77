"""How many rows of both parties have each value of a column."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import Document
from parties.jobs.release.cells import labels, words
from parties.jobs.release.kind import Numbers
from parties.jobs.release.noise import laplace
from parties.jobs.release.reading import Question, cells
from parties.jobs.release.settings import DrawnSettings
from parties.jobs.release.sums import Part, Sums, number, own_vector
from parties.jobs.settings import public
from parties.jobs.tabular_settings import Name

if TYPE_CHECKING:
    from protocols.counts import Counts


class HistogramSettings(DrawnSettings):
    """`smc release histogram`."""

    by: Name | None = public(None, "Column", "The column whose values are counted", column=True)


class Histogram(Sums):
    """How many rows of both parties have each value of a column? Both learn the numbers, with noise that neither knows.

    A row counts for one value only, so epsilon is spent once, however many values there are: noise of the scale
    1 / epsilon on each, or twice that if neighbours are rows replaced.
    """

    name = "release-histogram"
    title = "Noisy histogram"
    Settings: ClassVar[type[DrawnSettings]] = HistogramSettings
    example = "--data mine.csv --schema schema.toml --by outcome --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --by outcome --epsilon 1 "
    noun = "histogram"
    draws = True

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        return (required(settings.by, f"{cls.name}.by"),)

    @property
    def asked_for(self) -> Question:
        """The cells."""
        return Question(self.where, self.named(self.settings))

    @override
    def check(self) -> None:
        self.asked_for.check(self.schema)
        self.check_sizes()

    @cached_property
    @override
    def parts(self) -> tuple[Part, ...]:
        """See `Sums.parts`: disjoint cells."""
        many = len(labels(self.asked_for, self.schema))
        noise = None
        if not self.exact:
            noise = laplace(self.epsilon, min(many, 2) if self.replaced else 1, self.settings.adjacency)
        return (Part(many, self.settings.max_rows, False, noise),)

    @property
    @override
    def subject(self) -> str:
        return self.asked_for.by[-1]

    @property
    @override
    def target(self) -> str:
        return self.asked_for.by[-1]

    @property
    @override
    def learnt(self) -> str:
        return "how many rows of both tables there are" + words(self.asked_for, self.schema)

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        return own_vector(cells(counts, self.schema, self.target, self.asked_for))

    @override
    def found(self, state: Sequence[int]) -> Document:
        """See `Release.found`: every number within its bounds by itself, and their sum."""
        (part,) = self.parts
        least, most = Fraction(0), Fraction(2 * self.settings.max_rows)
        reach, reach_of_all = (
            (None, None) if part.noise is None else (part.noise.reach(), part.noise.reach(part.numbers))
        )
        of = labels(self.asked_for, self.schema)
        return {
            "by": list(self.asked_for.by),
            "numbers": [
                {"cell": cell, **number(opened, reach, least, most)} for cell, opened in zip(of, state, strict=True)
            ],
            "total": number(int(np.sum(state)), reach_of_all, least, most),
        }
