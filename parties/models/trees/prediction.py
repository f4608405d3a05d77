"""Predictions of trees, and their accuracy."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parties.base.text import did_you_mean, listed, quoted
from parties.models.trees.compiled import choice, compiled
from parties.models.trees.tree import NoBranchError, Node, domains
from parties.tables.delimited import MISSING, Columns

PARTS = 5  # groups of a predicted class's rows, by a linear model's score


@dataclass(frozen=True)
class Score:
    """Predictions against the truth: `confusion[actual][predicted]` rows, for all classes that occur."""

    confusion: dict[str, dict[str, int]]
    rows: int
    correct: int

    @property
    def accuracy(self) -> float | None:
        """Fraction of correct predictions; None if there was no row to compare."""
        return self.correct / self.rows if self.rows else None

    @property
    def majority(self) -> float | None:
        """Fraction of the most frequent class, the accuracy without a model; None if there was no row."""
        return max(sum(counts.values()) for counts in self.confusion.values()) / self.rows if self.rows else None


@dataclass(frozen=True)
class Predicted:
    """Rows for which one class is predicted, and the number of correct ones; with a linear model, also their scores."""

    label: str
    rows: int
    right: int
    scores: tuple[float, float] | None = None  # the smallest and the largest

    def fields(self) -> dict[str, Any]:
        """Return the class, the number of rows, the correct ones and their share, and the scores, as plain JSON."""
        share = {"predicted": self.label, "rows": self.rows, "right": self.right, "share": self.right / self.rows}
        return share if self.scores is None else {**share, "scores": list(self.scores)}


def predict(tree: Node, rows: Columns) -> list[str]:
    """Return the class of every row. Raise InputError if a column is missing, or if the tree has no branch for a value.

    Args:
        tree: Root of the tree.
        rows: Rows with at least the columns that the tree tests.
    """
    values_of = domains([tree])
    rows.require(list(values_of))
    codes = {}
    for name, values in values_of.items():
        index = {value: code for code, value in enumerate(values)}
        codes[name] = np.array([index.get(text, -1) for text in rows.values[name]], dtype=np.int64)

    def refused(row: int, name: str) -> NoBranchError:
        text, values = rows.values[name][row], values_of[name]
        problem = f"the tree has no branch for {quoted(text)}{did_you_mean(text, values)}"
        return NoBranchError(f"{rows.where(row, name)}: {problem}; known: {listed(values)}")

    arrays = compiled(choice(tree))
    return [arrays.ends[end].label for end in arrays.route(codes, len(rows.lines), refused).tolist()]


def vote(trees: Sequence[Node], rows: Columns) -> list[str]:
    """Return for every row the class with most votes; a tie goes to the class that the earliest tree votes for.

    Raise InputError as `predict` does.

    Args:
        trees: Roots of the trees.
        rows: Rows with at least the columns that the trees test.
    """
    ballots = zip(*(predict(tree, rows) for tree in trees), strict=True)
    return [Counter(votes).most_common(1)[0][0] for votes in ballots]  # in a tie, the first that occurred


def score(predicted: Sequence[str], actual: Sequence[str]) -> Score:
    """Return the comparison of predictions with the target column.

    Rows whose class is missing (`?`) are left out, unless the tree predicts `?` as a class.

    Args:
        predicted: Predicted class of each row.
        actual: Class of each row in the target column.
    """
    is_class = MISSING in predicted
    pairs = [(a, p) for a, p in zip(actual, predicted, strict=True) if is_class or a != MISSING]
    counts = Counter(pairs)
    classes = sorted({label for pair in pairs for label in pair})
    confusion = {a: {p: counts[a, p] for p in classes} for a in classes}
    return Score(confusion, len(pairs), sum(counts[c, c] for c in classes))


def calibration(
    predicted: Sequence[str], actual: Sequence[str], scores: Sequence[float] | None = None
) -> list[Predicted]:
    """Return the accuracy of each predicted class, by class; with scores, for up to `PARTS` groups of a class.

    The groups are of rows in the order of their scores, equally many in each, but equal scores stay together. Rows
    whose class is missing (`?`) are left out, unless the tree predicts `?`.

    Args:
        predicted: Predicted class of each row.
        actual: Class of each row in the target column.
        scores: Score of each row.
    """
    is_class = MISSING in predicted
    labelled = [row for row, label in enumerate(actual) if is_class or label != MISSING]
    groups = []
    for label in sorted({predicted[row] for row in labelled}):
        rows = [row for row in labelled if predicted[row] == label]
        parts: dict[int, list[int]] = {0: rows}
        if scores is not None:
            order = sorted(scores[row] for row in rows)
            parts = {}
            for row in sorted(rows, key=scores.__getitem__):
                parts.setdefault(bisect_left(order, scores[row]) * PARTS // len(rows), []).append(row)
        for part in parts.values():
            right = sum(actual[row] == label for row in part)
            reach = None if scores is None else (scores[part[0]], scores[part[-1]])
            groups.append(Predicted(label, len(part), right, reach))
    return groups
