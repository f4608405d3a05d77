"""Count rows, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Part, Question, number, own_vector, sums
from parties.jobs.release.reading import Cells
from parties.jobs.release.settings import ApartSettings, DrawnSettings, GaussianSettings
from smc.errors import InputError

MOST_PREDICATES = 256


class CountSettings(GaussianSettings, DrawnSettings, ApartSettings):
    """Settings of `smc release count`."""


class Count(Release):
    """Count the rows of both parties that meet a condition. Both learn the number, with noise unknown to either.

    Several conditions (--where repeated, or ';' between them) give several numbers that share epsilon. If a row
    can count for m of them, their noise has scale m / epsilon. A replaced row can change up to 2 m of them. With
    --delta the noise is Gaussian, and grows only with the root of m.
    """

    name = "release count"
    about = Description("Noisy count", "count", example="--where 'age in [young, middle]' --epsilon 1")
    Settings = CountSettings
    counts_several = True

    @override
    def ask(self) -> Question:
        predicates, rows, target = self.predicates, self.rows_each, self.columns[0]
        if len(predicates) > MOST_PREDICATES:
            raise InputError(f"where: {len(predicates)} predicates, more than {MOST_PREDICATES}; ask in several jobs")
        counted = [Cells(self.schema, predicate) for predicate in predicates]
        for cells in counted:
            cells.check()
        # A row changes at most this many numbers, by 1 each.
        near = max(sum(not predicate.excludes(other) for other in predicates) for predicate in predicates)
        noise = self.noise(min(len(predicates), 2 * near if self.replaced else near))

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            reach = None if noise is None else noise.reach()
            answers = [number(opened, reach, Fraction(0), Fraction(2 * rows)) for opened in state]
            labels = [predicate.text() or "all rows" for predicate in predicates]
            return {"numbers": [{"of": label, **answer} for label, answer in zip(labels, answers, strict=True)]}

        learnt = f"how many rows of both tables there are{self.where.words()}"
        if len(predicates) > 1:
            several = [f"{place}) those{predicate.words()}" for place, predicate in enumerate(predicates, 1)]
            learnt = f"how many rows of both tables are such: {'; '.join(several)}"
        return sums(
            learnt,
            [Part(len(predicates), rows, False, noise)],
            lambda counts: own_vector(*(cells.count(counts, target) for cells in counted)),
            show,
        )
