"""Scikit-learn's own checks of each estimator, alone, with the schema taken from the data.

Their data are measurements, which a tree of categories takes only in bins. Estimators of columns of two values or of
times (`JointTest`, `JointSurvival`, `JointLogRank`, `JointEvaluation`) find none in them, see test_questions.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from parties.notebook import (
    JointBoostClassifier,
    JointBoostRegressor,
    JointForestClassifier,
    JointID3Classifier,
    JointKMeans,
    JointLogisticRegression,
    JointNaiveBayes,
    JointQuantile,
    JointRanking,
    JointRidge,
    JointRules,
    JointScorecard,
)
from parties.notebook.questions import study
from parties.notebook.reading import OWN_ROWS

EQUAL = "two fits differ: "
CANNOT_HOLD: dict[type, dict[str, str]] = {
    **dict.fromkeys(
        (JointLogisticRegression, JointRidge),
        dict.fromkeys(
            ("check_fit_idempotent", "check_supervised_y_2d", "check_regressors_int",
             "check_classifier_data_not_an_array", "check_regressor_data_not_an_array"),
            EQUAL + "each has noise of its own",
        ),
    ),
    JointForestClassifier: dict.fromkeys(
        ("check_fit_idempotent", "check_supervised_y_2d", "check_classifier_data_not_an_array"),
        EQUAL + "each draws rows of its own",
    ),
    JointRules: {"check_fit2d_1feature": "rules need two columns"},
    JointRanking: {"check_fit2d_1feature": "the only column is the target"},
}  # fmt: skip
ESTIMATORS = [
    JointID3Classifier(bins=6, min_rows=2, max_depth=2, plain=True),
    JointForestClassifier(bins=4, plain=True, trees=3),
    JointNaiveBayes(OWN_ROWS, exact=True),
    JointScorecard(OWN_ROWS, exact=True),
    JointBoostClassifier(OWN_ROWS, exact=True, rounds=2, depth=2),
    JointBoostRegressor(OWN_ROWS, exact=True, rounds=2, depth=2),
    JointLogisticRegression(OWN_ROWS, epsilon=16.0, steps=1),
    JointRidge(OWN_ROWS, epsilon=16.0),
    JointKMeans(OWN_ROWS, columns=["x0"], k=2, exact=True),
    JointRules(OWN_ROWS, support=0.3, max_length=2),
    JointRanking(OWN_ROWS, target="x0"),
    JointQuantile(OWN_ROWS, column="x0", at=0.5, exact=True),
    study("release mean")(OWN_ROWS, column="x0", exact=True),
]


def expected(estimator: Any) -> dict[str, str]:
    return CANNOT_HOLD.get(type(estimator), {})


@parametrize_with_checks([JointID3Classifier(bins=4, plain=True)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.one_of(12)
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_scikit_learn_checks_of_all(estimator: Any, check: Any) -> None:
    check(estimator)
