"""Risks of attacks on published classes: the strongest attack, the worst-hit people, then each attack.

Linkage: an attacker who finds the class of a person in the table names the right row with probability 1 / |class|
(prosecutor). One who links all rows expects to be right in classes / rows of them (marketer). Homogeneity: all rows of
a class have one sensitive value. Inference: how often is the most frequent value right, that of the table and that of
each class? How often is naive Bayes right, learnt from the classes' labels? Naive Bayes does not use classes as such,
and also applies to people outside the table. Skewness: a value is more frequent in a class than in the table.
Similarity: the values of a class lie in one subtree of the sensitive hierarchy. Membership: the certainty that a person
is in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.closeness import variational
from parties.alone.publish.models.model import shares
from parties.alone.publish.models.strongest import LEAST_WORST, is_found
from protocols.arrays import Codes, Counts, Floats

_PART = 1 << 22  # scores of classes and values that are held at a time


def risks(classes: Classes, labels: Sequence[Codes]) -> dict[str, Any]:
    """Return the risk figures, ready for JSON. Shares and probabilities are from 0 to 1. There must be rows.

    Args:
        classes: the classes
        labels: for each quasi-identifier, the number of each class's label, int64[classes]; the array may omit
            classes without rows at the end
    """
    nonempty = np.flatnonzero(classes.sizes > 0)
    present = Classes(classes.counts[nonempty], classes.layout)
    present_labels = [column[nonempty] for column in labels]
    sizes = present.sizes
    rows = int(sizes.sum())
    figures: dict[str, Any] = {
        "linkage": {
            "prosecutor_highest": 1 / int(sizes.min()),
            "prosecutor_average": len(sizes) / rows,
            "marketer": len(sizes) / rows,
            "unique_rows": int((sizes == 1).sum()),
        },
        "sensitive": {h.column: _sensitive(present, h.column, present_labels) for h in present.layout.sensitive},
    }
    if classes.layout.public:
        presence = classes.sizes / np.maximum(classes.public, 1)
        figures["membership"] = {"least": float(presence.min()), "most": float(presence.max())}
    return figures


def _sensitive(classes: Classes, column: str, labels: Sequence[Codes]) -> dict[str, Any]:
    rows = classes.histogram(column)
    sizes, whole = classes.sizes, rows.sum(axis=0)
    total = int(sizes.sum())
    p, q = shares(rows), shares(whole[None])
    lift = np.where(q > 0, p / np.where(q > 0, q, 1.0), 0.0)
    hierarchy = classes.layout.hierarchy(column)
    by_class, by_bayes = float(rows.max(axis=1).sum() / total), float(_guessed_by_bayes(rows, labels) / total)
    without = float(whole.max() / total)
    attack, right = max(("classes", by_class), ("naive Bayes", by_bayes), key=lambda pair: pair[1])
    figures: dict[str, Any] = {
        "strongest": {"attack": attack, "right": right, "gain": right - without},
        "worst_hit": _worst_hit(rows, lift, q[0]),
        "homogeneity": {
            "classes": int((np.count_nonzero(rows, axis=1) == 1).sum()),
            "rows_share": float(sizes[np.count_nonzero(rows, axis=1) == 1].sum() / total),
        },
        "inference": {"without": without, "with": by_class, "naive_bayes": by_bayes},
        "skewness": {"highest_lift": float(lift.max()), "farthest": float(variational(p, q).max())},
    }
    similar = {}
    for level in range(1, hierarchy.height):
        grouped = np.zeros((len(rows), len(hierarchy.labels[level])))
        np.add.at(grouped.T, hierarchy.groups[level], rows.T)
        share = grouped.max(axis=1) / sizes
        similar[f"level {level}"] = {
            "highest_share": float(share.max()),
            "rows_in_one_subtree": float(sizes[share == 1].sum() / total),
        }
    if similar:
        figures["similarity"] = similar
    return figures


def _worst_hit(rows: Counts, lift: Floats, whole: Floats) -> dict[str, Any]:
    """Return how many rows are guessed rightly in the worst-hit classes, which have at least ten rows together.

    These classes have the greatest lift of their most frequent value. `rows` int64[classes, values], `lift` of the same
    shape, `whole` float64[values].
    """
    sizes, values = rows.sum(axis=1), rows.argmax(axis=1)
    order = np.argsort(-lift[np.arange(len(rows)), values], kind="stable")
    classes = order[: int(np.searchsorted(sizes[order].cumsum(), LEAST_WORST)) + 1]
    people, right = int(sizes[classes].sum()), int(rows[classes].max(axis=1).sum())
    luck = float((whole[values[classes]] * sizes[classes]).sum() / people)
    return {"right": right, "people": people, "found": is_found(right, people, luck, len(rows))}


def _guessed_by_bayes(rows: Counts, labels: Sequence[Codes]) -> int:
    """Return the number of rows that naive Bayes guesses rightly from the labels of their classes.

    Every label has one row more of each value (Laplace's rule), and so has the table. `rows` int64[classes, values].
    """
    whole = rows.sum(axis=0)
    columns = []
    for column in labels:
        table = np.zeros((int(column.max()) + 1, len(whole)))
        np.add.at(table, column, rows)
        columns.append((column, np.log((table + 1) / (whole + len(table)))))
    guessed, step = 0, max(1, _PART // len(whole))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        scores = np.log(whole + 1) + sum(logs[column[part]] for column, logs in columns)
        guessed += int(np.take_along_axis(rows[part], scores.argmax(axis=1)[:, None], axis=1).sum())
    return guessed
