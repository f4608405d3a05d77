"""Accuracy of trees trained on published rows, measured on original rows.

The trees are scikit-learn's, of depth 4, in five stratified folds. The training rows are anonymised as a separate
table. A tree is trained on five copies of each published row. In each copy, a cell is replaced by one of the values
that it may stand for, drawn with equal chances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy
from parties.alone.publish.recoding.anonymising import anonymised
from parties.alone.publish.recoding.partition import Partition, Span
from parties.alone.publish.rules import number
from parties.alone.publish.settings import PublishPlan

Row = dict[str, Any]

FOLDS, SEED, DEPTH, COPIES = 5, 1, 4, 5


def accuracy(
    name: str,
    plan: PublishPlan | None,
    width: int,
    whole: Cells,
    cells: np.ndarray,
    labels: np.ndarray,
    fold: np.ndarray,
) -> Row:
    """Return the accuracy of trees learnt from rows as this plan publishes them.

    Args:
        name: Name of the way to publish, for the result.
        plan: The plan; None for rows as they came.
        width: Number of quasi-identifiers, the first columns.
        whole: Cells of the whole table.
        cells: Cell of each row in `whole`.
        labels: Class of each row.
        fold: Fold in which each row is held out.
    """
    right = []
    for part in range(FOLDS):
        train, test = fold != part, fold == part
        rows, kept = cells[train], np.arange(int(train.sum()))
        columns = [column[rows] for column in columns_of(whole)]
        if plan is not None:
            # The quasi-identifiers of the training rows form a table; each row is a cell.
            own = Cells(
                whole.hierarchies[:width],
                whole.sensitive_hierarchies,
                whole.quasi[:width, rows],
                whole.sensitive[:, rows],
                np.ones(len(rows), dtype=np.int64),
            )
            partition = anonymised(own, plan, plan.check()).partition
            kept = np.tile(partition.cells[partition.classes >= 0], COPIES)
            classes = np.tile(partition.classes[partition.classes >= 0], COPIES)
            columns = [*drawn(own, partition, classes), *(column[kept] for column in columns[width:])]
        tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=SEED)
        tree.fit(_features(whole, columns), labels[train][kept])
        right.append(tree.score(_features(whole, [column[cells[test]] for column in columns_of(whole)]), labels[test]))
    return {
        "published": name,
        "quasi_identifiers": width,
        "accuracy": round(float(np.mean(right)), 4),
        "folds": [round(float(one), 4) for one in right],
    }


def _numbers(values: Sequence[str]) -> np.ndarray | None:
    found = [number(value) for value in values]
    return None if None in found else np.array(found, dtype=np.float64)


def columns_of(cells: Cells) -> list[np.ndarray]:
    """Return the columns, one entry for each cell: numbers, or value indices."""
    pairs = [(_numbers(h.values), codes) for h, codes in zip(cells.hierarchies, cells.quasi, strict=True)]
    return [codes if numbers is None else numbers[codes] for numbers, codes in pairs]


def drawn(cells: Cells, partition: Partition, classes: np.ndarray) -> list[np.ndarray]:
    """Return such columns for rows in these classes: random values that a class may stand for.

    The values are the same at every call.
    """
    rng = np.random.default_rng(SEED)
    found = []
    for i, hierarchy in enumerate(cells.hierarchies):
        numbers = _numbers(hierarchy.values)
        values = np.arange(len(hierarchy.values)) if numbers is None else numbers
        inside = [_inside(hierarchy, box[i], numbers) for box in partition.boxes]
        sizes = np.array([len(own) for own in inside])
        starts = np.cumsum(sizes) - sizes
        places = starts[classes] + rng.integers(0, sizes[classes])
        found.append(values[np.concatenate(inside)[places]])
    return found


def _inside(hierarchy: Hierarchy, span: Span, numbers: np.ndarray | None) -> np.ndarray:
    """Return the indices of the values that a span may stand for."""
    if numbers is not None and span.numeric:
        return np.flatnonzero((numbers >= span.low) & (numbers <= span.high))
    return np.flatnonzero(hierarchy.groups[span.level] == hierarchy.labels[span.level].index(span.label))


def _features(cells: Cells, columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return the features: numbers as they are, and an indicator for each value of other columns."""
    found = []
    for hierarchy, column in zip(cells.hierarchies, columns, strict=True):
        found.append(
            column[:, None] if _numbers(hierarchy.values) is not None else np.eye(len(hierarchy.values))[column]
        )
    return np.hstack(found)
