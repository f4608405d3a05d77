"""Models learnt in the clear from a table of categories, to measure the usefulness of a synthetic table.

Learning from a table released with noise costs no further privacy and needs no peer. Rows are codes int64[rows,
columns], classes int64[rows]. Columns and classes have `domains` and `classes` values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.alone.comparing import logistic
from protocols.arrays import Codes
from protocols.counts import RowCounts
from protocols.id3 import Leaf, Problem, Tree, id3
from protocols.tree import Split, child_of
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

Predict = Callable[[Codes], Codes]  # returns the class of each row
Learner = Callable[[Sequence[int], int, Codes, Codes], Predict]
DEPTH, MIN_ROWS = 5, 10  # of the tree
_LONG = 3600.0  # seconds; the second party of ID3 is a thread of this process


def majority(domains: Sequence[int], classes: int, rows: Codes, labels: Codes) -> Predict:
    """Return a model that predicts the most frequent class for every row.

    Args:
        domains: number of values of each column
        classes: number of classes
        rows: int64[rows, columns]
        labels: class of each row, int64[rows]
    """
    del domains, rows
    label = int(np.bincount(labels, minlength=classes).argmax())
    return lambda others: np.full(len(others), label)


def tree(domains: Sequence[int], classes: int, rows: Codes, labels: Codes) -> Predict:
    """Return the tree of `smc id3 --plain`, of depth 5 at most, grown by the same program on the clear engine.

    The other party has no rows.

    Args:
        domains: number of values of each column
        classes: number of classes
        rows: int64[rows, columns]
        labels: class of each row, int64[rows]
    """
    problem = Problem(tuple(domains), classes, max(1, len(labels)), min_rows=MIN_ROWS, max_depth=DEPTH)
    no_rows = np.zeros((0, len(domains)), dtype=np.int64), np.zeros(0, dtype=np.int64)

    def program(session: Session) -> Tree:
        party_rows = ((rows, labels), no_rows)[session.party]
        return id3(engine_of(session, Profile("clear")), problem, RowCounts(domains, classes, *party_rows))

    return classifier(run_local(program, _LONG)[0])


def classifier(grown: Tree) -> Predict:
    """Return the prediction function of a tree."""

    def predict(others: Codes) -> Codes:
        labels = np.zeros(len(others), dtype=np.int64)
        waiting: list[tuple[Tree, Codes]] = [(grown, np.arange(len(others)))]
        while waiting:
            node, indices = waiting.pop()
            if isinstance(node, Split):
                children = child_of(node.edge, others[indices, node.attribute])
                waiting += [(child, indices[children == value]) for value, child in enumerate(node.children)]
            elif isinstance(node, Leaf):
                labels[indices] = node.label
        return labels

    return predict


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Naive Bayes: logarithms of the likelihood of each class, and of each value, float64[values, classes]."""

    classes: NDArray[np.float64]
    columns: tuple[NDArray[np.float64], ...]

    def predict(self, rows: Codes) -> Codes:
        """Return the most likely class of each row, the first among equals."""
        scores = np.tile(self.classes, (len(rows), 1))
        for values, table in zip(rows.T, self.columns, strict=True):
            scores += table[values]
        return scores.argmax(axis=1)


def naive_bayes(domains: Sequence[int], classes: int, rows: Codes, labels: Codes) -> Predict:
    """Return naive Bayes with every count raised by 1, like `smc release naive-bayes`.

    Args:
        domains: number of values of each column
        classes: number of classes
        rows: int64[rows, columns]
        labels: class of each row, int64[rows]
    """
    each = np.bincount(labels, minlength=classes) + 1
    tables = []
    for values, size in zip(rows.T, domains, strict=True):
        counts = np.bincount(values * classes + labels, minlength=size * classes).reshape(size, classes) + 1
        tables.append(np.log(counts / counts.sum(axis=0)))
    return NaiveBayes(np.log(each / each.sum()), tuple(tables)).predict


def logistic_regression(domains: Sequence[int], classes: int, rows: Codes, labels: Codes) -> Predict:
    """Return logistic regression on one indicator for each value.

    Args:
        domains: number of values of each column
        classes: number of classes
        rows: int64[rows, columns]
        labels: class of each row, int64[rows]
    """
    return logistic.fit(domains, classes, rows, labels).predict


LEARNERS: dict[str, Learner] = {
    "tree (ID3)": tree,
    "naive Bayes": naive_bayes,
    "logistic regression": logistic_regression,
}
