"""Two tables with different columns of the same people, and runs of a job on them or on the joined rows."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parties.base.settings import merge
from parties.jobs.hidden_rows import HiddenFile, HiddenTerms
from parties.jobs.kind import Kind
from parties.jobs.kinds.id3 import Id3
from parties.tables.schema import Schema
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session
from tests.support.hidden import dealt

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
        self,
        directory: Path,
        rows: Rows,
        target: str,
        left: Sequence[str],
        strangers: int = 0,
        kind: type[Kind] = Id3,
        hidden: bool = False,
    ) -> None:
        self.hidden = hidden  # whether neither party knows who is in both
        self.directory, self.schema, self.kind = directory, schema_of(rows, target), kind
        self.schema.save(directory / "schema.toml")
        people = [{"id": str(number), **row} for number, row in enumerate(rows)]
        rng = random.Random(1)
        self.joined = people[: len(people) - 2 * strangers]  # the others have a row at one party only
        rng.shuffle(self.joined)
        names = [name for name in self.schema.attributes if name not in left]
        self.names, tables = (left, names), []
        for party, columns in enumerate(self.names):
            own = [*self.joined, *people[len(self.joined) + party :: 2]]
            rng.shuffle(own)
            tables.append(own)
            write(directory / f"{party}.csv", own, ["id", *columns])
            numbered = [{**row, "row of ab": str(number)} for number, row in enumerate(self.joined, 1)]
            write(directory / f"aligned{party}.csv", numbered, ["id", "row of ab"])
        self.left = tuple(left)
        if self.hidden:
            self._hide(tables)

    def _hide(self, tables: list[Rows]) -> None:
        """Write both parties' parts of hidden rows, as a trusted dealer gives them; party 1 has the bins."""
        order = self.schema.attributes
        names = [[name for name in order if name in columns] for columns in self.names]
        values = [
            np.array([[order[name].index(row[name]) for name in own] for row in table]).reshape(len(table), -1)
            for own, table in zip(names, tables, strict=True)
        ]
        keys = tuple([row["id"] for row in table] for table in tables)
        domains = tuple(map(len, order.values()))
        owners = tuple(int(name not in self.left) for name in order)
        bins = 2 * len(tables[1])
        parts = dealt((keys[0], keys[1]), (values[0], values[1]), domains, owners, 1, bins)
        terms = HiddenTerms("ab", self.schema, self.left, "dialler", bins)
        for party, part in enumerate(parts):
            path = self.directory / f"aligned{party}.csv"
            path.write_text(HiddenFile("", party, terms, part).text())
            path.chmod(0o600)

    def settings(self, party: int, **more: Any) -> Any:
        files: dict[str, Any] = {"schema": self.directory / "schema.toml"}
        files |= {"aligned": self.directory / f"aligned{party}.csv"}
        if not self.hidden:
            files |= {"data": self.directory / f"{party}.csv", "listener_columns": self.left}
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
