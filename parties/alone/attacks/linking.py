"""Linking of known people to published rows, by a few known values, exact or with errors.

The scoring of A. Narayanan, V. Shmatikov, "Robust de-anonymization of large sparse datasets" (S&P 2008): a published
row scores the sum over the columns of w(value) * agreement. w is 1 / ln(number of published rows that agree with the
value), so that rare values weigh most; fewer than two rows count as two. The best row is taken if it stands out: its
eccentricity, (best - second best) / standard deviation of all scores, is at least a threshold, 1.5 in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from parties.alone.attacks.agreement import Agreement
from protocols.arrays import Codes, Floats

ECCENTRICITY = 1.5
STEPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # thresholds of a report; for the first, the eccentricity must be greater
MOST = 2_000  # most known rows tried

OnProgress = Callable[[int, int], object]  # numbers of known rows done and in total


class Guesses(NamedTuple):
    """An attacker's published row for each known person, int64[known], and its certainty, float64[known]."""

    rows: Codes
    sure: Floats


def link(columns: Sequence[Agreement], on_progress: OnProgress = lambda done, total: None) -> Guesses:
    """Link every known row to a published row, with its eccentricity as certainty.

    There must be columns, known rows and published rows.

    Args:
        columns: agreement of each known column
        on_progress: called with the numbers of known rows done and in total
    """
    lines, first, place, counts = np.unique(
        np.stack([column.published for column in columns]),
        axis=1,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    del place
    weights = [1 / np.log(np.maximum(column.frequencies, 2)) for column in columns]
    known_count = len(columns[0].known)
    best, eccentricity = np.zeros(known_count, dtype=np.int64), np.zeros(known_count)
    total = int(counts.sum())
    for row in range(known_count):
        scores = np.zeros(lines.shape[1])
        for column, weight, labels in zip(columns, weights, lines, strict=True):
            value = column.known[row]
            scores += (weight[value] * column.similar[value])[labels]
        top = int(scores.argmax())
        highest = scores[top]
        scores[top] = -np.inf
        second = highest if counts[top] > 1 or total == 1 else scores.max()
        scores[top] = highest
        mean = (scores * counts).sum() / total
        deviation = np.sqrt(((scores - mean) ** 2 * counts).sum() / total)
        best[row] = first[top]
        eccentricity[row] = (highest - second) / deviation if deviation > 0 else 0.0
        if row % 100 == 0:
            on_progress(row, known_count)
    return Guesses(best, eccentricity)


def report(links: Guesses, right: Codes | None, threshold: float) -> dict[str, Any]:
    """Return the number of links at each threshold, and how many are right, as JSON.

    Args:
        links: the links
        right: whether both rows of each link belong to one person, bool[known]; None: unknown
        threshold: least eccentricity of a link
    """
    document: dict[str, Any] = {
        "known": len(links.rows),
        "threshold": threshold,
        **_above(links, right, links.sure >= threshold),
        "thresholds": [],
    }
    for step in STEPS:
        taken = links.sure >= step if step else links.sure > 0
        document["thresholds"].append({"eccentricity": step, **_above(links, right, taken)})
    return document


def _above(links: Guesses, right: Codes | None, taken: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {"linked": int(taken.sum()), "share": float(taken.mean())}
    if right is not None:
        hits = int((taken & right.astype(bool)).sum())
        figures |= {"right": hits, "found": hits / len(right), "confidence": hits / max(1, figures["linked"])}
    return figures
