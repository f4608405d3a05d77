"""What a tree says of rows, and how often it is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parties.base.text import did_you_mean, listed, quoted
from parties.models.trees.tree import Node, Split, places
from parties.tables.delimited import MISSING, Columns
from smc.errors import InputError


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


def predict(tree: Node, rows: Columns) -> list[str]:
    """Return the class of every row. Only columns on the tree are needed, only values on a row's path looked at.

    `InputError` if a column is missing, or names the line of a value that the tree has no branch for.
    """
    attributes = [place.node.attribute for place in places(tree) if isinstance(place.node, Split)]
    rows.require(list(dict.fromkeys(attributes)))
    labels = []
    for row in range(len(rows.lines)):
        node = tree
        while isinstance(node, Split):
            value = rows.values[node.attribute][row]
            if value not in node.values:
                hint = did_you_mean(value, node.values)
                where, known = rows.where(row, node.attribute), listed(node.values)
                raise InputError(f"{where}: the tree has no branch for {quoted(value)}{hint}; known: {known}")
            node = node.below(value)
        labels.append(node.label)
    return labels


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
