"""The noisy model: what its tables say of the classes together, and which noise its number of columns asks for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from parties.jobs.inputs import Inputs
from parties.jobs.kinds.release.naive_bayes import NaiveBayes, is_mostly_noise
from parties.tables.schema import Schema


def task_of(columns: int, **given: Any) -> NaiveBayes:
    schema = Schema({**{f"c{i}": ("a", "b", "c")[: 2 + i % 2] for i in range(columns)}, "out": ("no", "yes")}, "out")
    made = {"epsilon": 1.0, "max_rows": 1000, **given}
    return NaiveBayes.canonical(NaiveBayes.Settings.model_validate(made), schema)


def test_classes_are_what_the_tables_say_by_their_noise() -> None:
    """Of tables of 2 and 3 lines: the sums of the first are worth 3 parts of 5, those of the second 2."""
    document = task_of(2).document([100, 200, 300, 420, 95, 205, 200, 300, 100, 100])
    assert document["classes"] == {"no": round((400 * 3 + 395 * 2) / 5), "yes": round((620 * 3 + 605 * 2) / 5)}
    tables = [np.array(list(table.values())) for table in document["columns"].values()]
    for table, size in zip(tables, (2, 3), strict=True):
        assert np.abs(table.sum(axis=0) - list(document["classes"].values())).max() <= size
    assert tables[0].tolist() == [[99, 197], [299, 417]]


def test_what_is_exact_stays_as_it_is() -> None:
    document = task_of(2, epsilon=None, exact=True).document([1, 2, 3, 4, 0, 1, 2, 3, 2, 2])
    assert document["classes"] == {"no": 4, "yes": 6}
    assert document["columns"] == {"c0": {"a": [1, 2], "b": [3, 4]}, "c1": {"a": [0, 1], "b": [2, 3], "c": [2, 2]}}


@pytest.mark.parametrize(
    ("columns", "epsilon", "delta"),
    [(2, 1.0, None), (24, 1.0, None), (25, 1.0, 1e-7), (60, 1.0, 1e-7), (60, 4.0, 1e-7)],
)
def test_many_columns_take_gaussian_noise(columns: int, epsilon: float, delta: float | None) -> None:
    """2 columns^2 / epsilon^2 is Laplace's variance, columns / (2 rho) the other; rho is 0.0202 at (1, 10^-7)."""
    task = task_of(columns, epsilon=epsilon)
    assert task.settings.delta == delta
    noise = task.query.parts[0].noise
    assert noise is not None
    assert noise.family == ("discrete Laplace" if delta is None else "discrete Gaussian")
    for kept in (0, 1e-5):
        assert task_of(columns, epsilon=epsilon, delta=float(kept)).settings.delta == kept
    pure = task_of(columns, epsilon=epsilon, delta=0.0)
    assert (pure.guarantee, pure.query.parts[0].noise.scale) == ((epsilon, 0), columns / epsilon)  # type: ignore[union-attr]
    again = NaiveBayes.canonical(task.settings, task.schema)
    assert again.settings == task.settings


@pytest.mark.parametrize("sizes", [(2,) * 7, (3, 5, 2, 4)])
def test_counts_of_noise_alone_are_said_to_be_and_those_of_a_column_that_tells_are_not(sizes: tuple[int, ...]) -> None:
    """Of 200 models each, whose counts are as large as the noise: 7 columns, or those of more values, of 10 classes."""
    rng, scale, classes = np.random.default_rng(7), 70.0, 10
    empty = [np.full((size, classes), 20.0) for size in sizes]
    telling = [table.copy() for table in empty]
    telling[0][0, :5] += 12 * scale
    shares = [
        np.mean(
            [is_mostly_noise([t + rng.laplace(0, scale, t.shape) for t in tables], 2 * scale**2) for _ in range(200)]
        )
        for tables in (empty, telling)
    ]
    assert shares[0] > 0.75
    assert shares[1] < 0.05


@pytest.mark.parametrize(("columns", "values", "epsilon", "is_doubtful"), [
    (13, 8, 0.1, True), (13, 8, 2.0, False), (1, 8, 1.0, False), (3, 2, 0.1, False), (13, 8, None, False),
])  # fmt: skip
def test_a_count_of_more_noise_than_rows_is_warned_of_before_the_budget_is_spent(
    columns: int, values: int, epsilon: float | None, is_doubtful: bool
) -> None:
    """Beside the peer's answer, by public numbers: 160 rows at most in three classes, 26 or 7 in a count."""
    schema = Schema({**{f"c{i}": tuple(map(str, range(values))) for i in range(columns)}, "y": ("a", "b", "c")}, "y")
    privacy = {"exact": True} if epsilon is None else {"epsilon": epsilon}
    task = NaiveBayes.canonical(NaiveBayes.Settings.model_validate({"max_rows": 80, **privacy}), schema)
    lines = task.remarks(Inputs())
    assert bool(lines) == is_doubtful
    if is_doubtful:
        noise = math.sqrt(task.query.mechanisms[0].variance)
        fact = f"a count has noise of {noise:.3g} (standard deviation) and about 6.67 rows: "
        assert lines == [f"{fact}name fewer columns (--columns), or ask a tree (smc id3 --epsilon)"]
