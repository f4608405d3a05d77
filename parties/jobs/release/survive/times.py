"""Survival times by a schema: bins of a column, events and arms; a party's rows are counted by all three.

A row with a missing time, event or arm is not counted. An event is a flag, or a column of two values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from parties.base.settings import required
from parties.base.text import listed, quoted
from parties.jobs.release.kind import Release
from parties.jobs.release.ordered import ordered_bins, two_values
from parties.jobs.release.reading import Cells
from parties.jobs.settings import AnyField, BooleanSettings, Name, public
from parties.jobs.tabular import TabularSettings
from parties.tables.delimited import MISSING
from protocols.arrays import Counts
from smc.errors import InputError

MOST_ARMS = 16


def arm_column(groups: str, none: str = "") -> AnyField:
    """Return the field `arm`: the column of the groups to compare.

    Args:
        groups: Words for the groups, as in "the two groups".
        none: Effect of an omitted arm, for the help; empty if the arm is required.
    """
    return public(None, "Arm", f"Column of {groups} to compare", none=none, column=True)


class TimesSettings(BooleanSettings, TabularSettings):
    """Settings for the columns of times and events."""

    time: Name | None = public(None, "Time", "Column of the time to the event or to the end of follow-up", column=True)
    event: Name | None = public(None, "Event", "Column that marks whether the event happened", column=True)
    event_value: Name | None = public(
        None,
        "Value of an event",
        "Value that marks the event; rows with the other value are censored",
        none="yes",
    )


@dataclass(frozen=True)
class Times:
    """Layout of the counts: arms, events and bins of time, and the index of each among the schema's values."""

    cells: Cells
    arms: tuple[str, ...]  # values of the arms; one empty text if there is a single group
    bins: tuple[str, ...]  # bins of time, in order
    edges: tuple[Fraction, ...]  # beginning of each bin, and end of the last
    unit: str  # unit of the edges: the column, or "bins" if its values are not numbers
    places: tuple[tuple[int, ...], ...]  # indices of arms, events (censored first) and bins

    def count(self, rows: Any) -> Counts:
        """Return this party's rows of each arm, censored or not, in each bin: int64[arms, 2, bins]."""
        counts = self.cells.count(rows, self.cells.by[-1])
        return counts.reshape(-1, *counts.shape[-2:])[np.ix_(*self.places)]


def times(task: Release) -> Times:
    """Return the layout of counts: by arm (if any), then event, then time. Raise InputError if columns are unfit."""
    settings = task.settings
    time, event = required(settings.time, f"{task.name}.time"), required(settings.event, f"{task.name}.event")
    columns = [name for name in (settings.arm, event, time) if name]
    if len(set(columns)) < len(columns):
        raise InputError(f"time, event and arm: name each column once, not {listed(columns)}")
    cells = task.cells(*columns)
    if time in cells.where.columns:
        raise InputError(
            "where: must not restrict the column of time, since all times are needed to count the rows "
            "at risk; remove this column from where"
        )
    *arm_values, event_values, _ = cells.domains
    values = cells.schema.attributes[time]
    order, edges, unit = ordered_bins("time", time, values)
    arms = [i for i, value in enumerate(arm_values[0]) if value != MISSING] if arm_values else [0]
    names = tuple(arm_values[0][i] for i in arms) if arm_values else ("",)
    if not 1 <= len(names) <= MOST_ARMS:
        raise InputError(
            f"arm: {quoted(settings.arm)} has {len(names)} values, 1 to {MOST_ARMS} are compared; choose with where"
        )
    happened = two_values("event", event, event_values, settings.event_value, "an event")
    bins = tuple(values[place] for place in order)
    return Times(cells, names, bins, edges, unit, (tuple(arms), happened, order))
