"""Agreement of an attacker's known values with the published cells, the *labels*, of one column.

A label may be a value, a value with an error, a group of a hierarchy, a range of numbers or `*`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hierarchy import TOP, Hierarchy
from parties.alone.publish.recoding.checking import spans_of
from parties.alone.publish.rules import number
from parties.base.text import quoted
from parties.tables.delimited import MISSING
from parties.tables.texts import TextColumn
from protocols.arrays import Codes, Floats
from smc.errors import InputError

MOST_PAIRS = 50_000_000  # most pairs of a known value and a label
LIKELY = 0.5  # least similarity that counts as agreement
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LOW, _HIGH = rf"(?P<low>{_NUMBER})", rf"(?P<high>{_NUMBER})"
RANGES = (  # labels of ranges; with `half`, the high end is excluded
    rf"[\[(\]]{_LOW}[,;] *{_HIGH}(?:\]|(?P<half>[\[)]))",
    rf"{_LOW}(?P<half> to under ){_HIGH}",
    rf"{_LOW} ?(?:-|–|\.\.|to) ?{_HIGH}",
    rf"(?:(?P<half>below|under|<)|<=|≤|up to) ?{_HIGH}",
    rf"(?:>=|≥|>|over|above|from) ?{_LOW}",
    rf"{_LOW}(?: ?\+| and more| or more)",
)
UNKNOWN = 0.5  # distance to a hidden cell, which may have any value

Similarities = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Degree to which each known value of a column agrees with each published label, from 0 to 1.

    Attributes:
        similar: float32[values, labels]
        known: index of each known row's value, int64[known rows]
        published: index of each published row's label, int64[published rows]
        numbers: values as numbers, float64[values]; NaN if not numeric
        lows: least number of each label, float64[labels]; NaN if not numeric
        highs: greatest number of each label, float64[labels]
        scale: standard deviation of the published numbers
        unknown: hidden cells, bool[labels]
    """

    similar: Similarities
    known: Codes
    published: Codes
    numbers: Floats
    lows: Floats
    highs: Floats
    scale: float
    unknown: NDArray[np.bool_]

    def distance_to(self, value: int) -> Similarities:
        """Return a known value's distance to each label, float32[labels]: numbers in `scale`, others 1 - similarity."""
        far = 1 - self.similar[value]
        far[self.unknown] = np.minimum(far[self.unknown], UNKNOWN)
        gap = np.maximum(np.maximum(self.lows - self.numbers[value], self.numbers[value] - self.highs), 0) / self.scale
        distance: Similarities = np.where(np.isnan(gap), far, gap).astype(np.float32)
        return distance

    @property
    def frequencies(self) -> Floats:
        """Number of published rows whose label agrees with each known value, float64[values]."""
        rows = np.bincount(self.published, minlength=self.similar.shape[1])
        frequencies: Floats = (self.similar >= LIKELY).astype(np.float64) @ rows
        return frequencies


