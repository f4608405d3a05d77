"""The most frequent values of a column over the rows of both parties, of all or of each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.jobs.kind import Document, Inputs
from parties.jobs.release.cells import words
from parties.jobs.release.choices import Choices, ChoiceSettings
from parties.jobs.release.kind import Numbers
from parties.jobs.settings import public
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.counting import Program
    from smc.engines import Engine


class TopSettings(ChoiceSettings):
    """`smc release top`."""

    first: Annotated[int, Field(strict=True, ge=1, le=100)] = public(
        3, "How many", "So many of the most frequent values"
    )


class Top(Choices):
    """Which values of a column are the most frequent in the rows of both parties? Both learn them, in their order.

    No number is opened. All places share epsilon: noise of the scale K / epsilon for the first K, (K + 1) / epsilon
    where rows are replaced. Groups (--by) cost nothing more.
    """

    name = "release-top"
    title = "Most frequent values"
    Settings = TopSettings
    example = "--data mine.csv --schema schema.toml --of diagnosis --first 5 --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --of diagnosis --epsilon 1 "
    noun = "top"
    settings: TopSettings

    @override
    def check(self) -> None:
        if self.settings.first > len(self.wanted):
            raise InputError(f"first: there are {len(self.wanted)} values of {self.subject!r} only")
        super().check()

    @property
    @override
    def law(self) -> Any:
        """See `Choices.law`: one noise for all places, see `protocols.release.top`."""
        from protocols.release.top import top_law

        values, groups = len(self.wanted), self.group_count
        return None if self.exact else top_law(self.epsilon, self.settings.first, values, self.replaced, groups)

    @property
    @override
    def own_count(self) -> int:
        return len(self.wanted) * self.group_count

    @property
    @override
    def learnt(self) -> str:
        many = self.settings.first
        which = "the most frequent value" if many == 1 else f"the {many} most frequent values, in their order,"
        return f"{which} of {self.subject} in the rows of both tables" + words(self.groups, self.schema)

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        """See `Release.own_numbers`: rows by value, group by group."""
        return self.own_table(counts).reshape(-1)

    @override
    def answer(self, engine: Engine, own: Numbers) -> list[int]:
        """See `Release.answer`: the places of each group, one group after the other."""
        from protocols.release.top import noisy_top

        found = noisy_top(engine, own.reshape(len(self.wanted), -1), self.settings.first, self.width, self.law)
        return found.T.reshape(-1).tolist()

    @override
    def program(self, inputs: Inputs) -> Program:
        from protocols.release.top import count_top

        values, groups = len(self.wanted), self.group_count
        return lambda engine: count_top(engine, values, groups, self.settings.first, self.width, self.law)

    @override
    def found(self, state: Sequence[int]) -> Document:
        table = np.array(state).reshape(-1, self.settings.first).tolist()
        return self.answers([{"first": [self.wanted[index] for index in line]} for line in table])
