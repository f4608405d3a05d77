"""A tree that costs more than is allowed: both parties stop before the same level, and may go on from there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parties.base.console import StatusLine
from parties.jobs import tabular
from parties.jobs.execution import running
from parties.jobs.kind import LargerThanForecastError
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols.counts import RowCounts
from protocols.tree import decided_levels
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

SCHEMA = Schema({**{f"a{i}": ("0", "1", "2") for i in range(4)}, "class": ("no", "yes")}, "class")


def task(**settings: Any) -> ExactTree:
    return ExactTree(Id3Settings(max_rows=200, plain=True, **settings), SCHEMA, "class")


def rows(party: int) -> RowCounts:
    rng = np.random.default_rng(party)
    return RowCounts((3,) * 4, 2, rng.integers(0, 3, (150, 4)), rng.integers(0, 2, 150))


def outcome(of: ExactTree, session: Session, start: Any, seen: list[int]) -> Any:
    try:
        return of.run(engine_of(session, PROFILE), rows(session.party), start, lambda step: seen.append(step.number))
    except LargerThanForecastError as error:
        return error


PROFILE = Profile("mixed")


def run(of: ExactTree, start: Any) -> tuple[Any, Any, list[int]]:
    seen: list[int] = []
    left, right = run_local(lambda session: outcome(of, session, start, seen if session.party else []))
    return left, right, seen


def test_both_stop_before_the_same_level_and_go_on_from_there() -> None:
    whole, same, _ = run(task(), task().states.beginning)
    assert whole == same
    bounded = task(most_bytes=100_000)
    left, right, _ = run(bounded, bounded.states.beginning)
    assert isinstance(left, LargerThanForecastError)
    assert str(left) == str(right)
    assert left.state == right.state
    assert left.spent == right.spent > 100_000
    steps = decided_levels(left.state)
    assert 0 < steps < 4
    more = bounded.allowing(10**9)
    again, _, seen = run(more, left.state)
    assert again == whole
    assert seen[0] == steps, "nothing is opened twice"


def test_the_bound_is_four_times_the_forecast_but_no_small_run_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _, _ = run(task(), task().states.beginning)
    assert not isinstance(whole, LargerThanForecastError)
    monkeypatch.setattr(tabular, "LEAST_STOP", 1000)
    monkeypatch.setattr(ExactTree, "forecast", 20_000)
    left, right, _ = run(task(), task().states.beginning)
    assert isinstance(left, LargerThanForecastError)
    assert str(left) == str(right)
    assert "so far, forecast 20.0 KB; stopped before level" in str(left)
    monkeypatch.setattr(ExactTree, "forecast", None)  # not countable: then nobody knows what is too large
    assert run(task(), task().states.beginning)[0] == whole


@pytest.mark.parametrize("answers", [(True, True), (True, False), (False, True), (False, False)])
def test_a_run_goes_on_only_if_both_say_so(answers: tuple[bool, bool]) -> None:
    said = run_local(lambda session: running._both_say_yes(session, answers[session.party]))
    assert said == (all(answers), all(answers)) or list(said) == [all(answers)] * 2


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parties.base.console.is_asked", lambda: False)
    assert not StatusLine(None).asked("Go on?", 5)


def test_a_tree_that_asks_by_edges_has_no_forecast_to_be_held_to() -> None:
    ages = Domain(read_type({"type": "integer", "low": 0, "high": 100, "edges": [20, 40, 60]}))
    schema = Schema({"age": ages, "class": ("no", "yes")}, "class")
    assert ExactTree(Id3Settings(max_rows=200, plain=True), schema, "class").forecast is not None
    assert ExactTree(Id3Settings(max_rows=200, plain=True, splits="binary"), schema, "class").forecast is None
