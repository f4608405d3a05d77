"""Accuracy of linear classifiers by each method, with the noise of the protocol's law instead of its circuits.

The product's own code sums gradients, finds minimisers and turns opened numbers into weights. Only the opened numbers
are simulated here. A sample of the discrete Gaussian is a rounded continuous one, since sigma is in the hundreds at
least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.private_trees.tables import Table, folds, load, read_columns
from parties.alone.perturbation import Way, noises, perturbed, sensitivity
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.regress.coordinates import Coordinates
from parties.jobs.regress.gradient import Gradient
from parties.jobs.regress.output import Output
from parties.jobs.regress.reading import rows_of as distinct_rows
from parties.jobs.regress.settings import RegressSettings
from parties.tables.schema import Schema
from protocols.arrays import Floats
from protocols.counts import RowCounts
from protocols.regression.losses import Logistic
from protocols.regression.minimiser import minimise
from protocols.regression.rows import RowStream, TrainingRows
from smc.errors import InputError

FOLDS, SEED = 5, 1
REPEATS = 3  # draws of the noise for each fold
LAMBDAS = (0.0003, 0.001, 0.003, 0.01)

Fit = Callable[[TrainingRows, TrainingRows, np.random.Generator], Floats]  # from both parties' rows to weights


def task(table: Table, epsilon: str, method: str, **more: Any) -> RegressJoint:
    """Return the job with bounds within five rows of the true numbers: half of four fifths of the rows each."""
    names = {f"c{i}": tuple(map(str, range(size))) for i, size in enumerate(table.domains)}
    half = len(table.labels) * (FOLDS - 1) // FOLDS // 2
    least = {"least_rows": half - FOLDS} if method == "output" else {}
    given = {"epsilon": float(epsilon), "max_rows": half + FOLDS, "method": method, **least, **more}
    return RegressJoint.canonical(
        RegressSettings.model_validate(given), Schema({**names, "class": ("0", "1")}, "class")
    )


def rows_of(made: RegressJoint, table: Table) -> TrainingRows:
    """Return a party's rows as the job reads them, all at once, since minimisers need all rows."""
    return distinct_rows(RowCounts(table.domains, table.classes, table.values, table.labels), made.method.space)


def gradient(made: RegressJoint) -> Fit:
    """Return a fit by noisy gradient descent."""
    method = made.method
    assert isinstance(method, Gradient)
    sigma = float(method.problem.variance) ** 0.5

    def fit(left: TrainingRows, right: TrainingRows, rng: np.random.Generator) -> Floats:
        sums = [method.own(replace(part, features=method.space)) for part in (left, right)]
        opened: list[tuple[int, ...]] = []
        for _ in range(method.steps):
            exact = sum(own.sums(opened) for own in sums)
            opened.append(tuple(np.rint(exact + rng.normal(size=method.numbers) * sigma).astype(np.int64).tolist()))
        return method.weights(tuple(opened))

    return fit


def output(made: RegressJoint) -> Fit:
    """Return a fit by the noisy mean of two minimisers."""
    method = made.method
    assert isinstance(method, Output)
    sigma = float(method.noise.scale)

    def fit(left: TrainingRows, right: TrainingRows, rng: np.random.Generator) -> Floats:
        exact = sum(np.rint(minimum(rows, method.regularisation) / method.unit) for rows in (left, right))
        opened = np.rint(exact + rng.normal(size=method.numbers) * sigma).astype(np.int64)
        return method.weights((tuple(opened.tolist()),))

    return fit


def choices(made: RegressJoint) -> Fit:
    """Return a fit by noisy choices of one weight after the other."""
    method = made.method
    assert isinstance(method, Coordinates)
    ratio = float(np.exp(-1 / float(method.law.scale)))

    def fit(left: TrainingRows, right: TrainingRows, rng: np.random.Generator) -> Floats:
        scores = [
            method.own(RowStream(part.features, lambda part=part: iter((part,)), part.total)) for part in (left, right)
        ]  # type: ignore[misc]
        opened: list[tuple[int, ...]] = []
        for _ in range(method.steps):
            exact = sum(score.sums([*opened]) for score in scores)
            opened.append((int((exact + rng.geometric(1 - ratio, len(exact))).argmax()),))
        return method.weights(tuple(opened))

    return fit


def alone(way: Way, epsilon: str, regularisation: float) -> Fit:
    """Return a fit by the first party alone."""

    def fit(left: TrainingRows, right: TrainingRows, rng: np.random.Generator) -> Floats:
        del right
        if way == "objective":
            return perturbed(left, Logistic(), regularisation, float(epsilon), way, rng).weights
        scale = sensitivity(left.total, regularisation) / float(epsilon)
        return minimum(left, regularisation) + noises(1, left.features.number, scale, rng)[0]

    return fit


