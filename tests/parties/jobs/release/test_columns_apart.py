"""Questions over columns that lie apart: the numbers are those of the joined rows, the forecast what is measured."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.release import reading
from parties.jobs.release.evaluate import scored
from parties.jobs.release.kind import MADE_UP
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.columns_apart import CLEAR, NOISY, Two, people

YES, NO = {"class": "yes"}, {"class": "no"}
ON_C = {"attribute": "c", "from": "n", "branches": {"< n": YES, ">= n": NO}}
ON_D = {"attribute": "d", "branches": {"0": NO, "1": {**ON_C, "from": "m", "branches": {"< m": NO, ">= m": YES}}}}
TREE = {
    "schema_digest": "0" * 64,
    "target": "play",
    "tolerance": 0.001,
    "ordered": {"c": list("lmnop")},
    "tree": {"attribute": "a", "branches": {"x": ON_C, "y": NO, "z": ON_D}},
}
FOREST = {name: value for name, value in TREE.items() if name != "tree"} | {"trees": [TREE["tree"], ON_C, ON_D]}
WEIGHTS = {"a": {"weights": {"x": 1.5, "y": -0.5, "z": 0.25}}, "b": {"weights": {"u": -1.0, "v": 0.75}}}
LINEAR = {"target": "play", "classes": ["no", "yes"], "intercept": 0.5, "columns": WEIGHTS}
AGES = {"target": "age", "least": 20, "greatest": 60, "intercept": 30.0, "columns": WEIGHTS}
SCORED: dict[str, Any] = {"target": "play", "scores": "age"}
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
    ("release difference", {"column": "age", "by": "b", "where": "debt in [-20, 3]", **NOISY}),
    ("release difference", {"column": "debt", "by": "a", "where": "a in [x, z] and debt in [0, 3]", **NOISY}),
    ("release risks", {"target": "play", "by": "d", "strata": ("b", "a"), **NOISY}),
    ("release rates", {"target": "d", "by": "b", **NOISY}),
    ("release rates", {"target": "d", "by": "b", "strata": ("a",), "exposure": "age", **NOISY}),
    ("evaluate report", {"classifier": json.dumps(TREE), **NOISY}),
    ("evaluate report", {"classifier": json.dumps(TREE), "by": "c", "where": "c in [l, m, n] and b = u", **NOISY}),
    ("evaluate report", {"classifier": json.dumps(FOREST), "by": "b", "bins": 6, **NOISY}),
    ("evaluate auc", {"classifier": json.dumps(TREE), "at_least": 0.9, "where": "a in [x, y]"}),
    ("evaluate auc", {"classifier": json.dumps(LINEAR), "at_least": 0.25}),
    ("evaluate auc", {**SCORED, "at_least": 0.5, "target_value": "no", "where": "age in [20, 35, 60, ?]"}),
    ("evaluate better", {"classifier": json.dumps(TREE), "than": "d"}),
    ("evaluate error", {"classifier": json.dumps(AGES), "where": "debt in [-20, 0]", **NOISY}),
]


def tables(directory: Path, name: str, strangers: int = 0, hidden: bool = False) -> Two:
    """Two tables with columns of numbers: debts at one party, ages at the other, each with missing values."""
    rows = people()
    for number, row in enumerate(rows):
        row |= {"age": ("20", "35", "60", "?", "35.5")[number % 5], "debt": ("-20", "0", "3", "?")[number % 4]}
    return Two(directory, rows, "play", ("a", "d", "age"), strangers, kinds.find(name), hidden)


def shares_of(two: Two, **more: Any) -> Any:
    """The joint numbers, from both parties' shares."""

    def party(session: Session) -> Any:
        task, data, _ = two.kind.alone(two.settings(session.party, **more), session.party)
        return task.with_engine(engine_of(session, CLEAR), data)

    return np.add(*run_local(party))


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(("name", "more"), CASES)
def test_the_numbers_are_those_of_the_joined_rows(
    tmp_path: Path, name: str, more: dict[str, Any], hidden: bool
) -> None:
    two = tables(tmp_path, name, 2, hidden)
    assert (shares_of(two, **more) == two.as_joined_numbers(**more)).all()
    if "epsilon" not in more:
        assert two.run(CLEAR, **more)[1] == two.as_joined(**more)


@pytest.mark.one_of(3)
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("engine", ["yao", "gmw"])
@pytest.mark.parametrize(("name", "more"), CASES)
def test_an_estimate_is_what_is_measured(
    tmp_path: Path, name: str, more: dict[str, Any], engine: Any, hidden: bool
) -> None:
    two, profile = tables(tmp_path, name, 0, hidden), Profile(engine)
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
        ("evaluate report", {"classifier": json.dumps(TREE), "exact": True}, "exact cannot be combined with listener_"),
        ("evaluate report", {"classifier": json.dumps(TREE), "epsilon": 1.0}, "noise hides values; set adjacency to"),
        (
            "evaluate auc",
            {"classifier": json.dumps({**TREE, "split": {"held_out": 0.3, "columns": ["a", "c"]}}), "at_least": 0.5},
            "judged_on: the rows held out follow from all columns of a row; with listener_columns give new",
        ),
        ("release risks", {"target": "play", "by": "d", "exact": True}, "exact cannot be combined with listener_col"),
    ],
)
def test_questions_that_do_not_fit_are_a_line(tmp_path: Path, name: str, more: dict[str, Any], line: str) -> None:
    two = tables(tmp_path, name)
    with pytest.raises(InputError, match=line):
        two.kind.alone(two.settings(0, **more), 0)


