"""What a tree says of rows, and how often it is right."""

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

PARTS = 5  # of the rows of a predicted class, by a linear model's score


@dataclass(frozen=True)
class Score:
    """Predictions against the truth: `confusion[actual][predicted]` rows, for all classes that occur."""

    confusion: dict[str, dict[str, int]]
    rows: int
    correct: int

    @property
    def accuracy(self) -> float | None:
        """The fraction of correct predictions; None if there was no row to compare."""
        return self.correct / self.rows if self.rows else None

    @property
    def majority(self) -> float | None:
        """The fraction of the most frequent class: what is right without a model; None if there was no row."""
        return max(sum(counts.values()) for counts in self.confusion.values()) / self.rows if self.rows else None


@dataclass(frozen=True)
class Predicted:
    """Rows of which one class is predicted, and how many of them have it; of a linear model, with scores so large."""

    label: str
    rows: int
    right: int
    scores: tuple[float, float] | None = None  # the least and the greatest

    def fields(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        share = {"predicted": self.label, "rows": self.rows, "right": self.right, "share": self.right / self.rows}
        return share if self.scores is None else {**share, "scores": list(self.scores)}


def predict(tree: Node, rows: Columns) -> list[str]:
    """Return the class of every row. Only columns on the tree are needed, only values on a row's path looked at.

    `InputError` if a column is missing, or names the line of a value that the tree has no branch for.
    """
    known = domains([tree])
    rows.require(list(known))
    codes = {}
    for name, values in known.items():
        index = {value: code for code, value in enumerate(values)}
        codes[name] = np.array([index.get(text, -1) for text in rows.values[name]], dtype=np.int64)

    def refused(row: int, name: str) -> NoBranchError:
        text, values = rows.values[name][row], known[name]
        problem = f"the tree has no branch for {quoted(text)}{did_you_mean(text, values)}"
        return NoBranchError(f"{rows.where(row, name)}: {problem}; known: {listed(values)}")

    arrays = compiled(choice(tree))
    return [arrays.ends[end].label for end in arrays.route(codes, len(rows.lines), refused).tolist()]


def vote(trees: Sequence[Node], rows: Columns) -> list[str]:
    """Return the class of every row that most trees say; among equals, the one that the first of the trees says.

    `InputError` as of `predict`.
    """
    ballots = zip(*(predict(tree, rows) for tree in trees), strict=True)
    return [Counter(votes).most_common(1)[0][0] for votes in ballots]  # of equals the first that was met


def score(predicted: Sequence[str], actual: Sequence[str]) -> Score:
    """Compare predictions with the target column.

    Rows whose class is missing (`?`) are left out, unless `?` is a class that the tree predicts.
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
    """Return how often each predicted class is right, by class; with scores, those of a class in up to `PARTS` parts.

    The parts are of rows in the order of their scores, as many in each, but equal scores stay together. Rows without
    a class are left out as `score` does.
    """
    is_class = MISSING in predicted
    known = [row for row, label in enumerate(actual) if is_class or label != MISSING]
    groups = []
    for label in sorted({predicted[row] for row in known}):
        rows = [row for row in known if predicted[row] == label]
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
