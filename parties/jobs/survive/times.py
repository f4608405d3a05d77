"""Times of survival by a schema: bins of a column, whether the event came, and arms; own rows counted by all three.

A row whose time, event or arm is missing is not meant. An event is a flag, or a column of two values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from parties.base.arrays import Counts
from parties.base.settings import required
from parties.base.text import listed, quoted
from parties.jobs.release.kind import Release
from parties.jobs.release.reading import Cells
from parties.jobs.release.values import read
from parties.jobs.settings import AnyField, BooleanSettings, public
from parties.jobs.tabular_settings import Name, TabularSettings
from parties.tables.delimited import MISSING
from parties.tables.types import FLAGS, IntegerType, NumberType, OrderedType, exactly, type_of
from smc.errors import InputError

MOST_BINS, MOST_ARMS = 256, 16


def arm_column(none: str = "") -> AnyField:
    """Return the field `arm`."""
    return public(None, "Arm", "The column whose values are the groups that are compared", none=none, column=True)


class TimesSettings(BooleanSettings, TabularSettings):
    """The columns that say when, and whether the event came."""

    time: Name | None = public(
        None, "Time", "The column of times to the event, or to the end of follow-up", column=True
    )
    event: Name | None = public(None, "Event", "The column that says whether the event came", column=True)
    event_value: Name | None = public(
        None, "Value of an event", "Its value where the event came; rows with the other one are censored", none="yes"
    )


@dataclass(frozen=True)
class Times:
    """Where the counts of arms, events and bins stand among those of the schema's values."""

    cells: Cells
    arms: tuple[str, ...]  # their values; one empty word if rows are not told apart
    bins: tuple[str, ...]  # of time, in order
    edges: tuple[Fraction, ...]  # where each bin begins, and the last one ends
    unit: str  # of the edges: the column, or "bins" where its values are no numbers
    places: tuple[tuple[int, ...], ...]  # of the counts: of arms, of events (censored first), of bins

    def count(self, rows: Any) -> Counts:
        """Return how many own rows are in each arm, censored or not, in each bin: int64[arms, 2, bins]."""
        counts = self.cells.count(rows, self.cells.by[-1])
        return counts.reshape(-1, *counts.shape[-2:])[np.ix_(*self.places)]


def times(task: Release) -> Times:
    """Return what the settings of a task say of its cells: of arm (if there is one), event and time, in this order."""
    settings = task.settings
    time, event = required(settings.time, f"{task.name}.time"), required(settings.event, f"{task.name}.event")
    columns = [name for name in (settings.arm, event, time) if name]
    if len(set(columns)) < len(columns):
        raise InputError(f"time, event and arm: name each column once, not {listed(columns)}")
    cells = task.cells(*columns)
    if time in cells.where.columns:
        raise InputError("where: the column of time is not restricted: who is at risk follows from all times")
    *arm_values, event_values, _ = cells.domains
    values = cells.schema.attributes[time]
    order, edges, unit = _ordered(time, values)
    if len(order) > MOST_BINS:
        raise InputError(
            f"time: {quoted(time)} has {len(order)} bins, at most {MOST_BINS} are counted: give it edges or a width "
            "in the schema"
        )
    arms = [i for i, value in enumerate(arm_values[0]) if value != MISSING] if arm_values else [0]
    names = tuple(arm_values[0][i] for i in arms) if arm_values else ("",)
    if not 1 <= len(names) <= MOST_ARMS:
        raise InputError(f"arm: {quoted(settings.arm)} has {len(names)} values, 1 to {MOST_ARMS} are compared")
    happened = _event(event, event_values, settings.event_value)
    bins = tuple(values[place] for place in order)
    return Times(cells, names, bins, edges, unit, (tuple(arms), happened, order))


def _event(column: str, values: Sequence[str], wanted: str | None) -> tuple[int, int]:
    """Return the places of the value of those who are censored, and of the event's."""
    two = [value for value in values if value != MISSING]
    if len(two) != 2:
        raise InputError(
            f"event: {quoted(column)} has {len(two)} values ({listed(two[:5])}{', ...' * (len(two) > 5)}), an event "
            "has two: came, or not; --where leaves others out"
        )
    if wanted is None:
        yes = [value for value in two if value.lower() in FLAGS["yes"]]
        no = [value for value in two if value.lower() in FLAGS["no"]]
        if not (yes and no):
            raise InputError(f"event_value: say which value of {quoted(column)} is the event: {listed(two, 2)}")
        wanted = yes[0]
    elif wanted not in two:
        raise InputError(f"event_value: {quoted(wanted)} is no value of {quoted(column)}: {listed(two, 2)}")
    other = two[1 - two.index(wanted)]
    return values.index(other), values.index(wanted)


def _ordered(name: str, values: Sequence[str]) -> tuple[tuple[int, ...], tuple[Fraction, ...], str]:
    """Return the places of the bins in their order, their edges, and the unit of these."""
    column = type_of(values)
    if column is None:
        ordered = read(name, values, "a time", "time").ordered
        numbers = [number for number, _ in ordered]
        last = numbers[-1] + (numbers[-1] - numbers[-2] if len(numbers) > 1 else 1)
        return tuple(place for _, place in ordered), (*numbers, last), name
    if not isinstance(column, OrderedType):
        raise InputError(f"time: {quoted(name)} is a {column.type}: times are integers, reals or dates of the schema")
    places = tuple(range(len(column.labels)))
    if not isinstance(column, NumberType):
        return places, tuple(map(Fraction, range(len(places) + 1))), "bins"
    low, cuts, unit = exactly(column.low), column.cuts, exactly(column.unit)
    if cuts.grid is not None:
        return places, tuple(low + place * unit for place in range(len(places) + 1)), name
    inner, high = [exactly(edge) for edge in cuts.numbers], exactly(column.high)
    whole = isinstance(column, IntegerType) or high <= inner[-1]
    return places, (low, *inner, high + (unit if whole else 0)), name