def minimum(rows: TrainingRows, regularisation: float) -> Floats:
    """Return a party's minimiser; it is computed once for all epsilons."""
    key = id(rows), regularisation
    if key not in _KEPT:
        _KEPT[key] = minimise(rows, Logistic(), regularisation).weights
    return _KEPT[key]


_KEPT: dict[tuple[int, float], Floats] = {}  # minimisers by id of rows, which a `Split` keeps alive


class Split:
    """The folds of a table: both parties' rows and the test rows of each, as the job reads them."""

    def __init__(self, table: Table, **more: Any) -> None:
        fold, made = folds(table.labels, FOLDS, SEED), task(table, "1", "output", **more)
        self.parts = []
        for held in range(FOLDS):
            known = np.random.default_rng([SEED, held]).permutation(np.flatnonzero(fold != held))
            halves = known[: len(known) // 2], known[len(known) // 2 :]
            left, right = (rows_of(made, table.part(half)) for half in halves)
            self.parts.append((left, right, rows_of(made, table.part(np.flatnonzero(fold == held)))))

    def accuracy(self, fit: Fit, repeats: int = REPEATS) -> float | None:
        """Return the share of test rows that are classified correctly; None if lambda is too small."""
        right = total = 0
        for held, (left, other, asked) in enumerate(self.parts):
            for draw in range(repeats):
                try:
                    weights = fit(left, other, np.random.default_rng([SEED, held, draw]))
                except InputError:
                    return None
                right += int(asked.counts[asked.margins(weights) > 0].sum())
                total += asked.total
        return round(right / total, 4)


def other_tables(directory: Path) -> Iterator[tuple[str, Table, tuple[str, ...]]]:
    """Yield five more tables of two classes, and which columns are numbers: by public bounds, in 100 steps at most."""
    for name, wanted in (("car", "unacc"), ("house-votes-84", ""), ("tic-tac-toe", "")):
        table = load(directory, name)
        if wanted:  # one class against all others
            _, columns = read_columns(directory / f"{name}.csv")
            table = replace(table, labels=np.array([cell == wanted for cell in columns[-1]], np.int64), classes=2)
        yield name, table, ()
    _, columns = read_columns(directory / "wisconsin.csv")
    cells = np.array(columns[:-1], dtype=np.int64).T - 1
    positive = np.array([cell == "positive" for cell in columns[-1]], dtype=np.int64)
    yield "wisconsin", Table(cells, positive, (10,) * 9, 2, len(cells)), tuple(f"c{i}" for i in range(9))
    _, columns = read_columns(directory / "raw" / "abalone.csv")
    greatest = np.array([1, 1, 0.5, 3, 1.5, 1, 1.5])
    sizes = np.rint(np.clip(np.array(columns[1:8], dtype=float).T / greatest, 0, 1) * 99).astype(np.int64)
    cells = np.column_stack([np.unique(columns[0], return_inverse=True)[1], sizes])
    old = (np.array(columns[8], dtype=np.int64) >= 10).astype(np.int64)
    yield "abalone", Table(cells, old, (3, *(100,) * 7), 2, len(cells)), tuple(f"c{i}" for i in range(1, 8))


def chosen(table: Table, epsilons: Sequence[str]) -> dict[str, Any]:
    """Compare choices of single weights with gradient descent: every column as categories, or as numbers."""
    found: dict[str, Any] = {}
    numeric = tuple(f"c{i}" for i in range(len(table.domains)))
    for name, more in (("categories", {}), ("numbers", {"numeric": numeric})):
        split = Split(table, **more)
        found[name] = {
            epsilon: {
                "choice": split.accuracy(choices(task(table, epsilon, "choice", **more)), 1),
                "gradient": split.accuracy(gradient(task(table, epsilon, "gradient", **more)), 1),
            }
            for epsilon in epsilons
        }
    return found


def measure(table: Table, split: Split, epsilon: str) -> dict[str, Any]:
    """Return the accuracies of all methods at an epsilon, by default settings, and for each lambda if it matters."""
    made = task(table, epsilon, "gradient")
    found: dict[str, Any] = {
        "gradient": {
            "accuracy": split.accuracy(gradient(made)),
            "chosen": made.chosen,
        }
    }
    mean = task(table, epsilon, "output")
    found["output"] = {
        "accuracy": split.accuracy(output(mean)),
        "chosen": mean.chosen,
        "by lambda": {
            str(value): split.accuracy(output(task(table, epsilon, "output", **{"lambda": value}))) for value in LAMBDAS
        },
    }
    for way in ("objective", "output"):
        found[f"alone, {way}"] = {
            "by lambda": {str(value): split.accuracy(alone(way, epsilon, value), 1) for value in LAMBDAS}
        }
    return found