def agreement(
    column: str,
    known: Sequence[str],
    published: Sequence[str],
    hierarchy: Hierarchy | None = None,
    tolerance: float | None = None,
) -> Agreement:
    """Return the agreement of a column's cells.

    A missing known value agrees with no label. A range agrees with its numbers. With a tolerance, numbers agree by
    e^(-|difference| / tolerance), as in A. Narayanan, V. Shmatikov, "Robust de-anonymization of large sparse datasets"
    (S&P 2008).

    Args:
        column: name of the column, for errors
        known: cell of each known row
        published: cell of each published row
        hierarchy: hierarchy whose groups agree with their values
        tolerance: scale of errors in numbers; None: numbers agree if equal

    Raises:
        InputError: there are too many different values
    """
    values, known_places = TextColumn.of(known).unique()
    labels, published_places = TextColumn.of(published).unique()
    if len(values) * len(labels) > MOST_PAIRS:
        raise InputError(
            f"column {quoted(column)}: {len(values):,} values times {len(labels):,} of the other column are too "
            f"many; group the values, or leave the column out"
        )
    similar = np.zeros((len(values), len(labels)), dtype=np.float32)
    numbers = _numbers(values)
    similar[:] = values[:, None] == labels[None, :]
    lows, highs = _numbers(labels), _numbers(labels)
    for j, label in enumerate(labels):
        if (span := _range(str(label))) is not None:
            within = (numbers >= span.low) & ((numbers <= span.high) if span.closed else (numbers < span.high))
            similar[:, j] = np.maximum(similar[:, j], within)
            lows[j], highs[j] = span.low, span.high
    if hierarchy is not None:
        _add_groups(similar, hierarchy, values, labels)
    if tolerance is not None:
        far = np.abs(numbers[:, None] - np.where(lows == highs, lows, np.nan)) / tolerance
        similar = np.maximum(similar, np.exp(-np.where(np.isnan(far), np.inf, far)).astype(np.float32))
    similar[:, labels == TOP] = 1
    similar[values == MISSING] = 0
    middles = np.array([_middle(low, high) for low, high in zip(lows, highs, strict=True)], dtype=np.float64)
    spread = middles[published_places][~np.isnan(middles[published_places])]
    ranges = [None if np.isfinite(value) else _range(str(text)) for value, text in zip(numbers, values, strict=True)]
    named = np.array([np.nan if span is None else _middle(span.low, span.high) for span in ranges], dtype=np.float64)
    return Agreement(
        similar,
        known_places,
        published_places,
        np.where(np.isnan(numbers), named, numbers),
        lows,
        highs,
        float(spread.std()) if len(spread) and spread.std() > 0 else 1.0,
        labels == MISSING,
    )


def measured(known: Sequence[str], published: Sequence[str], ranges: bool = True) -> bool:
    """Return whether the attack compares a column as numbers, which can link rows without equal cells.

    Args:
        known: Cells of the attacker's column.
        published: Cells of the published column.
        ranges: Whether a published range, such as [20, 30[, is also read as numbers.
    """
    labels, values = TextColumn.of(published).texts, TextColumn.of(known).texts
    near = any(number(label) is not None or (ranges and _range(label) is not None) for label in labels)
    return near and any(number(value) is not None for value in values)


def _numbers(texts: NDArray[np.str_]) -> Floats:
    parsed = (number(str(text)) for text in texts)
    return np.array([np.nan if value is None else value for value in parsed], dtype=np.float64)


class _Range(NamedTuple):
    low: float
    high: float
    closed: bool


def _range(label: str) -> _Range | None:
    """Return the ends of a label such as `[20, 30[`, `20-29`, `20 to under 30`, `below 20` or `90+`; otherwise None."""
    for pattern in RANGES:
        if (match := re.fullmatch(pattern, label.strip())) is not None:
            ends = {"low": "-inf", "high": "inf", "half": None} | match.groupdict()
            low, high = float(ends["low"] or 0), float(ends["high"] or 0)
            return _Range(low, high, ends["half"] is None) if low <= high else None
    return None


def _middle(low: float, high: float) -> float:
    """Return the middle of a range; its finite end if the other is infinite."""
    if np.isinf(low) or np.isinf(high):
        return high if np.isinf(low) else low
    return (low + high) / 2


def _add_groups(
    similar: Similarities, hierarchy: Hierarchy, values: NDArray[np.str_], labels: NDArray[np.str_]
) -> None:
    """Set the similarity of each label that is a group of the hierarchy to the values in this group."""
    names = {name for level in hierarchy.labels for name in level}
    places = np.array([hierarchy.index.get(str(value), -1) for value in values])
    groups = [j for j, label in enumerate(labels) if label in names]
    for j, span in zip(groups, spans_of(hierarchy, [str(labels[j]) for j in groups]), strict=True):
        group = hierarchy.labels[span.level].index(span.label)
        similar[:, j] = (places >= 0) & (hierarchy.groups[span.level][places] == group)
