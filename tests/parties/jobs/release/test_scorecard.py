"""A scorecard against naive Bayes by hand, and its SQL in DuckDB."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import pytest

from parties.jobs import kinds
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from smc.errors import InputError

SCHEMA = Schema(
    {
        "age": Domain(read_type({"type": "integer", "low": 0, "high": 99, "edges": [30, 60], "missing": True})),
        "home": ("own", "rent, o'clock"),
        "paid": ("no", "yes"),
    },
    "paid",
)


def task_of(**said: Any) -> Any:
    kind = kinds.find("scorecard")
    given = {"max_rows": 500, "epsilon": 1.0, "good": "yes", **said}
    return kind.canonical(kind.Settings.model_validate(given), SCHEMA)  # type: ignore[attr-defined]


COUNTS = [[30, 70], [[10, 30], [15, 20], [3, 15], [2, 5]], [[12, 48], [18, 22]]]  # paid; age, home by paid
STATE = np.concatenate([np.ravel(part) for part in COUNTS[1:]]).tolist()


def points(age: int, home: int) -> float:
    """What naive Bayes says of a row, with a half more in each cell, in points."""
    odds = 70.5 / 30.5
    for column, value in ((COUNTS[1], age), (COUNTS[2], home)):
        table = np.array(column) + 0.5
        odds *= (table[value, 1] / table[:, 1].sum()) / (table[value, 0] / table[:, 0].sum())
    return 500 + 50 * math.log2(odds)


def test_points_are_naive_bayes() -> None:
    card = task_of().document(STATE)["scorecard"]
    age, home = card["columns"]
    for i in range(4):
        for j in range(2):
            total = card["offset"] + age["values"][i]["points"] + home["values"][j]["points"]
            assert total == pytest.approx(points(i, j), abs=1.6)  # three roundings
    table = np.array(COUNTS[2]) + 0.5
    good, bad = table[:, 1] / table[:, 1].sum(), table[:, 0] / table[:, 0].sum()
    assert home["information"] == pytest.approx(((good - bad) * np.log(good / bad)).sum(), abs=1e-4)
    assert task_of(good="no").document(STATE)["scorecard"]["columns"][0]["values"][0]["points"] < 0


def test_sql_gives_the_points() -> None:
    task = task_of()
    document = task.document(STATE)
    (sql,) = [file.content(document) for file in task.files() if file.name == "scorecard.sql"]
    card = document["scorecard"]
    for age, place in ((29, 0), (30, 1), (59, 1), (60, 2), (99, 2), (None, 3)):
        for j, home in enumerate(SCHEMA.attributes["home"]):
            row = duckdb.execute(f"SELECT {sql} FROM (SELECT $1::INTEGER AS age, $2 AS home)", [age, home]).fetchone()
            both = zip(card["columns"], (place, j), strict=True)
            assert row == (card["offset"] + sum(column["values"][at]["points"] for column, at in both),)


def test_text_and_refusals() -> None:
    task = task_of()
    assert "information value" in task.text(task.document(STATE), 0)
    with pytest.raises(InputError, match="good: 'maybe'"):
        task_of(good="maybe")
    with pytest.raises(InputError, match="two classes"):
        task_of(target="age", columns=("home",), good=None)
