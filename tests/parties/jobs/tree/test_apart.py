"""Trees over columns that lie apart: the tree of the joined rows, its forecast, and what does not fit."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parties.base.files import write_json
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.id3 import Id3
from parties.jobs.tree.settings import Id3Extra
from protocols.tree import Open
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support import columns_apart
from tests.support.columns_apart import CLEAR, Two, people, read

PLAIN: dict[str, Any] = {"plain": True}
PUBLIC: dict[str, Any] = {"against": "public", "max_depth": 3}
NOISY: dict[str, Any] = {**columns_apart.NOISY, "max_depth": 2}
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


CASES = [
    {},
    {"splits": "multiway", "l": 2.0, "t": 0.6},
    {"weights": ("yes:3",), "prune": "mdl", "criterion": "gain-ratio"},
]


@pytest.mark.parametrize("more", CASES)
@pytest.mark.parametrize("left", [("a", "d", "play"), ("b", "c")])
@pytest.mark.parametrize("hidden", [False, True])
def test_rules_weights_and_pruning_are_those_of_the_joined_rows(
    tmp_path: Path, left: Sequence[str], more: dict[str, Any], hidden: bool
) -> None:
    two = Two(tmp_path, people(), "play", left, strangers=2, hidden=hidden)
    assert two.run(CLEAR, **PUBLIC, **more)[1] == two.as_joined(**PUBLIC, **more)


@pytest.mark.parametrize("engine", ["yao", "mixed", "lean"])
@pytest.mark.parametrize(
    "more", [PLAIN, PUBLIC | {"t": 0.6, "weights": ("yes:3",)}, NOISY, NOISY | {"stop": "off"}, NOISY | {"trees": 3}]
)
@pytest.mark.parametrize("hidden", [False, True])
def test_an_estimate_with_the_tree_is_what_is_measured(
    tmp_path: Path, engine: Any, more: dict[str, Any], hidden: bool
) -> None:
    if hidden and "trees" in more:
        return
    two, profile = Two(tmp_path, people(61), "play", ("a", "d"), hidden=hidden), Profile(engine)
    task, state, sent = two.run(profile, **more)
    write_json(tmp_path / "tree.json", task.document(state))
    counted = task.cost_of_run(Inputs(), Id3Extra(tree=tmp_path / "tree.json"))
    assert counted.estimate == "exact"
    assert forecast(counted.program, profile).bytes == sent


def test_each_of_several_trees_has_rows_of_its_own(tmp_path: Path) -> None:
    """Else a row would count in every tree, and the trees could not share epsilon."""
    two = Two(tmp_path, people(), "play", ("a", "d"))

    def party(session: Session) -> Any:
        task, data, _ = Id3.alone(two.settings(session.party, **NOISY, trees=3), session.party)
        return task.with_engine(engine_of(session, CLEAR), data).level((Open(),) * 3, attributes=False).classes

    left, right = run_local(party)
    assert (left + right).sum(axis=1).tolist() == [27, 27, 26]


def test_a_run_goes_on_from_a_level_without_the_counts_of_the_level_before(tmp_path: Path) -> None:
    two = Two(tmp_path, people(), "play", ("a", "d"))
    task, state, _ = two.run(CLEAR, **PLAIN)
    assert task.states.steps(state) > 2
    assert two.run(CLEAR, task.states.cut(state, 1), **PLAIN)[1] == state


@pytest.mark.parametrize("more", [PLAIN, PUBLIC, NOISY, NOISY | {"trees": 2}])
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
        ({}, "against: each party has all rows, so no rule is about those of one; set against to public"),
        (
            {"epsilon": 1.0},
            "adjacency: both parties know who is aligned, so noise hides values; set adjacency to replace",
        ),
        ({**PLAIN, "support_epsilon": 1.0}, "support_epsilon cannot be combined with listener_columns"),
        ({**PLAIN, "trees": 3}, "trees"),
        ({**PUBLIC, "prune": "holdout"}, "prune holdout cannot be combined with listener_columns"),
        ({**PUBLIC, "held_out": 0.2}, "held_out cannot be combined with listener_columns"),
        ({**PLAIN, "at_most": 1}, "at_most cannot be combined with listener_columns"),
        ({**PLAIN, "max_rows": 7}, "aligned0.csv has 80 rows; remove --max-rows"),
        ({**PLAIN, "listener_columns": ("a", "e")}, "listener_columns: 'e' is not an attribute of the schema"),
        ({**PLAIN, "columns": ("a", "d"), "listener_columns": ("a", "d", "play")}, "the job reads 'a'"),
        ({**PLAIN, "listener_columns": ("a", "b", "c", "d", "play")}, "listener_columns: the job reads 'a'"),
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
    assert exact[1:5] == [
        "The rows are 80 people who are in both tables, as both parties know from alignment ab. b could choose them by "
        "the keys that it entered there.",
        "The party that listens gives 'a', 'd'; the party that dials gives 'b', 'c', 'play'.",
        "b learns nothing else of our columns, and we nothing else of b's.",
        "Each party knows its own columns of these people. From a leaf that few of them fit, it can learn the other's "
        "values of these few.",
    ]
    assert exact[1:4] == noisy[2:5]
    assert not any("subtract its own rows" in line for line in exact)
    assert noisy[1].startswith("One row replaced by another")
    forest = Id3.alone(two.settings(1, **NOISY, trees=3), 1)[0].disclosure.reveals("b")
    assert forest[2:] == ["Each tree has one of 3 people in their order, so both know whom it has.", *noisy[2:]]
