"""Models learnt in the clear, beside scikit-learn's and the joint protocol's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OneHotEncoder

from parties.alone.comparing import logistic
from parties.alone.comparing.learners import LEARNERS, classifier, majority, naive_bayes, tree
from protocols.tree import Leaf, Split

DOMAINS = (3, 2, 4)


def rows(count: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = np.column_stack([rng.integers(0, size, count) for size in DOMAINS])
    return found, (found[:, 0] + found[:, 1] * (found[:, 2] > 1) + (rng.random(count) < 0.2)) % classes


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", [0.5, 5.0])
def test_logistic_regression_is_scikit_learns(classes: int, penalty: float) -> None:
    values, labels = rows(400, classes, 1)
    found = logistic.fit(DOMAINS, classes, values, labels, penalty)
    encoder = OneHotEncoder(categories=[range(size) for size in DOMAINS]).fit(values)
    # Two classes: theirs has one vector, ours two opposite ones, whose squares add up to half of its square.
    inverse = 2 / penalty if classes == 2 else 1 / penalty
    theirs = LogisticRegression(C=inverse, fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs.fit(encoder.transform(values), labels)
    weights = found.weights - found.weights.mean(axis=1, keepdims=True)
    expected = theirs.coef_.T @ [[-0.5, 0.5]] if classes == 2 else theirs.coef_.T
    np.testing.assert_allclose(weights, expected - expected.mean(axis=1, keepdims=True), atol=2e-3)
    assert (found.predict(values) == theirs.predict(encoder.transform(values))).mean() > 0.99


def test_naive_bayes_is_scikit_learns() -> None:
    values, labels = rows(300, 3, 2)
    theirs = CategoricalNB(alpha=1.0, class_prior=(np.bincount(labels) + 1) / (len(labels) + 3), min_categories=DOMAINS)
    assert (
        naive_bayes(DOMAINS, 3, values, labels)(values).tolist() == theirs.fit(values, labels).predict(values).tolist()
    )


def test_the_tree_learns_what_no_single_column_tells() -> None:
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.integers(0, size, 600) for size in DOMAINS])
    labels = (values[:, 0] == 1) ^ (values[:, 1] == 1)
    found = tree(DOMAINS, 2, values, labels.astype(np.int64))
    assert (found(values) == labels).all()
    # One column decides and was never seen with its last value: the class there is the majority's.
    assert tree((2,), 2, np.array([[0]] * 20), np.array([1] * 20))(np.array([[0], [1]])).tolist() == [1, 1]


@pytest.mark.parametrize("learner", [*LEARNERS.values(), majority])
def test_one_class_and_classes_without_rows(learner: object) -> None:
    assert callable(learner)
    values = np.array([[0, 0, 1], [2, 1, 3]] * 10)
    assert learner(DOMAINS, 3, values, np.full(20, 2))(values).tolist() == [2] * 20
    assert learner(DOMAINS, 1, values, np.zeros(20, np.int64))(values).tolist() == [0] * 20


def test_majority_takes_the_first_of_equals() -> None:
    assert majority(DOMAINS, 3, np.zeros((4, 3), np.int64), np.array([2, 1, 1, 2]))(np.zeros((2, 3))).tolist() == [1, 1]


def test_a_split_may_be_at_an_edge() -> None:
    grown = Split(1, (Leaf(2), Split(0, (Leaf(0), Leaf(1)))), edge=2)
    assert classifier(grown)(np.array([[1, 0], [1, 1], [0, 2], [1, 3]])).tolist() == [2, 2, 0, 1]
