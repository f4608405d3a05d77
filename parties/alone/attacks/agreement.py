"""How well what is known of somebody agrees with a published cell: of one column, every known value with every label.

A label may be a value, a value with an error, a group of a hierarchy, a range of numbers or `*`: what publications say.
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
from parties.base.arrays import Codes, Floats
from parties.base.text import quoted
from parties.tables.delimited import MISSING
from smc.errors import InputError

MOST_PAIRS = 50_000_000  # of a known value and a label
LIKELY = 0.5  # the least similarity that counts as agreement
RANGE = r"\[(.+), (.+)([\]\[)])"  # half open if it does not end with ]

Similarities = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of a column, from 0 to 1: `similar` float32[values, labels].

    `known` int64[known rows] are places of values, `published` int64[published rows] places of labels.
    """

    similar: Similarities
    known: Codes
    published: Codes

    @property
    def frequencies(self) -> Floats:
        """Of how many published rows the label agrees with each known value, float64[values]."""
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
    """Return the agreement of a column's cells. Of a missing value nothing is known, so it agrees with no label.

    With a hierarchy a group agrees with the values in it, a range with its numbers always. With a tolerance numbers
    agree by e^(-|difference| / tolerance), as in A. Narayanan, V. Shmatikov, "Robust de-anonymization of large sparse
    datasets" (S&P 2008). `InputError` for too many different values.
    """
    values, known_places = np.unique(np.array(known, dtype=object).astype(str), return_inverse=True)
    labels, published_places = np.unique(np.array(published, dtype=object).astype(str), return_inverse=True)
    if len(values) * len(labels) > MOST_PAIRS:
        raise InputError(
            f"column {quoted(column)}: {len(values):,} values against {len(labels):,} are too many: group them, or "
            "leave it out"
        )
    similar = np.zeros((len(values), len(labels)), dtype=np.float32)
    numbers = _numbers(values)
    similar[:] = values[:, None] == labels[None, :]
    for j, label in enumerate(labels):
        if (span := _range(str(label))) is not None:
            similar[:, j] = (numbers >= span.low) & ((numbers <= span.high) if span.closed else (numbers < span.high))
    if hierarchy is not None:
        _add_groups(similar, hierarchy, values, labels)
    if tolerance is not None:
        far = np.abs(numbers[:, None] - _numbers(labels)[None, :]) / tolerance
        similar = np.maximum(similar, np.exp(-np.where(np.isnan(far), np.inf, far)).astype(np.float32))
    similar[:, labels == TOP] = 1
    similar[values == MISSING] = 0
    return Agreement(similar, known_places.astype(np.int64), published_places.astype(np.int64))


def measured(known: Sequence[str], published: Sequence[str], tolerant: bool) -> bool:
    """Return whether numbers are held against ranges, or against numbers with a tolerance: they may all be far off."""
    labels = set(published)
    near = any(_range(label) is not None or (tolerant and number(label) is not None) for label in labels)
    return near and any(number(value) is not None for value in set(known))


def _numbers(texts: NDArray[np.str_]) -> Floats:
    """Return texts as numbers, NaN where they are none."""
    parsed = (number(str(text)) for text in texts)
    return np.array([np.nan if value is None else value for value in parsed], dtype=np.float64)


class _Range(NamedTuple):
    low: float
    high: float
    closed: bool


def _range(label: str) -> _Range | None:
    """Return the ends of `[low, high]` or `[low, high[`, None for another label."""
    match = re.fullmatch(RANGE, label)
    if match is None or (low := number(match[1])) is None or (high := number(match[2])) is None:
        return None
    return _Range(low, high, match[3] == "]")


def _add_groups(
    similar: Similarities, hierarchy: Hierarchy, values: NDArray[np.str_], labels: NDArray[np.str_]
) -> None:
    """Let labels that are groups of the hierarchy agree with the values in them."""
    names = {name for level in hierarchy.labels for name in level}
    places = np.array([hierarchy.index.get(str(value), -1) for value in values])
    groups = [j for j, label in enumerate(labels) if label in names]
    for j, span in zip(groups, spans_of(hierarchy, [str(labels[j]) for j in groups]), strict=True):
        group = hierarchy.labels[span.level].index(span.label)
        similar[:, j] = (places >= 0) & (hierarchy.groups[span.level][places] == group)
