"""Guesses of a sensitive value: naive Bayes beside scikit-learn's, classes beside counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from parties.alone.attacks.agreement import agreement
from parties.alone.attacks.inference import infer
from protocols.arrays import Codes


def texts(codes: Codes) -> list[str]:
    return [f"value {code}" for code in codes.tolist()]


def test_naive_bayes_of_values_is_scikit_learns() -> None:
    rng = np.random.default_rng(4)
    rows = np.concatenate([rng.permutation(np.arange(200) % 20)[:, None], rng.integers(0, 3, (200, 2))], axis=1)
    target = np.where(rng.random(200) < 0.1, 0, 1 + (rows.sum(axis=1) > 12))
    columns = [agreement("c", [*map(str, column)], [*map(str, column)]) for column in rows.T]
    prior = (np.bincount(target) + 1) / (len(target) + 3)
    reference = CategoricalNB(alpha=1, class_prior=prior).fit(rows, target)
    assert infer(columns, texts(target), texts(target))["classifier"] == pytest.approx(
        (reference.predict(rows) == target).mean()
    )


def test_classes_are_counted() -> None:
    ages, labels = ["20", "25", "40", "90"], ["[20, 30]", "[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]"]
    published = np.array([0, 0, 1, 1, 1])
    known = np.array([0, 1, 1, 1])
    figures = infer([agreement("age", ages, labels)], texts(published), texts(known))
    assert Counter(published.tolist()).most_common(1)[0][0] == 1
    assert figures["prior"] == 0.75  # 1 is the most frequent, and three of four have it
    assert figures["class"] == 0.75  # 0, 0, 1, and for 90, whom no class has, the most frequent
    assert figures["gain_of_class"] == 0


def test_classes_of_several_columns_are_the_rows_that_agree_in_all() -> None:
    rng = np.random.default_rng(6)
    rows = rng.integers(0, 3, (1000, 3))
    values = (rows @ [1, 3, 9] + (rng.random(1000) < 0.2)) % 5
    columns = [agreement("c", [*map(str, column)], [*map(str, column)]) for column in rows.T]
    guessed = [Counter(values[(rows == row).all(axis=1)].tolist()).most_common() for row in rows]
    assert all(len(counts) == 1 or counts[0][1] > counts[1][1] for counts in guessed)  # no ties to break
    right = np.mean([counts[0][0] == value for counts, value in zip(guessed, values, strict=True)])
    assert infer(columns, texts(values), texts(values))["class"] == pytest.approx(right)


def test_a_publication_that_tells_and_one_that_does_not() -> None:
    rng = np.random.default_rng(5)
    people = [str(number) for number in range(200)]
    disease = rng.integers(0, 4, 200)
    tells = infer([agreement("age", people, people)], texts(disease), texts(disease))
    assert tells["class"] == 1
    silent = infer([agreement("age", people, ["*"] * 200)], texts(disease), texts(disease))
    assert silent["class"] == silent["classifier"] == silent["prior"]
