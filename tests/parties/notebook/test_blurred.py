"""BlurredTreeClassifier: scikit-learn's own checks, and what only it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from parties.alone.blurring.plan import ColumnBlur
from parties.notebook import BlurredTreeClassifier
from smc.errors import InputError


@parametrize_with_checks([BlurredTreeClassifier(), BlurredTreeClassifier(strategy="local", max_depth=3)])
def test_scikit_learn_checks(estimator: BlurredTreeClassifier, check: Any) -> None:
    check(estimator)


def test_it_learns_from_blurred_values_and_classifies_true_ones() -> None:
    rng = np.random.default_rng(5)
    age, salary = rng.uniform(20, 80, 20_000), rng.uniform(20e3, 150e3, 20_000)
    classes = np.where((age < 40) | (age >= 60), "A", "B")
    plan = {
        "age": ColumnBlur(noise="uniform", low=20, high=80, privacy=1.0),
        "salary": ColumnBlur(noise="gaussian", low=20e3, high=150e3, privacy=1.0),
    }
    true = pd.DataFrame({"age": age, "salary": salary})
    blurred = true.apply(lambda column: plan[str(column.name)].made.blur(column.to_numpy(), rng))
    scores = {
        strategy: BlurredTreeClassifier(plan, strategy=strategy, min_rows=50).fit(blurred, classes).score(true, classes)
        for strategy in ("byclass", "local", "none")
    }
    assert scores["byclass"] > 0.95
    assert scores["local"] > 0.95
    assert scores["none"] < 0.75  # two thirds are A


def test_categories_by_randomised_response() -> None:
    rng = np.random.default_rng(6)
    plan = ColumnBlur(noise="response", values=tuple("abcd"), keep=0.5)
    true = rng.integers(0, 4, 10_000).astype(np.int32)
    classes = np.isin(true, [0, 2]).astype(int)  # no order of the categories would do with one split
    said = plan.response.blur(true, rng)[:, None]
    found = BlurredTreeClassifier({0: plan}, random_state=1).fit(said, classes)
    assert found.score(true[:, None], classes) == 1.0
    with pytest.raises(InputError, match="whole numbers from 0 to 3"):
        found.predict([[4.0]])


def test_bad_parameters() -> None:
    rows, classes = np.array([[1.0], [2.0]]), [0, 1]
    with pytest.raises(InputError, match="strategy: there is no 'byclas'"):
        BlurredTreeClassifier(strategy="byclas").fit(rows, classes)
    with pytest.raises(InputError, match="noise: there is no column 'age'"):
        BlurredTreeClassifier({"age": ColumnBlur(noise="none")}).fit(rows, classes)
