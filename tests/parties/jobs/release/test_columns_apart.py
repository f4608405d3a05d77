"""Questions over columns that lie apart: the numbers are those of the joined rows, the forecast what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.columns_apart import CLEAR, NOISY, Two, people

CASES: list[tuple[str, dict[str, Any]]] = [
    ("rank", {"measure": "mi", "first": 2}),
    ("rank", {"measure": "chi2", "where": "b = u and a in [x, y]"}),
    ("release count", {"where": "a = x; c in [l, m]", **NOISY}),
    ("release table", {"by": ("a", "c"), "where": "d = 1", **NOISY}),
    ("release table", {"by": ("play", "d"), **NOISY}),
]


@pytest.mark.parametrize(("name", "more"), CASES)
def test_the_numbers_are_those_of_the_joined_rows(tmp_path: Path, name: str, more: dict[str, Any]) -> None:
    two = Two(tmp_path, people(), "play", ("a", "d"), 2, kinds.find(name))

    def party(session: Session) -> Any:
        task, data, _ = two.kind.alone(two.settings(session.party, **more), session.party)
        return task.with_engine(engine_of(session, CLEAR), data)

    shares = run_local(party)
    joined = two.as_joined_numbers(**more)
    assert (np.add(*shares) == joined).all()


@pytest.mark.parametrize("engine", ["yao", "gmw"])
@pytest.mark.parametrize(("name", "more"), CASES)
def test_an_estimate_is_what_is_measured(tmp_path: Path, name: str, more: dict[str, Any], engine: Any) -> None:
    two, profile = Two(tmp_path, people(), "play", ("a", "d"), kind=kinds.find(name)), Profile(engine)
    task, _, sent = two.run(profile, **more)
    counted = task.cost_of_run(Inputs())
    assert counted.estimate == "exact"
    assert forecast(counted.program, profile).bytes == sent


@pytest.mark.parametrize(
    ("name", "more", "line"),
    [
        ("release count", {"where": "a = x and c = l", "epsilon": 1.0}, "noise hides values; give --adjacency replace"),
        ("release count", {"where": "a = x", **NOISY}, "listener_columns: each party needs a column of 'a'"),
        ("release table", {"by": ("a", "c"), "exact": True}, "exact cannot be combined with listener_columns"),
        ("rank", {"at_most": 1}, "at_most cannot be combined with listener_columns"),
    ],
)
def test_questions_that_do_not_fit_are_a_line(tmp_path: Path, name: str, more: dict[str, Any], line: str) -> None:
    two = Two(tmp_path, people(), "play", ("a", "d"), kind=kinds.find(name))
    with pytest.raises(InputError, match=line):
        two.kind.alone(two.settings(0, **more), 0)
