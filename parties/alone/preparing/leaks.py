"""Detection of columns that alone almost decide the target, often because they are known only after the outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FEWEST = 10  # least number of rows for a judgement
ALMOST = 0.95  # a column that avoids this share of the errors of a majority guess is a leak


@dataclass(frozen=True)
class Leak:
    """Accuracy with which a column's values predict whether a row has the class `label`.

    `right` is the share of rows that are predicted correctly. `decided` is the reduction of errors, relative to always
    predicting the more frequent answer.
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
    """Return numbers of rows by range and class: neighbouring values are joined until they have ten rows.

    Without ranges, a column of distinct numbers would seem to decide each row's class.

    Args:
        counts: Numbers of rows by value and class.
        order: Function from a value to its number, or to None for a text that is not a number and stays alone.
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
    """Return the prediction of the class that the column predicts best, from the rows by value and class."""
    values = [(of, sum(of.values())) for of in counts.values()]
    classes: Counter[str] = Counter()
    for of, _ in values:
        classes.update(of)
    total = classes.total()
    best = Leak("", 0.0, 0.0)
    for label, number in classes.items():
        most = max(number, total - number)
        if total - most < max(FEWEST, total / 100):  # too few errors to judge
            continue
        right = sum(max(of.get(label, 0), rows - of.get(label, 0)) for of, rows in values)
        best = max(best, Leak(label, (right - most) / (total - most), right / total), key=lambda known: known.decided)
    return best
