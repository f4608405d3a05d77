"""Find the most frequent values of a column, with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.jobs.kind import Description
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Question
from parties.jobs.release.settings import GroupSettings
from parties.jobs.settings import Name, public
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


class ChoiceSettings(GroupSettings):
    """Settings of a choice among the values of a column."""

    column: Name | None = public(None, "Column", "Column whose values are the candidates", column=True)


class TopSettings(ChoiceSettings):
    """Settings of `smc release top`."""

    first: Annotated[int, Field(strict=True, ge=1, le=100)] = public(
        3, "How many", "Number of most frequent values to open"
    )


class Top(Release):
    """Find the most frequent values of a column in the rows of both parties. Both learn them, in order.

    No number is opened. The K values of --first share epsilon: the noise has scale K / epsilon, or (K + 1) / epsilon
    if neighbouring tables differ by a replaced row. Groups (--by) cost no further epsilon.
    """

    name = "release top"
    about = Description("Most frequent values", "top", example="--column diagnosis --first 5 --epsilon 1")
    Settings = TopSettings

    @override
    def ask(self) -> Question:
        from protocols.release.top import change, count_top, noisy_top

        cells, first = self.cells(*self.named(self.settings)), self.settings.first
        of, candidates, groups = cells.by[-1], cells.domains[-1], cells.groups.number
        size, width = len(candidates), self.rows_each.bit_length()
        if first > size:
            raise InputError(f"first: {of!r} has only {size} values; ask for {size} at most")
        noise = self.noisy_max(change(first, size, self.replaced))  # one for all positions
        law = None if noise is None else noise.law(size * groups)

        def opened(engine: Engine, numbers: Numbers) -> list[int]:
            """Open the most frequent values: their positions in the schema, group by group."""
            return noisy_top(engine, numbers.reshape(size, -1), first, width, law).T.reshape(-1).tolist()

        which = "the most frequent value" if first == 1 else f"the {first} most frequent values, in their order,"
        return Question(
            f"{which} of {of} in the rows of both tables{cells.groups.words}",
            size * groups,
            lambda counts: cells.by_group(counts).T.reshape(-1),
            opened,
            lambda state: cells.grouped(
                {"first": [candidates[index] for index in places]} for places in np.array(state).reshape(-1, first)
            ),
            () if noise is None else (noise,),
            f"choice {'without' if noise is None else 'with'} noise",
            target=of,
            program=lambda engine: count_top(engine, size, groups, first, width, law),
            bits=groups * first * (size - 1).bit_length() if noise is None else None,
        )
