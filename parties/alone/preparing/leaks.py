"""Columns that alone almost decide the target: what is known only after the outcome, as a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FEWEST = 10  # rows: of fewer nothing can be said
ALMOST = 0.95  # of the rows that a majority guess gets wrong: a column that decides so many is a leak


@dataclass(frozen=True)
class Leak:
    """How well the values of a column predict whether a row has one class.

    `decided` is the share of the errors of the more frequent answer that a prediction by the column avoids, net of its
    own errors. `right` is the share of all rows that the column predicts correctly.
    """

    label: str
    decided: float
    right: float

    @property
    def is_one(self) -> bool:
        """True if the column predicts the class almost perfectly, so it may contain the answer."""
        return self.decided >= ALMOST


def in_ranges(
    counts: Mapping[str, Mapping[str, int]], order: Callable[[str], float | None]
) -> dict[str, Mapping[str, int]]:
    """Return rows by range and class: neighbouring values stand together until they have enough rows.

    A value of one row decides the class of its row, so nearly distinct noise would look like a leak.

    Args:
        counts: Numbers of rows by value and class.
        order: Function from a value to its number; None for a value that has no number, which stays alone.
    """
    numbers = {text: number for text in counts if (number := order(text)) is not None}
    found: dict[str, Mapping[str, int]] = {text: of for text, of in counts.items() if text not in numbers}
    last, rows = "", Counter[str]()
    for text in sorted(numbers, key=numbers.__getitem__):
        rows = rows + Counter(counts[text])
        if rows.total() >= FEWEST:
            found[text], last, rows = rows, text, Counter()
    if rows:
        found[last or next(iter(numbers))] = rows + Counter(found.get(last, {}) if last else {})
    return found


def leak(counts: Mapping[str, Mapping[str, int]]) -> Leak:
    """Return how well a column predicts its best predicted class, from its numbers of rows by value and class."""
    values = [(of, sum(of.values())) for of in counts.values()]
    classes: Counter[str] = Counter()
    for of, _ in values:
        classes.update(of)
    total = classes.total()
    best = Leak("", 0.0, 0.0)
    for label, number in classes.items():
        most = max(number, total - number)
        if total - most < max(FEWEST, total / 100):  # of a rare class, or without others, nothing can be said
            continue
        right = sum(max(of.get(label, 0), rows - of.get(label, 0)) for of, rows in values)
        best = max(best, Leak(label, (right - most) / (total - most), right / total), key=lambda known: known.decided)
    return best
