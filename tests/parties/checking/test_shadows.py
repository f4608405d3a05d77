"""Shadow models are the jobs' own; planted rows are told by exact ones, and noise and k protect them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB

from parties.alone.attacks.membership import Learn, Shadows, allowed, attack, shadows
from parties.checking import shadows as checking
from parties.checking.shadows import Learning, density
from protocols.arrays import Codes
from smc.local import run_local

ODD = 0  # whose row is like nobody's
ROWS = 40


@pytest.fixture(autouse=True)
def the_same_noise_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count()

    def seeded(program: Any, timeout: float) -> Any:
        return run_local(program, timeout, seed=f"shadow {next(numbers)}".encode())

    monkeypatch.setattr(checking, "run_local", seeded)


def planted() -> tuple[Codes, Codes]:
    """Rows and their classes by a rule; the first has values that no other has, and the rarer class."""
    rows = np.random.default_rng(1).integers(0, 5, (ROWS, 3))
    rows[ODD] = 5
    labels = (rows[:, 0] < 2).astype(np.int64)
    labels[ODD] = 1
    return rows, labels


def learning(epsilon: float | None = None) -> Learning:
    return Learning((6, 6, 6), 2, ROWS, epsilon)


def attacked(learn: Learn, models: int) -> float:
    """Return p + q of the planted row."""
    observed = shadows(learn, *planted(), models, np.random.default_rng(2))
    success: float = attack(Shadows(observed.inside[:, [ODD]], observed.sure[:, [ODD]]), None)["all"]["sum"]
    return success


EXACT = {
    "forest": learning().tree(1, None, trees=9),
    "naive-bayes": learning().bayes(),
    "weights": learning().weights(),
    "synthetic": learning().synthetic("mst"),
}
PROTECTED = {  # and how many models
    "forest, k": (learning().tree(12, None, trees=3), 16),
    "forest, epsilon": (learning(1.0).tree(1, None, trees=3), 80),
    "naive-bayes, epsilon": (learning(1.0).bayes(), 120),
    "synthetic, epsilon": (learning(1.0).synthetic("mst"), 20),
}


@pytest.mark.parametrize("learn", EXACT.values(), ids=EXACT)
def test_exact_models_tell_of_a_row_that_is_like_no_other(learn: Learn) -> None:
    assert attacked(learn, 10) >= 1.8


@pytest.mark.parametrize(("learn", "models"), PROTECTED.values(), ids=PROTECTED)
def test_k_and_epsilon_protect_it(learn: Learn, models: int) -> None:
    """Of a mechanism at the very bound half of all seeds would fail; these have 1.0 to 1.3 of hundreds of models."""
    assert attacked(learn, models) <= allowed(1.0)


def exceptions(rows: int = 150) -> tuple[Codes, Codes, Codes]:
    """Rows, their classes by a rule, and who is an exception to it."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (rows, 6))
    odd = rng.random(rows) < 0.03
    return values, (values[:, 0] // 2 + odd) % 2, np.flatnonzero(odd)


def test_planted_outliers_are_told_by_leaves_of_one_person() -> None:
    values, labels, odd = exceptions()
    learn = Learning((4,) * 6, 2, 150).tree(1, None)
    document = attack(shadows(learn, values, labels, 16, np.random.default_rng(2)), None)
    assert document["exposed"]["members_found"] >= 0.9
    assert document["exposed"]["others_found"] >= 0.9
    assert {row["row"] - 1 for row in document["most_exposed"][: document["exposed"]["rows"]]} <= set(odd.tolist())


@pytest.mark.parametrize(("epsilon", "k", "most"), [(1.0, 1, 1.30), (None, 20, 1.4)])
def test_noise_and_large_leaves_protect_them(epsilon: float | None, k: int, most: float) -> None:
    values, labels, _ = exceptions()
    learn = Learning((4,) * 6, 2, 150, epsilon).tree(k, None)
    document = attack(shadows(learn, values, labels, 32, np.random.default_rng(2)), epsilon)
    assert document["all"]["sum"] < 1.1
    assert document["exposed"]["sum"] < most
    if epsilon is not None:
        assert document["allowed"] == pytest.approx(allowed(1.0))


def test_weights_are_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (200, 2))
    labels = (rows[:, 0] + (rng.random(200) < 0.2) > 1).astype(np.int64)
    sure = Learning((3, 3), 2, 200).weights()(rows, labels)(rows, labels)
    indicators = np.concatenate([np.eye(3)[column] for column in rows.T], axis=1)
    # Two weights of a category, one for each class, are half its weight in a model of their difference: C is 2 for 1.
    reference = LogisticRegression(C=2, fit_intercept=False, tol=1e-8).fit(indicators, labels)
    expected = reference.predict_proba(indicators)[np.arange(200), labels]
    assert sure == pytest.approx(expected, abs=0.01)


def test_naive_bayes_is_scikit_learns() -> None:
    rows, labels = planted()
    sure = learning().bayes()(rows, labels)(rows, 1 - labels)
    each = (np.bincount(labels) + 1) / (ROWS + 2)
    reference = CategoricalNB(class_prior=each, min_categories=6).fit(rows, labels)
    assert sure == pytest.approx(reference.predict_proba(rows)[np.arange(ROWS), 1 - labels])


def test_leaves_of_one_person_know_everybody() -> None:
    rng = np.random.default_rng(1)
    rows = np.unique(rng.integers(0, 4, (60, 4)), axis=0)
    labels = rng.integers(0, 2, len(rows))
    learning = Learning((4,) * 4, 2, len(rows))
    assert learning.tree(1, None)(rows, labels)(rows, labels).all()
    assert not learning.tree(30, None)(rows, labels)(rows, labels).all()


@pytest.mark.parametrize(("k", "right"), [(20, 60), (26, 35)])
def test_leaves_have_k_rows(k: int, right: int) -> None:
    rows = np.repeat([[0], [1]], [25, 35], axis=0)
    labels = rows[:, 0]
    assert Learning((2,), 2, 60).tree(k, None)(rows, labels)(rows, labels).sum() == right


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_a_forest_is_sure_by_its_votes(epsilon: float | None) -> None:
    """Of shares of five trees, and not all the same: where two values of a column follow each other, by its edges."""
    rows, labels = planted()
    sure = learning(epsilon).tree(2, None, trees=5)(rows, labels)
    of_both = [sure(rows, np.full(ROWS, label)) for label in (0, 1)]
    assert of_both[0] + of_both[1] == pytest.approx(np.ones(ROWS))
    assert set(np.rint(5 * of_both[0])) <= set(range(6))
    assert epsilon is not None or np.where(labels == 1, of_both[1], of_both[0]).mean() > 0.7


def test_rows_with_no_one_to_learn_from_are_nobodys() -> None:
    nobody = np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64)
    rows, labels = planted()
    for learn in (*EXACT.values(), learning().tree(1, None), learning(1.0).tree(1, None), learning(1.0).bayes()):
        sure = learn(*nobody)(rows, labels)
        assert np.isfinite(sure).all()


def test_density_counts_pairs_of_values() -> None:
    made = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 1]])
    rows = np.array([[0, 0, 1], [1, 0, 0]])
    pairs = [(2 / 3, 1 / 2, 1 / 2), (0, 0, 1 / 2)]
    assert density((2, 2, 2), made, rows) == pytest.approx([sum(of) / 3 for of in pairs])
