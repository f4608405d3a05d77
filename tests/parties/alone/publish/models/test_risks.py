"""What an attacker could do with published classes, beside scikit-learn's classifier and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from parties.alone.publish.hierarchy import Hierarchy
from parties.alone.publish.models import risks as module
from parties.alone.publish.models.classes import Classes, Layout
from parties.alone.publish.models.risks import risks
from parties.alone.publish.rules import Rule, hierarchy


def sensitive(values: int) -> Hierarchy:
    return hierarchy("disease", Rule(), [f"v{i}" for i in range(values)])


def classes_of(rows: np.ndarray) -> Classes:
    """Classes of rows int64[classes, values]."""
    counts = np.column_stack([rows.sum(axis=1), rows])
    return Classes(counts, Layout((sensitive(rows.shape[1]),), False, counts.sum(axis=0)))


def inference(rows: np.ndarray, labels: list[np.ndarray]) -> dict[str, float]:
    figures: dict[str, float] = risks(classes_of(rows), labels)["sensitive"]["disease"]["inference"]
    return figures


@pytest.mark.parametrize("part", [1 << 22, 5])
def test_the_guess_of_naive_bayes_is_scikit_learns(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that follow from two labels with noise: better than without, worse than by the classes themselves."""
    monkeypatch.setattr(module, "_PART", part)
    rng = np.random.default_rng(1)
    labels = [rng.integers(0, 3, 40), rng.integers(0, 4, 40)]
    rows = rng.integers(0, 3, (40, 5))
    rows[np.arange(40), (labels[0] + labels[1]) % 5] += 4
    rows[7] = 0
    figures = inference(rows, labels)
    place, value = np.divmod(np.repeat(np.arange(200), rows.ravel()), 5)
    published = np.column_stack(labels)[place]
    priors = (rows.sum(axis=0) + 1) / (rows.sum() + 5)
    guesses = CategoricalNB(class_prior=priors, min_categories=[3, 4]).fit(published, value).predict(published)
    assert figures["naive_bayes"] == pytest.approx((guesses == value).mean())
    assert figures["without"] + 0.1 < figures["naive_bayes"] < figures["with"] - 0.02


def test_one_class_teaches_nothing_and_single_persons_everything() -> None:
    """Planted: whose value is the label; protected: everybody in one class."""
    value = np.arange(4)
    assert inference(np.eye(4, dtype=np.int64) * 3, [value]) == {"without": 0.25, "with": 1, "naive_bayes": 1}
    assert inference(np.array([[3, 3, 2]]), [np.zeros(1, dtype=np.int64)]) == {
        "without": 0.375,
        "with": 0.375,
        "naive_bayes": 0.375,
    }
