"""How far a session is, as an operator sees it, and who may cut it and why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from parties.node.links import progress
from parties.node.links.executor import Reached
from parties.node.links.progress import Running
from smc.meter import Cost


class Worker:
    """One that can be cut, or not yet or not any more."""

    def __init__(self, can_be_cut: bool) -> None:
        self.can_be_cut, self.cut = can_be_cut, list[str]()

    def abort(self, why: str) -> None:
        self.cut.append(why)


def reached(step: int) -> Reached:
    return Reached(step, 7, "level 3", None, Cost())


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: 112.34))


def running(**fields: Any) -> Running:
    return Running(started=100.0, cost=Cost(bytes_sent=1, bytes_received=2, rounds=3), **fields)


def test_before_the_first_step_nothing_is_known_of_the_time() -> None:
    session = running(costs_of_steps=(1, 2))
    assert (session.linked, session.begun) == (False, False)
    shown = session.progress()
    assert (shown.depth, shown.nodes, shown.doing, shown.seconds_left) == (0, 0, "beginning", None)
    assert (shown.bytes_sent, shown.bytes_received, shown.rounds) == (1, 2, 3)
    again = running(doing="opening its table", first=4).progress()
    assert (again.depth, again.doing) == (4, "opening its table")


@pytest.mark.parametrize(
    ("first", "step", "share"), [(0, 1, 6 / 1), (0, 2, 4 / 3), (1, 2, 4 / 2), (0, 3, 0), (1, 1, None), (3, 3, None)]
)
def test_what_is_left_of_the_time_goes_by_what_the_steps_of_this_session_cost(
    first: int, step: int, share: float | None
) -> None:
    shown = running(first=first, step=reached(step), costs_of_steps=(1, 2, 4)).progress()
    assert (shown.depth, shown.nodes, shown.doing) == (step, 7, "level 3")
    assert (shown.seconds, shown.seconds_left) == (12.3, None if share is None else round(12.34 * share, 1))
    assert running(first=first, step=reached(step)).progress().seconds_left is None


@pytest.mark.parametrize(("first", "step", "further"), [(0, None, False), (0, 1, True), (2, 2, False), (2, 3, True)])
def test_whether_a_session_decided_what_those_before_had_not(first: int, step: int | None, further: bool) -> None:
    assert running(first=first, step=None if step is None else reached(step)).got_further == further


def test_of_several_reasons_the_first_counts() -> None:
    worker: Any = Worker(can_be_cut=True)
    session = running(worker=worker)
    for why in ("revoked", "stopping"):
        session.abort(why)
    assert (session.why, worker.cut) == ("revoked", ["revoked", "stopping"])


def test_what_cannot_be_cut_is_left_alone() -> None:
    """And has no reason to end: what ends it later has another one."""
    worker: Any = Worker(can_be_cut=False)
    for session in (running(), running(worker=worker)):
        session.abort("stopping")
        assert session.why == ""
    assert worker.cut == []
