"""Find the median of a column, with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.kinds.release.top import ChoiceSettings
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question
from parties.jobs.release.ranges import Ranges, RoundedSettings
from protocols.arrays import Numbers

if TYPE_CHECKING:
    from protocols.counts import Rows
    from smc.engines import Engine


class MedianSettings(ChoiceSettings, RoundedSettings):
    """Settings of `smc release median`."""


class Median(Release):
    """Find the median of a column of numbers over the rows of both parties. Both learn one of its public values.

    The exponential mechanism chooses the value: values near the middle of all rows are likelier. No count of
    rows is opened. Groups (--by) cost no further epsilon. Missing values do not count.
    """

    name = "release median"
    about = Description("Noisy median", "median", example="--column visits --by sex --epsilon 1")
    Settings = MedianSettings
    streamed = True

    @override
    def ask(self) -> Question:
        cells = self.summed(*self.named(self.settings))
        of, groups, width = cells.by[-1], cells.groups.number, self.rows_each.bit_length()
        candidates = Ranges.of(of, cells.domains[-1], self.settings.round_to, "a median")
        candidates.check(groups)
        noise = self.noisy_max(2 if self.replaced else 1)  # monotone scores, see `protocols.release.median`
        law = None if noise is None else noise.law(len(candidates) * groups)

        def count(rows: Rows) -> Numbers:
            """Return the numbers of rows below each candidate, then above each candidate."""
            by_range = cells.ranges(rows, candidates.range_of, len(candidates)).T
            up_to = by_range.cumsum(axis=0)
            return np.concatenate([up_to - by_range, up_to[-1] - up_to]).reshape(-1)

        def opened(engine: Engine, numbers: Numbers) -> list[int]:
            from protocols.release.median import noisy_median

            below, above = numbers.reshape(2, len(candidates), -1)
            return noisy_median(engine, below, above, width, law).tolist()

        return Question(
            f"the median of {of} over the rows of both tables{cells.groups.words}",
            2 * len(candidates) * groups,
            count,
            opened,
            lambda state: cells.grouped(candidates.fields(index) for index in state),
            () if noise is None else (noise,),
            f"choice {'without' if noise is None else 'with'} noise",
            target=of,
            bits=groups * (len(candidates) - 1).bit_length() if noise is None else None,
        )
