"""Shadow models are the models of the jobs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from parties.alone.attacks.models import Shape
from parties.jobs.tree.private import PrivateTree
from parties.jobs.tree.settings import Id3Settings
from parties.tables.schema import Schema


@pytest.mark.parametrize(
    ("rows", "epsilon", "depth"), [(100, 1.0, None), (40_000, 0.3, None), (1000, 2.0, 2), (9, 1.0, 0)]
)
def test_a_tree_with_noise_is_that_of_the_job(rows: int, epsilon: float, depth: int | None) -> None:
    schema = Schema({"a": ("x", "y", "z"), "b": ("x", "y"), "c": ("n", "y")}, target="c")
    settings = Id3Settings(epsilon=epsilon, max_depth=depth, max_rows=rows)
    job = PrivateTree(settings, schema, "c")
    theirs = PrivateTree(job.completed(), schema, "c").problem
    ours = Shape((3, 2), 2, depth, epsilon=epsilon).noisy_problem(2 * rows)  # one party has all rows
    if depth is None:
        assert ours.max_depth == theirs.max_depth
    assert (ours.epsilon, ours.leaf_epsilon) == (theirs.epsilon, theirs.leaf_epsilon)
    assert ours.leaf_epsilon <= Fraction(str(epsilon))


def test_leaves_of_one_person_know_everybody() -> None:
    rng = np.random.default_rng(1)
    rows = np.unique(rng.integers(0, 4, (60, 4)), axis=0)
    labels = rng.integers(0, 2, len(rows))
    assert Shape((4,) * 4, 2).tree()(rows, labels)(rows, labels).all()
    assert not Shape((4,) * 4, 2, k=30).tree()(rows, labels)(rows, labels).all()


def test_weights_are_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (200, 2))
    labels = (rows[:, 0] + (rng.random(200) < 0.2) > 1).astype(np.int64)
    sure = Shape((3, 3), 2).weights()(rows, labels)(rows, labels)
    indicators = np.concatenate([np.eye(3)[column] for column in rows.T], axis=1)
    # Two weights of a category, one for each class, are half its weight in a model of their difference: C is 2 for 1.
    reference = LogisticRegression(C=2, fit_intercept=False, tol=1e-8).fit(indicators, labels)
    expected = reference.predict_proba(indicators)[np.arange(200), labels]
    assert sure == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("k", "right"), [(20, 60), (26, 35)])
def test_leaves_have_k_rows(k: int, right: int) -> None:
    rows = np.repeat([[0], [1]], [25, 35], axis=0)
    labels = rows[:, 0]
    assert Shape((2,), 2, k=k).tree()(rows, labels)(rows, labels).sum() == right
