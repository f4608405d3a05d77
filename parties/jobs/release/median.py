"""The median of a column of numbers over the rows of both parties, of all or of each group."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from parties.base.arrays import Numbers
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question, plain
from parties.jobs.release.top import ChoiceSettings
from parties.jobs.release.values import read

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.engines import Engine


class Median(Release):
    """What is the median of a column of numbers over the rows of both parties? Both learn one of its public values.

    The value is chosen by the exponential mechanism in its best form: the nearer to the middle of all rows, the more
    likely. No number of rows is opened. Groups (--by) cost nothing more. Missing values do not count.
    """

    name = "release median"
    title = "Noisy median"
    example = "--data mine.csv --schema schema.toml --column visits --by sex --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --column visits --epsilon 1 "
    noun = "median"
    Settings = ChoiceSettings

    @override
    def ask(self) -> Question:
        cells = self.cells(*self.named(self.settings))
        of = cells.by[-1]
        candidates = read(of, cells.domains[-1], "a median").ordered
        groups, width = cells.groups.number, self.settings.max_rows.bit_length()
        noise = self.noisy_max(2 if self.replaced else 1)  # monotone scores, see `protocols.release.median`
        law = None if noise is None else noise.law(len(candidates) * groups)
        numbers = [value for value, _ in candidates]
        first, behind = ([find(numbers, value) for value in numbers] for find in (bisect_left, bisect_right))

        def count(counts: Counts) -> Numbers:
            """Return how many rows have less than each candidate, then how many have more."""
            ordered = cells.by_group(counts).T[[place for _, place in candidates]]
            up_to = np.concatenate([np.zeros((1, groups), dtype=np.int64), ordered.cumsum(axis=0)])
            return np.concatenate([up_to[first], up_to[-1] - up_to[behind]]).reshape(-1)

        def opened(engine: Engine, numbers: Numbers) -> list[int]:
            from protocols.release.median import noisy_median

            below, above = numbers.reshape(2, len(candidates), -1)
            return noisy_median(engine, below, above, width, law).tolist()

        return Question(
            f"the median of {of} over the rows of both tables{cells.groups.words}",
            2 * len(candidates) * groups,
            count,
            opened,
            lambda state: cells.grouped({"value": plain(candidates[index][0])} for index in state),
            () if noise is None else (noise,),
            f"choice {'without' if noise is None else 'with'} noise",
            of,
            of,
            bits=groups * (len(candidates) - 1).bit_length() if noise is None else None,
        )
