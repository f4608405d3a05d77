"""Who is found in a publication by somebody who knows a few things about them, exactly or with errors.

The scoring of A. Narayanan, V. Shmatikov, "Robust de-anonymization of large sparse datasets" (S&P 2008): a published
row scores the sum over the columns of w(value) * agreement, and w is 1 / ln(the published rows that agree with the
value), so that what is rare counts most; fewer than two rows count as two. The best row is taken if it stands out: the
eccentricity, (best - second best) / standard deviation of all scores, is at least a threshold, 1.5 in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parties.alone.attacks.agreement import Agreement
from parties.base.arrays import Codes, Floats

ECCENTRICITY = 1.5
STEPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # thresholds that a report tells of; above the first, not at it
MOST = 2_000  # known rows that are tried

OnProgress = Callable[[int, int], object]  # how many known rows were tried, of how many


@dataclass(frozen=True, eq=False)
class Links:
    """The best published row of each known one, int64[known], and how far it stands out, float64[known]."""

    best: Codes
    eccentricity: Floats


def link(columns: Sequence[Agreement], on_progress: OnProgress = lambda done, total: None) -> Links:
    """Look for every known row among the published ones. There must be rows of both, and columns."""
    lines, first, place, often = np.unique(
        np.stack([column.published for column in columns]),
        axis=1,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    del place
    weights = [1 / np.log(np.maximum(column.frequencies, 2)) for column in columns]
    known = len(columns[0].known)
    best, eccentricity = np.zeros(known, dtype=np.int64), np.zeros(known)
    total = int(often.sum())
    for row in range(known):
        scores = np.zeros(lines.shape[1])
        for column, weight, labels in zip(columns, weights, lines, strict=True):
            value = column.known[row]
            scores += (weight[value] * column.similar[value])[labels]
        top = int(scores.argmax())
        highest = scores[top]
        scores[top] = -np.inf
        second = highest if often[top] > 1 or total == 1 else scores.max()
        scores[top] = highest
        mean = (scores * often).sum() / total
        deviation = np.sqrt(((scores - mean) ** 2 * often).sum() / total)
        best[row] = first[top]
        eccentricity[row] = (highest - second) / deviation if deviation > 0 else 0.0
        if row % 100 == 0:
            on_progress(row, known)
    return Links(best, eccentricity)


def report(links: Links, right: Codes | None, threshold: float) -> dict[str, Any]:
    """Return the figures of an attack, ready for JSON. `right` bool[known] says which links are of the same person."""
    document: dict[str, Any] = {
        "known": len(links.best),
        "threshold": threshold,
        **_above(links, right, links.eccentricity >= threshold),
        "thresholds": [],
    }
    for step in STEPS:
        taken = links.eccentricity >= step if step else links.eccentricity > 0
        document["thresholds"].append({"eccentricity": step, **_above(links, right, taken)})
    return document


def _above(links: Links, right: Codes | None, taken: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {"linked": int(taken.sum()), "share": float(taken.mean())}
    if right is not None:
        hits = int((taken & right.astype(bool)).sum())
        figures |= {"right": hits, "found": hits / len(right), "confidence": hits / max(1, figures["linked"])}
    return figures
