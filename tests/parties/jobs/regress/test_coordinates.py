"""Weights chosen one after the other: the exact law of small tables, beside plain code, and a line that is found."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.regress import coordinates
from parties.jobs.regress.coordinates import GRID, Coordinates
from parties.jobs.regress.settings import RegressSettings
from parties.models.linear import LinearModel
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.regression.rows import RowStream, TrainingRows
from smc.engines import Profile, engine_of
from smc.local import run_local

SCHEMA = Schema({"x": ("-1", "0", "1"), "y": ("-1", "0", "1"), "class": ("no", "yes")}, "class")


def task(**fields: Any) -> RegressJoint:
    given = {"epsilon": 1.0, "max_rows": 500, "method": "choice", "numeric": ("x", "y"), **fields}
    return RegressJoint.canonical(RegressSettings.model_validate(given), SCHEMA)


def stream(made: RegressJoint, lines: Any) -> RowStream:
    """Rows as indices of their values, the class last."""
    table = np.array(lines, dtype=np.int64).reshape(-1, len(made.features.columns) + 1)
    signs = np.where(table[:, -1] == 1, 1.0, -1.0)
    rows = TrainingRows(made.features, table[:, :-1], signs, np.ones(len(table), dtype=np.int64))
    return RowStream(made.features, lambda: iter((rows,)), len(table))


def winners(scores: Any, alpha: float) -> Any:
    """The chance of each candidate: the first of the greatest sums with one-sided geometric noise, float64[n]."""
    drawn = np.arange(400)
    chances = []
    for place, score in enumerate(scores):
        others = np.ones(len(drawn))
        for other, rival in enumerate(scores):
            if other != place:  # P(rival + g < score + t), or no more than it if the rival comes later
                most = score + drawn - rival + (0 if other > place else -1)
                others *= np.where(most >= 0, 1 - alpha ** (np.maximum(most, 0) + 1.0), 0)
        chances.append(float(((1 - alpha) * alpha**drawn * others).sum()))
    return np.array(chances)


def law(made: RegressJoint, lines: Any) -> dict[tuple[int, ...], float]:
    """The chance of every sequence of choices."""
    method = made.method
    assert isinstance(method, Coordinates)
    alpha, scores = math.exp(-1 / float(method.law.scale)), method.own(stream(made, lines))
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(method.steps):
        longer = {}
        for taken, chance in found.items():
            for index, one in enumerate(winners(scores.sums([(index,) for index in taken]), alpha)):
                longer[(*taken, index)] = chance * one
        found = longer
    return found


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_no_row_changes_the_chance_of_any_weights_by_more_than_epsilon(
    monkeypatch: pytest.MonkeyPatch, adjacency: str
) -> None:
    """All tables of up to two rows of one column and their neighbours, all sequences of three choices among three."""
    monkeypatch.setattr(coordinates, "GRID", np.array([0.0, 1.0, -1.0]))
    made = task(columns=("x",), numeric=("x",), steps=3, adjacency=adjacency)
    rows = list(itertools.product((0, 2), (0, 1)))
    tables = [table for size in (0, 1, 2) for table in itertools.combinations_with_replacement(rows, size)]
    laws = {table: law(made, table) for table in tables}
    worst = 0.0
    for one, other in itertools.permutations(tables, 2):
        bigger, smaller = (one, other) if len(one) > len(other) else (other, one)
        if adjacency == "add-remove":
            near = len(bigger) == len(smaller) + 1 and any(smaller == bigger[:i] + bigger[i + 1 :] for i in (0, 1))
        else:
            near = len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1
        if near:
            worst = max(worst, *(math.log(laws[one][taken] / laws[other][taken]) for taken in laws[one]))
    assert worst <= 1 + 1e-9
    assert worst > 0.6  # so an epsilon that is not divided, or a row that counts for two, would show


def test_scores_are_rows_that_the_model_has_right() -> None:
    """Each candidate's model as it would be written, on each row; a sum of 0 says the first class."""
    made = task(numeric=("x",))  # y is of categories
    method, random = made.method, np.random.default_rng(1)
    lines = np.column_stack([random.integers(0, 3, 40), random.integers(0, 3, 40), random.integers(0, 2, 40)])
    for _ in range(6):
        weights, feature = random.choice(GRID, made.features.number), int(random.integers(made.features.number))
        scores = method.scores(stream(made, lines), weights, feature)
        for place in (0, 1, 7, len(GRID) - 1):
            weights[feature] = GRID[place]
            opened = [0] * made.features.number
            for step in range(made.features.number):
                opened[step] = int(np.flatnonzero(weights[method.chosen(step)] == GRID)[0])
            model = LinearModel.parse(made.document(tuple((index,) for index in opened)))
            right = 0
            for x, y, label in lines:
                total = (
                    model.intercepts[0]
                    + model.columns["x"].read(("-1", "0", "1")[x])[0]
                    + model.columns["y"].read(("-1", "0", "1")[y])[0]
                )
                right += int((total > 1e-7) == (label == 1))
            assert scores[place] == right


@pytest.mark.parametrize("profile", [Profile("clear"), Profile("gmw")], ids=str)
def test_a_line_through_both_parties_rows_is_found(profile: Profile) -> None:
    """x > y is the class, which neither column tells; with next to no noise nearly all rows are right.

    Each weight is chosen twice: equal sums stand in a random order, and after one choice of each some lines still miss.
    """
    made = task(epsilon=16.0, max_rows=100, steps=6)
    lines = [(x, y, int(x > y)) for x in range(3) for y in range(3)] * 20

    def party(session: Any) -> Any:
        own = lines[session.party :: 2]
        data = made.method.own(made.own_rows(RowCounts([3, 3], 2, np.array(own)[:, :2], np.array(own)[:, 2])))
        engine = engine_of(session, profile)
        state = made.run(engine, data, made.states.cut(made.states.decode([[0], [3], [4]]), 3), lambda step: None)
        assert state[:3] == ((0,), (3,), (4,))  # intercept 0, x 2, y -2
        return state if profile.engine == "gmw" else made.run(engine, data, (), lambda step: None)

    one, other = run_local(party)
    assert one == other
    document = made.document(one)
    scored = made.method.scores(stream(made, lines), made.method.weights(one), made.features.number - 1)
    assert scored.max() > 0.9 * len(lines)
    assert document["choices"] == 6
    assert not {"lambda", "loss", "steps"} & document.keys()
    said = made.text(document, 0)
    assert f"choice, 6 choices among {len(GRID)} weights" in said


def test_noise_is_of_all_steps_and_of_all_rows_together() -> None:
    assert task().settings.steps == 3  # each weight once, the intercept first
    for fields, scale in (({}, 3), ({"adjacency": "replace"}, 6), ({"steps": 12}, 12), ({"at_most": 4}, 12)):
        made = task(**fields)
        assert made.method.law.scale == Fraction(scale), fields  # type: ignore[attr-defined]
        (spent,) = made.disclosure.spends
        assert (spent.amount, spent.times) == (1, 1)
    assert task(columns=("x",), numeric=("x",)).settings.steps is None  # one weight alone, by its loss
