"""Rules over columns that lie apart: those of the joined rows, their cost, and settings that do not fit."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.rules.exact import INFERENCE
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.columns_apart import CLEAR, NOISY, Two, people

EXACT: dict[str, Any] = {"support": 0.1, "confidence": 0.6, "max_length": 3}


def tables(directory: Path, number: int = 80, strangers: int = 0, hidden: bool = False) -> Two:
    return Two(directory, people(number), "play", ("a", "d"), strangers, kinds.find("rules"), hidden)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("more", [EXACT, {**EXACT, "columns": ("a", "c", "play"), "lift": 0.0}])
def test_exact_rules_are_those_of_the_joined_rows(tmp_path: Path, more: dict[str, Any], hidden: bool) -> None:
    two = tables(tmp_path, strangers=2, hidden=hidden)
    state = two.run(CLEAR, **more)[1]
    assert state == two.as_joined(**more)
    assert state.rules


def test_every_set_has_the_number_of_the_joined_rows(tmp_path: Path) -> None:
    two = tables(tmp_path)
    task: Any = two.kind.alone(two.settings(0, **EXACT), 0)[0]
    items = task.items
    sets = [s for n in (1, 2, 3) for s in combinations(range(len(items)), n) if len({items[i][0] for i in s}) == n]

    def party(session: Session) -> Any:
        task, data, _ = two.kind.alone(two.settings(session.party, **EXACT), session.party)
        own = task.with_engine(engine_of(session, Profile("gmw")), data)
        return own.sums(sets), own.sums([])

    (one, all_one), (other, all_other) = run_local(party)
    rows = [{(name, row[name]) for name in two.schema.attributes} for row in two.joined]
    assert (one + other).tolist() == [sum({items[i] for i in s} <= row for row in rows) for s in sets]
    assert (all_one + all_other).tolist() == [80]


@pytest.mark.parametrize("engine", ["yao", "gmw"])
@pytest.mark.parametrize("hidden", [False, True])
def test_no_noisy_run_costs_more_than_its_estimate(tmp_path: Path, engine: Any, hidden: bool) -> None:
    two, more = tables(tmp_path, 200, hidden=hidden), {**NOISY, "first": 12, "max_length": 3}
    task, _, sent = two.run(Profile(engine), **more)
    estimate = forecast(task.cost_of_run(Inputs()).program, Profile(engine)).bytes
    assert sent <= estimate < 3 * sent


def test_hidden_rows_are_counted_by_as_many_columns_as_a_set_has(tmp_path: Path) -> None:
    two = Two(tmp_path, people(40), "play", ("a", "b", "c", "d"), kind=kinds.find("rules"), hidden=True)

    def task(length: int) -> Any:
        return two.kind.alone(two.settings(0, **NOISY, first=12, max_length=length), 0)[0]

    def gates(length: int) -> int:
        return forecast(lambda engine: task(length).count_sets(engine, [6]), Profile("gmw")).costs[0].and_gates

    assert gates(4) - gates(2) == 6 * 2 * task(2).settings.max_rows  # of two columns more
    sent = two.run(Profile("gmw"), **NOISY, first=12, max_length=2)[2]
    assert sent <= forecast(task(2).cost_of_run(Inputs()).program, Profile("gmw")).bytes


def test_an_estimate_of_exact_rules_grows_with_the_rows(tmp_path: Path) -> None:
    tasks: list[Any] = []
    for number in (80, 4000):
        two = tables(tmp_path, number)
        tasks.append(two.kind.alone(two.settings(0, **EXACT), 0)[0])
    few, many = (forecast(task.cost_of_run(Inputs()).program, Profile("yao")).bytes for task in tasks)
    assert many > few + 3920 * 4 * sum(tasks[1].likely[1:3])  # for each row and set, two bytes and a transfer


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"transaction": "id"}, "transaction cannot be combined with listener_columns; remove one of them"),
        (
            {"epsilon": 1.0},
            "adjacency: both parties know who is aligned, so noise hides values; set adjacency to replace",
        ),
        ({"at_most": 2}, "at_most cannot be combined with listener_columns; remove one of them"),
        ({"columns": ("a", "d")}, "listener_columns: the job reads 'a', 'd', columns of one party"),
    ],
)
def test_settings_that_do_not_fit_are_a_line(tmp_path: Path, more: dict[str, Any], line: str) -> None:
    two = tables(tmp_path)
    with pytest.raises(InputError, match=line):
        two.kind.alone(two.settings(0, **more), 0)


def test_consent_names_the_columns_and_what_a_rule_can_tell(tmp_path: Path) -> None:
    two = tables(tmp_path)
    exact, noisy = (two.kind.alone(two.settings(0, **m), 0)[0].disclosure.reveals("b") for m in (EXACT, NOISY))
    gives = "The party that listens gives 'a', 'd'; the party that dials gives 'b', 'c', 'play'."
    assert gives in exact
    assert gives in noisy
    assert exact[-1] == INFERENCE
    assert INFERENCE not in noisy