@pytest.mark.parametrize(
    ("name", "more", "line"),
    [
        (
            "evaluate auc",
            {"classifier": json.dumps(FOREST), "at_least": 0.5},
            "model: 60 combinations of values",
        ),
        ("evaluate auc", {"classifier": json.dumps(TREE), "at_least": 0.5}, None),
        ("evaluate error", {"classifier": json.dumps(AGES), **NOISY}, "the question needs 30 cells, more than 29"),
        ("release rates", {"target": "d", "by": "b", "strata": ("a",), "exposure": "age", **NOISY}, "needs 60 cells"),
    ],
)
def test_too_many_combinations_are_a_line(
    tmp_path: Path, name: str, more: dict[str, Any], line: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reading, scored):
        monkeypatch.setattr(module, "MAX_CELLS", 29)
    two = tables(tmp_path, name)
    with contextlib.nullcontext() if line is None else pytest.raises(InputError, match=line):
        two.kind.alone(two.settings(0, **more), 0)


@pytest.mark.parametrize("left", ["a", "c", "ab", "play"])
def test_a_trees_confusion_is_that_of_pandas(tmp_path: Path, left: str) -> None:
    """The tree's columns at one party or both, the class at either, and groups by a column of either."""
    rows = people(200)
    two = Two(tmp_path, rows, "play", (left,) if left == "play" else tuple(left), 5, kinds.find("evaluate report"))
    table = pandas.DataFrame(two.joined)
    low_c = table.c < "n"
    table["predicted"] = ((table.a == "x") & low_c) | ((table.a == "z") & (table.d == "1") & (table.c >= "m"))
    for by in ("b", "d", "c"):
        found = shares_of(two, classifier=json.dumps(TREE), by=by, where="b = u", **NOISY)
        found = found.reshape(-1, 2, 20)
        assert not found[:, :, 1:-1].any()
        chosen = table[table.b == "u"]
        for group, value in enumerate(sorted(table[by].unique())):
            for label, answer in enumerate(("no", "yes")):
                of_cell = chosen[(chosen[by] == value) & (chosen.play == answer)]
                expected = [int((~of_cell.predicted).sum()), int(of_cell.predicted.sum())]
                assert found[group, label, [0, -1]].tolist() == expected


@pytest.mark.parametrize("select", ["mst", "aim"])
def test_synthetic_rows_come_from_the_joined_rows(tmp_path: Path, select: str) -> None:
    """Each of some 25 noisy counts is within 8 sigma: a chance below 10^-12 to fail. A run goes on from its middle."""
    asked = {"columns": ("a", "b", "play"), "delta": 1e-6, "model_cells": 1024, "select": select, **NOISY}
    two = tables(tmp_path, "synthesise", strangers=2)
    assert (shares_of(two, **asked) == two.as_joined_numbers(**asked)).all()
    task, state, sent = two.run(Profile("yao"), **{**asked, "epsilon": 16.0})
    table = pandas.DataFrame(two.joined)
    for marginal in task.document(state)["measured"]:
        names = marginal["columns"]
        joint = table.groupby(names).size().reindex(pandas.MultiIndex.from_product(
            [two.schema.attributes[name] for name in names], names=names), fill_value=0)  # fmt: skip
        off = np.abs(np.array(marginal["counts"]).reshape(-1) - joint.to_numpy())
        assert off.max() <= 8 * marginal["sigma"]
    begun = task.states.cut(state, 1)
    resumed = two.run(CLEAR, begun, **{**asked, "epsilon": 16.0})[1]
    assert [one.counts.tolist() for one in resumed.measured[:3]] == [one.counts.tolist() for one in begun.measured]
    if select == "mst":
        counted = task.cost_of_run(Inputs())
        assert counted.estimate == "at most"
        assert sent <= forecast(counted.program, Profile("yao")).bytes < 1.05 * sent


def test_events_and_times_are_those_of_pandas(tmp_path: Path) -> None:
    """Ages are summed in steps of 0.5; rows without an age do not count."""
    two = tables(tmp_path, "release rates", strangers=3)
    table = pandas.DataFrame(two.joined)
    table = table[table.age != "?"].assign(
        d=lambda rows: rows.d.astype(int), age=lambda rows: 2 * rows.age.astype(float)
    )
    found = shares_of(two, target="d", by="b", strata=("a",), exposure="age", **NOISY)
    assert (
        found.reshape(2, 6).T.tolist() == table.groupby(["a", "b"])[["d", "age"]].sum().astype(int).to_numpy().tolist()
    )
