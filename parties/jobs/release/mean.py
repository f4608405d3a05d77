"""The mean of a column of numbers over the rows of both parties, of all or of each group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.release.cells import words
from parties.jobs.release.kind import Numbers
from parties.jobs.release.noise import CONFIDENCE, laplace
from parties.jobs.release.sum import Numeric
from parties.jobs.release.sums import Part, own_vector, plain

if TYPE_CHECKING:
    from protocols.counts import Counts

EACH = 1 - (1 - CONFIDENCE) / 2  # of the two intervals that the one of a mean is made of


class Mean(Numeric):
    """What is the mean of a column of numbers over the rows of both parties? Both learn it, with noise.

    Two noisy numbers are opened, each with half of epsilon: the sum of the distances from the middle of the column's
    public bounds, and the number of rows. Groups (--by) cost nothing more. Missing values do not count.
    """

    name = "release-mean"
    title = "Noisy mean"
    example = "--data mine.csv --schema schema.toml --of visits --by sex --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --of visits --epsilon 1 "
    noun = "mean"
    what = "a mean"

    @cached_property
    @override
    def parts(self) -> tuple[Part, ...]:
        """See `Sums.parts`: the sums of the groups, then their numbers of rows."""
        groups, rows, whole = self.group_count, self.settings.max_rows, self.values.centred.whole
        sums = counts = None
        if not self.exact:
            change = max(1, self.values.centred.change(self.replaced, groups))
            sums = laplace(self.epsilon / 2, change, self.settings.adjacency)
            counts = laplace(self.epsilon / 2, min(groups, 2) if self.replaced else 1, self.settings.adjacency)
        return (Part(groups, rows * max(map(abs, whole)), True, sums), Part(groups, rows, False, counts))

    @property
    @override
    def unit(self) -> Fraction:
        return self.values.centred.unit

    @property
    @override
    def noise_fields(self) -> Document:
        """See `Release.noise_fields`: of the sums, and of the numbers of rows."""
        rows = self.parts[1].noise
        return {} if rows is None else {**super().noise_fields, "scale_of_rows": float(rows.scale)}

    @property
    @override
    def learnt(self) -> str:
        both = "their number and the sum of their distances from the middle of its bounds"
        return (
            f"the mean of {self.subject} over the rows of both tables{words(self.groups, self.schema)}, from two "
            f"numbers of each: {both}"
        )

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        """See `Release.own_numbers`: the sums in units, then the numbers of rows."""
        table = self.own_table(counts)
        present = np.array([value is not None for value in self.values.numbers], dtype=np.int64)
        return own_vector(table @ np.array(self.values.centred.whole, dtype=np.int64), table @ present)

    @override
    def found(self, state: Sequence[int]) -> Document:
        sums, counts = self.parts
        groups = self.group_count
        pairs = zip(state[:groups], state[groups:], strict=True)
        if sums.noise is None or counts.noise is None:
            return self.answers([self._exact(one, rows) for one, rows in pairs])
        reaches = sums.noise.reach(confidence=EACH), counts.noise.reach(confidence=EACH)
        return self.answers([self._noisy(one, rows, *reaches) for one, rows in pairs])

    def _exact(self, opened: int, rows: int) -> Document:
        return {"value": plain(self._mean(opened, rows)) if rows else None, "rows": rows}

    def _noisy(self, opened: int, rows: int, reach: int, reach_of_rows: int) -> Document:
        """Return the quotient, and the least and greatest that both intervals allow; no value where there may be no
        row."""
        most = 2 * self.settings.max_rows
        few, many = (min(max(rows + step, 1), most) for step in (-reach_of_rows, reach_of_rows))
        ends = [self._mean(opened + step, count) for step in (-reach, reach) for count in (few, many)]
        nothing = rows - reach_of_rows < 1  # then the mean may be any
        low, high = (self.values.least, self.values.greatest) if nothing else (min(ends), max(ends))
        return {
            "value": plain(self._mean(opened, rows)) if rows >= 1 else None,
            "low": plain(low),
            "high": plain(high),
            "rows": max(rows, 0),
            "noisy": [plain(opened * self.unit), rows],
        }

    def _mean(self, opened: int, rows: int) -> Fraction:
        """Return the mean of so many rows, within the bounds."""
        found = self.values.middle + opened * self.unit / rows
        return min(max(found, self.values.least), self.values.greatest)
