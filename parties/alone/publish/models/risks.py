"""Risks of attacks on published classes: the worst-hit people, then each attack.

Linkage: an attacker who finds the class of a person in the table names the right row with probability 1 / |class|
(prosecutor). One who links all rows expects to be right in classes / rows of them (marketer). Homogeneity: all rows of
a class have one sensitive value. Skewness: a value is more frequent in a class than in the table. Similarity: the
values of a class lie in one subtree of the sensitive hierarchy. Membership: the certainty that a person is in the
table. `parties.alone.attacks.recoded` adds guesses of the sensitive value from the published rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.closeness import variational
from parties.alone.publish.models.model import shares
from parties.alone.publish.models.strongest import LEAST_WORST, is_found
from protocols.arrays import Counts, Floats


def risks(classes: Classes) -> dict[str, Any]:
    """Return the risk figures, ready for JSON. Shares and probabilities are from 0 to 1. There must be rows."""
    present = Classes(classes.counts[classes.sizes > 0], classes.layout)
    sizes = present.sizes
    rows = int(sizes.sum())
    figures: dict[str, Any] = {
        "linkage": {
            "prosecutor_highest": 1 / int(sizes.min()),
            "prosecutor_average": len(sizes) / rows,
            "marketer": len(sizes) / rows,
            "unique_rows": int((sizes == 1).sum()),
        },
        "sensitive": {h.column: _sensitive(present, h.column) for h in present.layout.sensitive},
    }
    if classes.layout.public:
        presence = classes.sizes / np.maximum(classes.public, 1)
        figures["membership"] = {"least": float(presence.min()), "most": float(presence.max())}
    return figures


def _sensitive(classes: Classes, column: str) -> dict[str, Any]:
    rows = classes.histogram(column)
    sizes, whole = classes.sizes, rows.sum(axis=0)
    total = int(sizes.sum())
    p, q = shares(rows), shares(whole[None])
    lift = np.where(q > 0, p / np.where(q > 0, q, 1.0), 0.0)
    hierarchy = classes.layout.hierarchy(column)
    figures: dict[str, Any] = {
        "worst_hit": _worst_hit(rows, lift, q[0]),
        "homogeneity": {
            "classes": int((np.count_nonzero(rows, axis=1) == 1).sum()),
            "rows_share": float(sizes[np.count_nonzero(rows, axis=1) == 1].sum() / total),
        },
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
