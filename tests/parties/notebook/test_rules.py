"""Association rules as a transformer: the rules, which of them speak of which rows, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from parties.notebook import JointRules
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from smc.errors import InputError

pandas = pytest.importorskip("pandas")

SCHEMA = Schema(
    {
        "age": Domain(read_type({"type": "integer", "low": 0, "high": 99, "edges": [50]})),
        "town": ("a", "b", "c"),
        "ill": ("no", "yes"),
    },
    "ill",
)
DRAW = np.random.default_rng(3)
FRAME = pandas.DataFrame({"town": DRAW.choice(["a", "b", "c"], 200), "age": DRAW.integers(0, 99, 200), "other": 1})
FRAME["ill"] = np.where((FRAME.age >= 50) & (FRAME.town == "a"), "yes", "no")
OLD = SCHEMA.attributes["age"][1]


def test_rules_and_the_rows_they_speak_of() -> None:
    found = clone(JointRules(SCHEMA, confidence=1.0, support=0.05, show="all")).fit(FRAME)
    rule = {"if": [f"age={OLD}", "town=a"], "then": ["ill=yes"]}
    assert rule in found.rules_
    place = found.rules_.index(rule)
    old_in_a = ((FRAME.age >= 50) & (FRAME.town == "a")).to_numpy()
    fires = found.transform(FRAME)
    assert (fires[:, place] == old_in_a).all()
    assert (found.holds(FRAME) == fires).all()  # of confidence 1
    assert found.holds(FRAME.assign(ill="no"))[:, place].sum() == 0
    assert found.get_feature_names_out()[place] == f"if age={OLD} and town=a then ill=yes"
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 (of our own)
    assert (again.transform(FRAME) == fires).all()


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match="X and schema are needed"):
        JointRules().fit(FRAME)
    with pytest.raises(InputError, match="X has 4 columns; give 3"):
        JointRules(SCHEMA).fit(FRAME.to_numpy())
    with pytest.raises(InputError, match="support"):
        JointRules(SCHEMA, support=0.0).fit(FRAME)
    with pytest.raises(InputError, match="lacks the column 'town'"):
        JointRules(SCHEMA).fit(FRAME.drop(columns="town"))
