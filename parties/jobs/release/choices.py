"""Questions whose answer is a choice among public candidates: the index is opened, no number is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document, State
from parties.jobs.release.cells import GroupSettings, OfColumn
from parties.jobs.release.kind import Numbers
from parties.jobs.release.reading import Question, cells
from parties.jobs.settings import public
from parties.jobs.spending import Loss, PureLoss
from parties.jobs.tabular_settings import Name

if TYPE_CHECKING:
    from protocols.counts import Counts


class ChoiceSettings(GroupSettings):
    """Those of a choice among the values of a column."""

    of: Name | None = public(None, "Column", "The column whose values are the candidates", column=True)


class Choices(OfColumn):
    """A choice among the values of a column, for all rows or for each group."""

    Settings = ChoiceSettings
    settings: ChoiceSettings

    @property
    def wanted(self) -> tuple[str, ...]:
        """The values of the column that rows may have."""
        return self.where.values(self.subject, self.schema)

    @property
    def width(self) -> int:
        """Bits of an own number."""
        return self.settings.max_rows.bit_length()

    @override
    def check(self) -> None:
        Question(self.where, self.named(self.settings)).check(self.schema)
        if not self.exact:
            _ = self.law  # refused here if there is none

    @property
    def law(self) -> Any:
        """The noise on each candidate; None if the answer is exact."""
        raise NotImplementedError

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        """See `Kind.spends`: groups are disjoint."""
        if self.exact:
            return ()
        return (PureLoss("report noisy max", self.epsilon, adjacency=self.settings.adjacency),)

    @override
    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        return {f"choice {'without' if self.exact else 'with'} noise": 0 if state is None else len(state)}

    def own_table(self, counts: Counts) -> Numbers:
        """Own rows by value and group, int64[values, groups]."""
        table = cells(counts, self.schema, self.target, Question(self.where, self.named(self.settings)))
        return np.ascontiguousarray(table.reshape(self.group_count, -1).T)

    def answers(self, found: Sequence[Document]) -> Document:
        """Return the result: an answer for each group."""
        return {
            "of": self.subject,
            "by": list(self.groups.by),
            "numbers": [{"cell": cell, **one} for cell, one in zip(self.group_labels, found, strict=True)],
        }
