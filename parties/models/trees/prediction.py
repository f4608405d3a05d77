"""Predictions of trees, and their accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from parties.base.text import did_you_mean, listed, quoted
from parties.models.trees.compiled import choice, compiled
from parties.models.trees.tree import NoBranchError, Node, domains
from parties.tables.delimited import MISSING, Columns
from parties.tables.texts import PIECE, TextColumn

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
        cells = TextColumn.of(rows.values[name])
        codes[name] = np.array([index.get(text, -1) for text in cells.texts], dtype=np.int32)[cells.codes]

    def refused(start: int, row: int, name: str) -> NoBranchError:
        row += start
        text, values = rows.values[name][row], values_of[name]
        problem = f"the tree has no branch for {quoted(text)}{did_you_mean(text, values)}"
        return NoBranchError(f"{rows.where(row, name)}: {problem}; known: {listed(values)}")

    arrays = compiled(choice(tree))
    labels: list[str] = []
    for start in range(0, number := len(rows.lines), PIECE):
        some = {name: column[start : start + PIECE] for name, column in codes.items()}
        ends = arrays.route(some, min(PIECE, number - start), partial(refused, start))
        labels += [arrays.ends[end].label for end in ends.tolist()]
    return labels


def vote(trees: Sequence[Node], rows: Columns) -> list[str]:
    """Return for every row the class with most votes; a tie goes to the class that the earliest tree votes for.

    Raise InputError as `predict` does.

    Args:
        trees: Roots of the trees.
        rows: Rows with at least the columns that the trees test.
    """
    winner: Callable[[Any], str] = lru_cache(PIECE)(lambda votes: Counter(votes).most_common(1)[0][0])
    ballots = zip(*(TextColumn.of(predict(tree, rows)) for tree in trees), strict=True)
    return list(map(winner, ballots))


def score(predicted: Sequence[str], actual: Sequence[str]) -> Score:
    """Return the comparison of predictions with the target column.

    Rows whose class is missing (`?`) are left out, unless the tree predicts `?` as a class.

    Args:
        predicted: Predicted class of each row.
        actual: Class of each row in the target column.
    """
    pairs = Counter(zip(actual, predicted, strict=True))
    is_class = any(p == MISSING for _, p in pairs)
    counts = Counter({pair: number for pair, number in pairs.items() if is_class or pair[0] != MISSING})
    classes = sorted({label for pair in counts for label in pair})
    confusion = {a: {p: counts[a, p] for p in classes} for a in classes}
    return Score(confusion, counts.total(), sum(counts[c, c] for c in classes))


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
    true, guessed = TextColumn.of(actual), TextColumn.of(predicted)
    is_labelled = np.array([a != MISSING or MISSING in guessed.texts for a in true.texts], dtype=bool)[true.codes]
    groups = []
    for label in sorted(guessed.texts):
        rows = np.flatnonzero(is_labelled & (guessed.codes == guessed.texts.index(label)))
        is_right, parts = np.array([a == label for a in true.texts], dtype=bool), np.zeros(len(rows), dtype=np.int64)
        if scores is not None:
            rows = rows[np.argsort(np.asarray(scores)[rows], kind="stable")]
            ordered = np.asarray(scores)[rows]
            parts = np.searchsorted(ordered, ordered) * PARTS // max(1, len(rows))
        for part in np.split(rows, np.flatnonzero(np.diff(parts)) + 1) if len(rows) else []:
            reach = None if scores is None else (scores[part[0]], scores[part[-1]])
            groups.append(Predicted(label, len(part), int(is_right[true.codes[part]].sum()), reach))
    return groups
