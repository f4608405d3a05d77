"""Two tables with different columns of the same people, and runs of a job on them or on the joined rows."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parties.base.settings import merge
from parties.jobs.kind import Kind
from parties.jobs.kinds.id3 import Id3
from parties.tables.schema import Schema
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

NOISY: dict[str, Any] = {"epsilon": 2.0, "adjacency": "replace"}
CLEAR = Profile("clear")
Rows = list[dict[str, str]]


def write(path: Path, rows: Rows, names: Sequence[str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path: Path) -> Rows:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def schema_of(rows: Rows, target: str) -> Schema:
    names = [name for name in rows[0] if name != target]
    return Schema({name: tuple(sorted({row[name] for row in rows})) for name in [*names, target]}, target)


class Two:
    """Two tables of the same people: party 0 has the columns `left`, party 1 the others."""

    def __init__(
        self, directory: Path, rows: Rows, target: str, left: Sequence[str], strangers: int = 0, kind: type[Kind] = Id3
    ) -> None:
        self.directory, self.schema, self.kind = directory, schema_of(rows, target), kind
        self.schema.save(directory / "schema.toml")
        people = [{"id": str(number), **row} for number, row in enumerate(rows)]
        rng = random.Random(1)
        self.joined = people[: len(people) - 2 * strangers]  # the others have a row at one party only
        rng.shuffle(self.joined)
        names = [name for name in self.schema.attributes if name not in left]
        for party, columns in enumerate((left, names)):
            own = [*self.joined, *people[len(self.joined) + party :: 2]]
            rng.shuffle(own)
            write(directory / f"{party}.csv", own, ["id", *columns])
            numbered = [{**row, "row of ab": str(number)} for number, row in enumerate(self.joined, 1)]
            write(directory / f"aligned{party}.csv", numbered, ["id", "row of ab"])
        self.left = tuple(left)

    def settings(self, party: int, **more: Any) -> Any:
        files: dict[str, Any] = {"data": self.directory / f"{party}.csv", "schema": self.directory / "schema.toml"}
        files |= {"aligned": self.directory / f"aligned{party}.csv", "listener_columns": self.left}
        return merge(self.kind.Settings(), {**files, **more})

    def run(self, profile: Profile, start: Any = None, **more: Any) -> tuple[Any, Any, int]:
        """The task, its result from a state on, and the bytes of both parties."""

        def party(session: Session) -> tuple[Any, Any, int]:
            task, data, _ = self.kind.alone(self.settings(session.party, **more), session.party)
            engine = engine_of(session, profile)
            state = task.run(engine, task.with_engine(engine, data), start or task.states.beginning, lambda step: None)
            return task, state, session.meter.total.bytes_sent

        (task, state, sent), (_, other, more_sent) = run_local(party)
        assert state == other
        return task, state, sent + more_sent

    def as_joined(self, **more: Any) -> Any:
        """The answer from the joined rows: half of the whole rows at either party."""

        def party(session: Session) -> Any:
            task, data = self._joined(session.party, more)
            return task.run(engine_of(session, CLEAR), data, task.states.beginning, lambda step: None)

        return run_local(party)[0]

    def as_joined_numbers(self, **more: Any) -> Any:
        """The joint numbers of the joined rows."""
        return self._joined(0, more)[1] + self._joined(1, more)[1]

    def _joined(self, party: int, more: dict[str, Any]) -> tuple[Any, Any]:
        half = -(-len(self.joined) // 2)
        part = self.joined[:half] if party == 0 else self.joined[half:]
        rows = write(self.directory / f"half{party}.csv", part, [*self.schema.attributes])
        given = {"data": rows, "schema": self.directory / "schema.toml", "max_rows": half, **more}
        task, data, _ = self.kind.alone(merge(self.kind.Settings(), given), party)
        return task, data


def people(number: int = 80) -> Rows:
    rng = random.Random(3)
    names = {"a": "xyz", "b": "uv", "c": "lmnop", "d": "01"}
    rows = [{name: rng.choice(values) for name, values in names.items()} for _ in range(number)]
    return [{**row, "play": "yes" if (row["a"] == "x") == (row["c"] < "n") else "no"} for row in rows]
