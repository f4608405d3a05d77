"""What an attacker could do with published classes, attack by attack: figures for the report.

Linkage: who finds the class of somebody that is surely in the table names the right row with probability 1 / |class|
(the prosecutor), who links all rows expects to be right in classes / rows of them (the marketer). Homogeneity: all rows
of a class have one sensitive value. Inference: how often the most frequent value is right, of the table and of each
class. Skewness: a value is more frequent in a class than in the table. Similarity: the
values of a class lie in one subtree of the sensitive hierarchy. Membership: how sure it is that somebody is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.closeness import variational
from parties.alone.publish.models.model import shares


def risks(classes: Classes) -> dict[str, Any]:
    """Return the figures, ready for JSON; shares and probabilities from 0 to 1. There must be rows."""
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
    """Return the attacks on one sensitive column."""
    rows = classes.histogram(column)
    sizes, whole = classes.sizes, rows.sum(axis=0)
    total = int(sizes.sum())
    p, q = shares(rows), shares(whole[None])
    lift = np.where(q > 0, p / np.where(q > 0, q, 1.0), 0.0)
    hierarchy = classes.layout.hierarchy(column)
    figures: dict[str, Any] = {
        "homogeneity": {
            "classes": int((np.count_nonzero(rows, axis=1) == 1).sum()),
            "rows_share": float(sizes[np.count_nonzero(rows, axis=1) == 1].sum() / total),
        },
        "inference": {"without": float(whole.max() / total), "with": float(rows.max(axis=1).sum() / total)},
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
