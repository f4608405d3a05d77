"""Linking of known people to published rows, by a few known values, exact or with errors.

The scoring of A. Narayanan, V. Shmatikov, "Robust de-anonymization of large sparse datasets" (S&P 2008): a published
row scores the sum over the columns of w(value) * agreement. w is 1 / ln(number of published rows that agree with the
value), so that rare values weigh most; fewer than two rows count as two. The best row is taken if it stands out: its
eccentricity, (best - second best) / standard deviation of all scores, is at least a threshold, 1.5 in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parties.alone.attacks.agreement import Agreement
from parties.alone.publish.cells import grouped
from protocols.arrays import Codes, Floats
from smc import kernels

ECCENTRICITY = 1.5
STEPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # thresholds of a report; for the first, the eccentricity must be greater
MOST = 2_000  # most known rows tried
_SEED = 1  # equal files give equal reports
_BATCH = 8  # people whose sums are in memory at once

OnProgress = Callable[[int, int], object]  # numbers of known rows done and in total


class Guesses(NamedTuple):
    """An attacker's published row for each known person, int64[known], and its certainty, float64[known]."""

    rows: Codes
    sure: Floats


def tried(known: int) -> Codes:
    """Return the places of the known rows that an attack tries: all, or `MOST` of them at random."""
    return np.sort(np.random.default_rng(_SEED).choice(known, min(known, MOST), replace=False))


def lines_of(columns: Sequence[Codes]) -> tuple[NDArray[np.int32], Codes, Codes]:
    """Return distinct rows, int32[columns, lines], the order that groups rows, and 0 and the ends of groups."""
    order, starts = grouped(columns, [int(column.max(initial=0)) + 1 for column in columns])
    lines = np.stack([column[order[starts]].astype(np.int32) for column in columns])
    return lines, order, np.append(starts, len(order))


def sums(lines: NDArray[np.int32], tables: Sequence[Callable[[int], Floats]], people: Codes) -> Iterator[Floats]:
    """Yield for each person the sum over the columns of a number of each line, float64[lines], valid until the next.

    The numbers are added in the order of the columns.

    Args:
        lines: code of each line in each column, in lexical order, int32[columns, lines]
        tables: for each column, the function from a person's code to the numbers of all codes of lines
        people: codes of each person, int64[columns, people]
    """
    differs = np.logical_or.accumulate(lines[:, 1:] != lines[:, :-1], axis=0)  # from the line before, up to a column
    shared = max(1, int((4 * differs.sum(axis=1) < lines.shape[1]).sum()))  # columns whose sums few lines begin with
    begins = np.append(True, differs[shared - 1])
    beginnings = np.ascontiguousarray(lines[:shared, begins])
    rest = np.vstack([np.cumsum(begins, dtype=np.int32) - 1, lines[shared:]])
    room = [np.zeros((_BATCH, codes.shape[1])) for codes in (beginnings, rest)]
    for start in range(0, people.shape[1], _BATCH):
        some = people[:, start : start + _BATCH].tolist()
        known = [np.stack([*map(table, values)]) for table, values in zip(tables, some, strict=True)]
        first, whole = (total[: len(some[0])] for total in room)
        for codes, numbers, total in ((beginnings, known[:shared], first), (rest, [first, *known[shared:]], whole)):
            starts = np.cumsum([0, *(table.shape[1] for table in numbers)])[:-1]
            kernels.look_up_each(codes, np.concatenate(numbers, axis=1, dtype=np.float64), starts, total)
        yield from whole


def link(columns: Sequence[Agreement], on_progress: OnProgress = lambda done, total: None) -> Guesses:
    """Link every known row to a published row, with its eccentricity as certainty.

    There must be columns, known rows and published rows.

    Args:
        columns: agreement of each known column
        on_progress: called with the numbers of known rows done and in total
    """
    lines, order, ends = lines_of([column.published for column in columns])
    first, counts = order[ends[:-1]], np.diff(ends).astype(np.float64)
    weights = [1 / np.log(np.maximum(column.frequencies, 2)) for column in columns]
    weighted = [lambda value, w=w, c=c: w[value] * c.similar[value] for w, c in zip(weights, columns, strict=True)]
    known = np.stack([column.known for column in columns])
    known_count = known.shape[1]
    best, eccentricity = np.zeros(known_count, dtype=np.int64), np.zeros(known_count)
    total = int(counts.sum())
    for row, scores in enumerate(sums(lines, weighted, known)):
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
