"""Trees over columns that lie apart: the tree of the joined rows, its forecast, and what does not fit."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parties.base.files import write_json
from parties.base.settings import merge
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.id3 import Id3
from parties.jobs.tree.joint import JointTree
from parties.jobs.tree.settings import Id3Extra, Id3Settings
from parties.tables.schema import Schema
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session

PLAIN: dict[str, Any] = {"plain": True}
PUBLIC: dict[str, Any] = {"against": "public", "max_depth": 3}
NOISY: dict[str, Any] = {"epsilon": 2.0, "adjacency": "replace", "max_depth": 2}
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

    def __init__(self, directory: Path, rows: Rows, target: str, left: Sequence[str], strangers: int = 0) -> None:
        self.directory, self.schema = directory, schema_of(rows, target)
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

    def settings(self, party: int, **more: Any) -> Id3Settings:
        files = {"data": self.directory / f"{party}.csv", "schema": self.directory / "schema.toml"}
        files |= {"aligned": self.directory / f"aligned{party}.csv", "listener_columns": self.left}
        return merge(Id3Settings(), {**files, **more})

    def run(self, profile: Profile, **more: Any) -> tuple[JointTree, Any, int]:
        """The task, its result and the bytes of both parties."""

        def party(session: Session) -> tuple[JointTree, Any, int]:
            task, data, _ = Id3.alone(self.settings(session.party, **more), session.party)
            engine = engine_of(session, profile)
            state = task.run(engine, task.with_engine(engine, data), task.states.beginning, lambda step: None)
            return task, state, session.meter.total.bytes_sent

        (task, state, sent), (_, other, more_sent) = run_local(party)
        assert state == other
        return task, state, sent + more_sent

    def as_joined(self, **more: Any) -> Any:
        """The tree of the joined rows: half of the whole rows at either party."""
        half = -(-len(self.joined) // 2)
        files = [
            write(self.directory / f"half{party}.csv", part, [*self.schema.attributes])
            for party, part in enumerate((self.joined[:half], self.joined[half:]))
        ]

        def party(session: Session) -> Any:
            given = {"data": files[session.party], "schema": self.directory / "schema.toml", "max_rows": half, **more}
            task, data, _ = Id3.alone(merge(Id3Settings(), given), session.party)
            return task.run(engine_of(session, CLEAR), data, task.states.beginning, lambda step: None)

        return run_local(party)[0]


WAYS = [way for number in range(7) for way in itertools.combinations(range(6), number)]
SMALL = {**PLAIN, "max_depth": 2}


def shown(directory: Path, shared: Path, table: str, left: Sequence[int], **more: Any) -> None:
    """The tree of a table whose party 0 has these columns; of a few people only one party has a row."""
    rows = read(shared / "data" / f"{table}.csv")
    target = "class" if "class" in rows[0] else "Class"
    names = [name for name in rows[0] if name != target]
    columns = [names[place] for place in left] + [target] * (len(left) % 2 or not left)
    two = Two(directory, rows, target, columns, strangers=3)
    assert two.run(CLEAR, **more)[1] == two.as_joined(**more)


@pytest.mark.one_of(32)
@pytest.mark.parametrize("way", WAYS)
def test_the_tree_of_car_however_its_columns_lie(shared: Path, tmp_path: Path, way: tuple[int, ...]) -> None:
    shown(tmp_path, shared, "car", way, **SMALL)


@pytest.mark.campaign
@pytest.mark.parametrize("more", [PLAIN, PUBLIC, {"against": "public", "criterion": "gini", "weights": ("good:2",)}])
def test_the_whole_tree_of_car(shared: Path, tmp_path: Path, more: dict[str, Any]) -> None:
    shown(tmp_path, shared, "car", (0, 2, 5), **more)


@pytest.mark.parametrize(("table", "left"), [("tic-tac-toe", range(0, 9, 2)), ("house-votes-84", range(3, 10))])
def test_the_tree_of_other_tables(shared: Path, tmp_path: Path, table: str, left: Sequence[int]) -> None:
    shown(tmp_path, shared, table, left, **SMALL)


def people(number: int = 80) -> Rows:
    rng = random.Random(3)
    names = {"a": "xyz", "b": "uv", "c": "lmnop", "d": "01"}
    rows = [{name: rng.choice(values) for name, values in names.items()} for _ in range(number)]
    return [{**row, "play": "yes" if (row["a"] == "x") == (row["c"] < "n") else "no"} for row in rows]


CASES = [
    {},
    {"splits": "multiway", "l": 2.0, "t": 0.6},
    {"weights": ("yes:3",), "prune": "mdl", "criterion": "gain-ratio"},
]


@pytest.mark.parametrize("more", CASES)
@pytest.mark.parametrize("left", [("a", "d", "play"), ("b", "c")])
def test_rules_weights_and_pruning_are_those_of_the_joined_rows(
    tmp_path: Path, left: Sequence[str], more: dict[str, Any]
) -> None:
    two = Two(tmp_path, people(), "play", left, strangers=2)
    assert two.run(CLEAR, **PUBLIC, **more)[1] == two.as_joined(**PUBLIC, **more)


@pytest.mark.parametrize("engine", ["yao", "mixed", "lean"])
@pytest.mark.parametrize("more", [PLAIN, PUBLIC | {"t": 0.6, "weights": ("yes:3",)}, NOISY, NOISY | {"stop": "off"}])
def test_an_estimate_with_the_tree_is_what_is_measured(tmp_path: Path, engine: Any, more: dict[str, Any]) -> None:
    two, profile = Two(tmp_path, people(61), "play", ("a", "d")), Profile(engine)
    task, state, sent = two.run(profile, **more)
    write_json(tmp_path / "tree.json", task.document(state))
    counted = task.cost_of_run(Inputs(), Id3Extra(tree=tmp_path / "tree.json"))
    assert counted.estimate == "exact"
    assert forecast(counted.program, profile).bytes == sent


@pytest.mark.parametrize("more", [PLAIN, PUBLIC, NOISY])
def test_a_typical_run_counts_the_columns_of_both(tmp_path: Path, more: dict[str, Any]) -> None:
    """Counting rows of columns that lie apart sends messages, more of them for more rows."""
    costs = []
    for number in (40, 4000):
        two = Two(tmp_path, people(number), "play", ("a", "d"))
        task = Id3.alone(two.settings(0, **more), 0)[0]
        costs.append(forecast(task.cost_of_run(Inputs()).program, Profile("yao")).bytes)
    assert costs[1] > costs[0] + 4000 * 2 * 10


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "against: each party has all rows, so no rule holds for the rows of one; give --against public"),
        ({"epsilon": 1.0}, "adjacency: both parties know who is aligned, so noise hides values; give --adjacency"),
        ({**PLAIN, "support_epsilon": 1.0}, "support_epsilon cannot be combined with listener_columns"),
        ({**NOISY, "trees": 3}, "trees cannot be combined with listener_columns"),
        ({**PUBLIC, "prune": "holdout"}, "prune holdout cannot be combined with listener_columns"),
        ({**PUBLIC, "held_out": 0.2}, "held_out cannot be combined with listener_columns"),
        ({**PLAIN, "at_most": 1}, "at_most cannot be combined with listener_columns"),
        ({**PLAIN, "max_rows": 7}, "aligned0.csv has 80 rows; remove --max-rows"),
        ({**PLAIN, "listener_columns": ("a", "e")}, "listener_columns: 'e' is not an attribute of the schema"),
        ({**PLAIN, "listener_columns": ("a", "b", "c", "d", "play")}, "listener_columns: each party needs a column"),
        ({**PLAIN, "listener_columns": None}, "--listener-columns is missing: with --aligned name"),
        ({**PLAIN, "aligned": None}, "--aligned is missing: with --listener-columns give"),
    ],
)
def test_settings_that_do_not_fit_are_a_line(tmp_path: Path, more: dict[str, Any], line: str) -> None:
    two = Two(tmp_path, people(), "play", ("a", "d"))
    with pytest.raises(InputError) as error:
        Id3.alone(two.settings(0).model_copy(update=more), 0)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_holders_of_rows_cannot_join(tmp_path: Path) -> None:
    task = Id3.alone(Two(tmp_path, people(), "play", ("a", "d")).settings(0, **PLAIN), 0)[0]
    with pytest.raises(InputError, match="--holders: columns that lie apart are those of two parties"):
        task.take_shares()


def test_consent_names_the_columns_and_what_a_leaf_can_tell(tmp_path: Path) -> None:
    two = Two(tmp_path, people(), "play", ("a", "d"))
    exact, noisy = (Id3.alone(two.settings(1, **more), 1)[0].disclosure.reveals("b") for more in (PUBLIC, NOISY))
    assert exact[:4] == [
        "We and b both learn the decision tree for play of the 80 aligned rows.",
        "The party that listens gives 'a', 'd'; the party that dials gives 'b', 'c', 'play'.",
        "b learns nothing else of our columns, and we nothing else of b's.",
        "Each party knows its own columns of these people. From a leaf that few of them fit, it can learn the other's "
        "values of these few.",
    ]
    assert not any("subtract its own rows" in line for line in exact)
    assert noisy[-1].startswith("One row replaced by another")
