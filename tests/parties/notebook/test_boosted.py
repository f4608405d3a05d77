"""Boosted trees as estimators: the same as the job's, alone; what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from parties.notebook import JointBoostClassifier, JointBoostRegressor
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from smc.errors import InputError

pandas = pytest.importorskip("pandas")

SCHEMA = Schema(
    {
        "age": Domain(read_type({"type": "integer", "low": 18, "high": 57, "missing": True})),
        "pay": Domain(read_type({"type": "real", "low": 0.0, "high": 99.0, "edges": [10.5, 50.0]})),
        "town": ("a", "b", "c"),
        "ill": ("no", "yes"),
    },
    "ill",
)
DRAW = np.random.default_rng(3)
FRAME = pandas.DataFrame(
    {
        "town": DRAW.choice(["a", "b", "c"], 300),
        "pay": DRAW.uniform(-5, 120, 300),
        "age": np.where(DRAW.random(300) < 0.1, np.nan, DRAW.integers(15, 60, 300)),
        "other": 1,
    }
)
ILL = np.where((FRAME.pay > 50) ^ (FRAME.town == "b"), "yes", "no")


def test_classes_and_their_chances() -> None:
    found = clone(JointBoostClassifier(SCHEMA, exact=True, rounds=8, depth=2)).fit(FRAME, ILL)
    assert found.score(FRAME, ILL) == 1
    chances = found.predict_proba(FRAME)
    assert chances.sum(axis=1) == pytest.approx(np.ones(300))
    assert (found.classes_[chances.argmax(axis=1)] == ILL).all()
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 (of our own)
    assert (again.predict(FRAME) == found.predict(FRAME)).all()
    array = FRAME[["age", "pay", "town"]].to_numpy(dtype=object)
    same = JointBoostClassifier(SCHEMA, exact=True, rounds=8, depth=2).fit(array, ILL)
    assert same.document_ == found.document_


def test_a_regression_tree() -> None:
    numbers = np.where(FRAME.town == "a", 30, 50).astype(float)
    numbers[FRAME.pay.to_numpy() < 10.5] = 20
    schema = Schema({name: SCHEMA.attributes[name] for name in ("age", "pay", "town")}, "age")
    found = JointBoostRegressor(schema, exact=True, rounds=1, depth=2, reg_lambda=0.0).fit(FRAME, numbers)
    assert found.predict(FRAME) == pytest.approx(numbers, abs=1e-3)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match="X and schema are needed"):
        JointBoostClassifier(exact=True).fit(FRAME, ILL)
    with pytest.raises(InputError, match="epsilon: is missing"):
        JointBoostClassifier(SCHEMA).fit(FRAME, ILL)
    with pytest.raises(InputError, match="lacks the column 'ill'"):
        JointBoostClassifier(SCHEMA, exact=True).fit(FRAME)
    with pytest.raises(InputError, match="'z' is not in the schema"):
        JointBoostClassifier(SCHEMA, exact=True).fit(FRAME.assign(town="z"), ILL)
