"""Count the rows for each value of a column, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import Noise
from parties.jobs.release.postprocessing import percentages
from parties.jobs.release.question import Part, Question, number, own_vector, sums
from parties.jobs.release.reading import Cells
from parties.jobs.release.settings import ApartSettings, DrawnSettings
from parties.jobs.settings import Name, public


class HistogramSettings(DrawnSettings, ApartSettings):
    """Settings of `smc release histogram`."""

    by: Name | None = public(None, "Column", "Column whose values are counted", column=True)


class Histogram(Release):
    """Count the rows of both parties for each value of a column. Both learn the numbers, with noise unknown to
    either.

    A row counts for one value only, so epsilon is spent once for all values. The noise of each number has scale
    1 / epsilon, or twice that if neighbouring tables differ by a replaced row. Percentages follow from these
    numbers.
    """

    name = "release histogram"
    about = Description("Noisy histogram", "histogram", example="--by outcome --epsilon 1")
    Settings: ClassVar[type[DrawnSettings]] = HistogramSettings

    @override
    def ask(self) -> Question:
        cells, rows = self.cells(*self.named(self.settings)), self.rows_each
        noise = self.noise(min(cells.number, 2) if self.replaced else 1)
        return sums(
            "how many rows of both tables there are" + cells.words,
            [Part(cells.number, rows, False, noise)],
            lambda counts: own_vector(cells.count(counts, cells.by[-1])),
            lambda state: self.shown(state, cells, noise),
            target=cells.by[-1],
        )

    def shown(self, state: Sequence[int], cells: Cells, noise: Noise | None) -> Mapping[str, Any]:
        """Return the result: each number with its interval, and their sum.

        Args:
            state: The opened numbers, in the order of the cells.
            cells: The cells and their values.
            noise: Noise on each number; None if the numbers are exact.
        """
        most = Fraction(2 * self.rows_each)
        reach, reach_of_all = (None, None) if noise is None else (noise.reach(), noise.reach(cells.number))
        noisy = np.array(state, dtype=np.int64)
        shares = percentages(np.clip(noisy, 0, int(most)), noisy, noise)
        numbers = (number(opened, reach, Fraction(0), most) for opened in state)
        return {
            "by": list(cells.by),
            "numbers": cells.answers(amount | share for amount, share in zip(numbers, shares, strict=True)),
            "total": number(int(np.sum(state)), reach_of_all, Fraction(0), most),
        }
