"""Scikit-learn's own checks of an estimator, alone, with the schema taken from the data: none is expected to fail.

Their data are measurements, which a tree of categories takes only in bins.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from parties.notebook.estimator import JointID3Classifier


@parametrize_with_checks(
    [JointID3Classifier(bins=4, plain=True), JointID3Classifier(bins=6, min_rows=2, max_depth=2, plain=True)]
)
def test_scikit_learn_checks(estimator: JointID3Classifier, check: Any) -> None:
    check(estimator)
