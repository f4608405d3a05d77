"""Questions over columns that lie apart: the numbers are those of the joined rows, the forecast what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.release.kind import MADE_UP
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
    ("release count", {"where": "play = yes and a in [x, y] and c = l; b = u", **NOISY}),
    ("release histogram", {"by": "c", "where": "a in [x, z]", **NOISY}),
    ("release marginals", {"columns": ("a", "b", "c"), "ways": 2, "where": "play = yes", **NOISY}),
    ("release naive-bayes", {"target": "play", "columns": ("a", "b"), "delta": 0.0, **NOISY}),
    ("release sum", {"column": "debt", "by": ("a",), **NOISY}),
    ("release mean", {"column": "age", "by": ("c", "play"), "where": "debt in [-20, 3]", **NOISY}),
    ("release deviation", {"column": "debt", "where": "a = x and debt in [0, 3]", **NOISY}),
    ("release correlation", {"numeric": ("age", "debt"), "by": ("b",), **NOISY}),
    ("release median", {"column": "age", "by": ("b",), "round_to": 20.0, **NOISY}),
    ("release top", {"column": "c", "first": 2, "by": ("a",), **NOISY}),
    ("release choose", {"column": "age", "prices": "20,40", "where": "b = u", **NOISY}),
    ("quantile", {"column": "age", "at": 0.25, "where": "c in [l, m, n]", **NOISY}),
    ("test chi2", {"columns": ("a", "play")}),
    ("test chi2", {"columns": ("play", "a"), **NOISY}),
    ("test trend", {"target": "play", "by": "age"}),
    ("test proportions", {"target": "play", "by": "d", "where": "c in [l, m]"}),
    ("test welch", {"column": "debt", "by": "d"}),
    ("variance", {"column": "age", "above": 9.0, "where": "play = yes"}),
    ("survive curve", {"time": "age", "event": "play", "arm": "a", **NOISY}),
    ("survive compare", {"time": "age", "event": "play", "arm": "b"}),
]


def tables(directory: Path, name: str, strangers: int = 0) -> Two:
    """Two tables with columns of numbers: debts at one party, ages at the other, each with missing values."""
    rows = people()
    for number, row in enumerate(rows):
        row |= {"age": ("20", "35", "60", "?", "35.5")[number % 5], "debt": ("-20", "0", "3", "?")[number % 4]}
    return Two(directory, rows, "play", ("a", "d", "age"), strangers, kinds.find(name))


@pytest.mark.parametrize(("name", "more"), CASES)
def test_the_numbers_are_those_of_the_joined_rows(tmp_path: Path, name: str, more: dict[str, Any]) -> None:
    two = tables(tmp_path, name, strangers=2)

    def party(session: Session) -> Any:
        task, data, _ = two.kind.alone(two.settings(session.party, **more), session.party)
        return task.with_engine(engine_of(session, CLEAR), data)

    shares = run_local(party)
    joined = two.as_joined_numbers(**more)
    assert (np.add(*shares) == joined).all()
    if "epsilon" not in more:
        assert two.run(CLEAR, **more)[1] == two.as_joined(**more)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("engine", ["yao", "gmw"])
@pytest.mark.parametrize(("name", "more"), CASES)
def test_an_estimate_is_what_is_measured(tmp_path: Path, name: str, more: dict[str, Any], engine: Any) -> None:
    two, profile = tables(tmp_path, name), Profile(engine)
    task, _, sent = two.run(profile, **more)
    counted = task.cost_of_run(Inputs())
    assert counted.estimate == "exact"
    assert forecast(counted.program, profile).bytes == sent


@pytest.mark.parametrize(("name", "more"), CASES)
def test_consent_names_the_columns_and_what_an_answer_without_noise_can_tell(
    tmp_path: Path, name: str, more: dict[str, Any]
) -> None:
    two = tables(tmp_path, name)
    sentences = two.kind.alone(two.settings(0, **more), 0)[0].disclosure.reveals("b")
    assert any(line.startswith("The party that listens gives ") for line in sentences), sentences
    assert (MADE_UP in sentences) == ("epsilon" not in more)
    assert not any("subtract its own rows" in line for line in sentences)


@pytest.mark.parametrize(
    ("name", "more", "line"),
    [
        ("release count", {"where": "a = x and c = l", "epsilon": 1.0}, "noise hides values; set adjacency to replace"),
        ("release count", {"where": "a = x", **NOISY}, "listener_columns: the job reads 'a', columns of one party"),
        ("release table", {"by": ("a", "c"), "exact": True}, "exact cannot be combined with listener_columns"),
        ("release mean", {"column": "age", "by": ("b",), "exact": True}, "exact cannot be combined with listener_col"),
        ("quantile", {"column": "age", "exact": True, "where": "b = u"}, "exact cannot be combined with listener_col"),
        ("test chi2", {"columns": ("a", "d")}, "listener_columns: the job reads 'a', 'd', columns of one party"),
        ("test chi2", {"columns": ("a", "b"), "epsilon": 1.0}, "noise hides values; set adjacency to replace"),
        ("rank", {"at_most": 1}, "at_most cannot be combined with listener_columns"),
    ],
)
def test_questions_that_do_not_fit_are_a_line(tmp_path: Path, name: str, more: dict[str, Any], line: str) -> None:
    two = tables(tmp_path, name)
    with pytest.raises(InputError, match=line):
        two.kind.alone(two.settings(0, **more), 0)
