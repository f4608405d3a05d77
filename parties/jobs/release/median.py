"""The median of a column of numbers over the rows of both parties, of all or of each group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.release.cells import words
from parties.jobs.release.choices import Choices
from parties.jobs.release.kind import Numbers
from parties.jobs.release.sums import plain
from parties.jobs.release.values import read

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.engines import Engine


class Median(Choices):
    """What is the median of a column of numbers over the rows of both parties? Both learn one of its public values.

    The value is chosen by the exponential mechanism in its best form: the nearer to the middle of all rows, the more
    likely. No number of rows is opened. Groups (--by) cost nothing more. Missing values do not count.
    """

    name = "release-median"
    title = "Noisy median"
    example = "--data mine.csv --schema schema.toml --of visits --by sex --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --of visits --epsilon 1 "
    noun = "median"

    @property
    def candidates(self) -> tuple[tuple[Fraction, int], ...]:
        """The numbers that may be chosen, by size, and the place of each among the wanted values."""
        return read(self.subject, self.wanted, "a median").ordered

    @override
    def check(self) -> None:
        _ = self.candidates  # refused here if there are none
        super().check()

    @cached_property
    @override
    def law(self) -> Any:
        """See `Choices.law`: of sensitivity 1 and monotone, see `protocols.release.median`."""
        from protocols.release.choice import choice_law

        groups, change = self.group_count, 2 if self.replaced else 1
        return None if self.exact else choice_law(self.epsilon, change, True, len(self.candidates) * groups)

    @property
    @override
    def own_count(self) -> int:
        return 2 * len(self.candidates) * self.group_count

    @property
    @override
    def learnt(self) -> str:
        return f"the median of {self.subject} over the rows of both tables" + words(self.groups, self.schema)

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        """See `Release.own_numbers`: how many rows have less than each candidate, then how many have more."""
        table = self.own_table(counts)
        numbers = [number for number, _ in self.candidates]
        ordered = table[[place for _, place in self.candidates]]
        less = np.array([[other < number for other in numbers] for number in numbers], dtype=np.int64)
        return np.concatenate([less @ ordered, less.T @ ordered]).reshape(-1)

    @override
    def answer(self, engine: Engine, own: Numbers) -> list[int]:
        from protocols.release.median import noisy_median

        below, above = own.reshape(2, len(self.candidates), -1)
        return noisy_median(engine, below, above, self.width, self.law).tolist()

    @override
    def found(self, state: Sequence[int]) -> Document:
        return self.answers([{"value": plain(self.candidates[index][0])} for index in state])
