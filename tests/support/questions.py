"""Questions about small tables in memory, their answers by counting row by row, and noise that is known."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from parties.jobs import kinds
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import Noise
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.release.laws import Law
from smc.circuit import Integer
from smc.engines import Profile, engine_of
from smc.local import run_local

SCHEMA = Schema(
    {
        "age": ("young", "middle", "old"),
        "sex": ("male", "female"),
        "visits": ("3.5", "0", "-1", "?", "2"),
        "outcome": ("good", "bad"),
    },
    "outcome",
)
Row = dict[str, str]


class Known(Law):
    """A noise of one value, for tests only; it takes a random bit all the same."""

    bits, distance = 1, Fraction(0)

    def __init__(self, value: int) -> None:
        self.value = value

    least = property(lambda self: min(self.value, 0))  # type: ignore[assignment]
    greatest = property(lambda self: max(self.value, 0))  # type: ignore[assignment]

    def draw(self, random: Integer) -> Integer:
        width = self.width
        return Integer(random.graph, Integer.constant(random.graph, self.value).resize(width).wires, self.value < 0)

    def probabilities(self) -> dict[int, Fraction]:
        return {self.value: Fraction(1)}


def asked(name: str, schema: Schema = SCHEMA, **settings: Any) -> Release:
    """A question of the kind `release-NAME`, with epsilon 1 unless it is exact."""
    kind = kinds.find(f"release {name}")
    privacy = {} if settings.get("exact") else {"epsilon": 1.0}
    made = kind.Settings.model_validate({"max_rows": 1000, **privacy, **settings})
    task = kind.canonical(made, schema)  # type: ignore[attr-defined]
    assert isinstance(task, Release)
    return task


def counts(task: Release, rows: Sequence[Row]) -> RowCounts:
    """Rows as the task counts them."""
    attributes, target = task.schema.attributes, task.target
    features = task.schema.features(target)
    table = [[attributes[name].index(row[name]) for name in features] for row in rows]
    labels = [attributes[target].index(row[target]) for row in rows]
    return RowCounts(
        [len(attributes[name]) for name in features],
        len(attributes[target]),
        np.array(table, dtype=np.int64).reshape(len(rows), len(features)),
        np.array(labels, dtype=np.int64),
    )


def state_of(task: Release, rows: Sequence[Sequence[Row]], profile: str = "clear") -> list[int]:
    """What both parties open, from the rows of each."""

    def party(session: Any) -> list[int]:
        own = task.own_rows(counts(task, rows[session.party]))
        found: list[int] = task.run(engine_of(session, Profile(profile)), own, None, lambda step: None)
        return found

    one, other = run_local(party)
    assert one == other
    assert task.states.decode(task.states.encode(one)) == one
    return one


def known_noise(value: int) -> Any:
    """What to put in the place of `Noise.law`: every sample is this value."""

    def law(self: Noise, numbers: int) -> Law:
        del self, numbers
        return Known(value)

    return law
