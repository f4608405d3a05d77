"""The kind `forest`: its result and states, what it refuses, and how often it is right beside scikit-learn's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.base.settings import merge
from parties.jobs.kinds.forest import Forest
from parties.jobs.tree.settings import ForestSettings
from parties.models.trees.tree import TreeFile
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType
from protocols.counts import RowCounts
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local

ORDERED = Domain(IntegerType(low=0, high=3))
SCHEMA = Schema({"a": ORDERED, "b": ("0", "1"), "c": ("0", "1", "2"), "class": ("no", "yes")}, "class")


def task(**settings: Any) -> Any:
    return Forest.canonical(merge(ForestSettings(max_rows=100, trees=3), settings), SCHEMA)


def run(of: Any, start: Any = None, engine: str = "clear") -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    def program(session: Any) -> Any:
        rng = np.random.default_rng(session.party)
        rows = np.stack([rng.integers(0, size, 80) for size in of.domains], axis=1)
        source = RowCounts(of.domains, 2, rows, (rows[:, 0] > 1).astype(np.int64))
        own = of.own_rows(source, bytes([session.party]) * 32)
        steps = seen if session.party else []
        begin = of.states.beginning if start is None else start
        return of.run(engine_of(session, Profile(engine)), own, begin, steps.append)

    first, second = run_local(program)
    assert first == second
    return first, seen


@pytest.mark.parametrize("splits", ["multiway", "binary"])
def test_a_forest_is_written_read_and_gone_on_with(splits: str) -> None:
    of = task(splits=splits, plain=True)
    state, steps = run(of, engine="lean")
    assert of.states.is_done(state)
    assert of.state_of(TreeFile.parse(json.loads(json.dumps(of.document(state)), parse_int=float))) == state
    for step in steps:
        assert (
            of.states.decode(json.loads(json.dumps(of.states.encode(step.state))))
            == step.state
            == of.states.cut(state, step.number)
        )
        assert run(of, step.state)[0] == state
    assert {
        kind: sum(of.disclosure.opened(state, step.number)[kind] for step in steps)
        for kind in of.disclosure.opened(state)
    } == of.disclosure.opened(state)
    assert Forest.agreed(of.specification()).specification() == of.specification()
    assert "3 trees that vote" in of.text(of.document(state), 0)


def test_left_alone_its_leaves_speak_of_five_rows() -> None:
    of = task()
    assert (of.settings.k, of.settings.attributes, of.settings.criterion) == (5, 3, "gini")  # of six questions
    assert of.settings.max_depth is not None
    assert any("fewer than 5 rows" in line for line in of.disclosure.reveals("bob"))


@pytest.mark.parametrize(
    "wrong", [{"trees": 0}, {"trees": 1001}, {"attributes": 0}, {"criterion": "twoing"}, {"t": 0.5}]
)
def test_wrong_settings(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        task(**wrong)


@pytest.mark.slow
def test_as_often_right_as_scikit_learn(shared: Path) -> None:
    """On a third of car, learnt from the others: at most one in a hundred rows fewer."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold

    from parties.notebook import JointForestClassifier

    lines = [line.split(",") for line in (shared / "data" / "car.csv").read_text().split()]
    head, *rows = lines
    order = ["small", "low", "med", "big", "high", "vhigh", "2", "3", "4", "5more", "more"]
    target = head.index("class")
    X = np.array([[order.index(cell) for i, cell in enumerate(row) if i != target] for row in rows])
    X = np.stack([np.unique(column, return_inverse=True)[1] for column in X.T], axis=1)
    y = np.array([row[target] for row in rows])
    sizes = X.max(axis=0)
    columns = {f"x{i}": Domain(IntegerType(low=0, high=int(high))) for i, high in enumerate(sizes)}
    schema = Schema({**columns, "class": tuple(sorted(set(y)))}, "class")
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    joint = JointForestClassifier(schema, splits="binary", plain=True).fit(X[train].astype(str), y[train])
    theirs = RandomForestClassifier(100, random_state=0).fit(X[train], y[train])
    assert (joint.predict(X[test].astype(str)) == y[test]).mean() >= theirs.score(X[test], y[test]) - 0.01
