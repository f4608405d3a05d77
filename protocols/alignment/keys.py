"""Composite keys, tried in order, as texts that are equal at both parties exactly if two rows match.

A *key* is one column or several, such as `tax_number` or `name+born`. Two rows match by the first key that both have.
So a second key counts only if one of the two rows lacks the first key. Therefore a *token* names the key, its values,
and the sets of earlier keys that either row has. A row makes one token for each set of the other row that is disjoint
from its own set. With k keys a row has at most 2^(k - 1) tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_KEYS = 3
Rows = NDArray[np.int64]


def tokens_per_row(keys: int) -> int:
    """Return the maximum number of tokens of a row, for a number of keys."""
    return 1 << (keys - 1)


@dataclass(frozen=True)
class Tokens:
    """A party's tokens, and the row and the key of each."""

    texts: list[bytes]
    rows: Rows
    keys: Rows

    def __len__(self) -> int:
        return len(self.texts)


def first_with_value(values: Sequence[tuple[str, ...] | None]) -> Rows:
    """Return for each row the first row with its value, int64[rows]: the row itself if it lacks the key.

    Args:
        values: The value of a key in each row; None if the row lacks the key.
    """
    first: dict[tuple[str, ...], int] = {}
    found = [row if value is None else first.setdefault(value, row) for row, value in enumerate(values)]
    return np.array(found, dtype=np.int64)


def doubles(values: Sequence[tuple[str, ...] | None]) -> NDArray[np.bool_]:
    """Return for each row whether an earlier row has its value, bool[rows].

    Args:
        values: The value of a key in each row; None if the row lacks the key.
    """
    if len({*values}) == len(values):  # usual, and found faster
        return np.zeros(len(values), dtype=bool)
    return first_with_value(values) < np.arange(len(values))


def joined(columns: Sequence[Sequence[str | None]]) -> list[tuple[str, ...] | None]:
    """Return the value of a composite key in each row; None if a part is missing.

    Args:
        columns: For each column of the key, the normal form of each row's cell; None if it is missing.
    """
    return [None if None in parts else parts for parts in zip(*columns, strict=True)]


def tokens(keys: Sequence[Sequence[tuple[str, ...] | None]], party: int) -> Tokens:
    """Return the tokens of a party's rows. Of several rows with one value of a key only the first has tokens of it.

    Args:
        keys: For each key, in the order in which they are tried, the value of each row; None for a row without it.
        party: Number of the party, 0 or 1.
    """
    texts: list[bytes] = []
    rows: list[int] = []
    numbers: list[int] = []
    has = [0] * len(keys[0])  # a bit for each earlier key that the row has
    for number, values in enumerate(keys):
        starts = [
            [bytes((number, *((own, other) if party == 0 else (other, own)))) for other in _disjoint(own, number)]
            for own in range(1 << number)
        ]
        twice = doubles(values).tolist()
        for row, value in enumerate(values):
            if value is None or twice[row]:
                continue
            parts = map(str.encode, value)
            text = b"".join([len(part).to_bytes(4, "little") + part for part in parts])
            own = starts[has[row]]
            texts += [start + text for start in own]
            rows += [row] * len(own)
            numbers += [number] * len(own)
        has = [sets | (value is not None) << number for sets, value in zip(has, values, strict=True)]
    return Tokens(texts, np.array(rows, dtype=np.int64), np.array(numbers, dtype=np.int64))


def _disjoint(own: int, keys: int) -> Iterator[int]:
    """Yield the sets of earlier keys that have no key of the set `own`."""
    return (other for other in range(1 << keys) if not other & own)


def first_of_each_row(rows: Rows, keys: Rows) -> NDArray[np.bool_]:
    """Return for each matched token whether it has the first matched key of its row, bool[matches].

    Args:
        rows: Row of each matched token.
        keys: Key of each matched token.
    """
    order = np.lexsort((keys, rows))
    is_first = np.ones(len(rows), dtype=bool)
    is_first[order[1:]] = rows[order[1:]] != rows[order[:-1]]
    return is_first
