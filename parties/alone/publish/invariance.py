"""Classes of a growing table that is published again and again, so that nobody's value is ever one of fewer than m.

X. Xiao, Y. Tao, "m-Invariance: towards privacy preserving re-publication of dynamic datasets" (SIGMOD 2007). Every
class has at least m rows, all of different sensitive values, its *signature*; and in each publication a person is in a
class of the same signature as in all others. So who lays the publications on each other, and knows in which a person is
and what they say there, is left with the whole signature. Where nobody has a value of it any more, a *counterfeit* row
has it; how many there are in a class is published.

A *bucket* has the rows of one signature: first those that were there before, by their earlier signatures; then new rows
where values are missing (balancing; the paper takes none if that left a value too frequent among the others, which have
no counterfeits there); then all other new rows, by signatures of the m values that most of them have (assignment).
Where values still have fewer rows than others, counterfeits are added. A bucket is cut into classes of one row of each
value, along one quasi-identifier after the other, by its median (split).

Why it holds: exchange two values of a signature for all rows of its classes, in all publications. Nothing published
changes, so each value of the signature is as possible as the person's own. It is no k-anonymity: how many people have
given quasi-identifiers can be seen, and a class with m - 1 counterfeits is about one person; who knows the program
knows besides that counterfeits rather have rare values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from parties.base.arrays import Floats

Signature: TypeAlias = tuple[str, ...]  # values, sorted
Class: TypeAlias = dict[str, int | None]  # for each value of its signature a row's place, None for a counterfeit
_Rows: TypeAlias = dict[str, list[int]]  # by value


def classes_of(
    values: Sequence[str],
    earlier: Sequence[Signature | None],
    places: Floats,
    m: int,
    domain: Sequence[str],
    random: np.random.Generator,
) -> list[Class]:
    """Return classes of all rows, in a random order, by their sensitive values and signatures, None for a new one's.

    `places` float64[columns, rows] are where rows lie in each quasi-identifier, from 0 to 1; `domain` has the values of
    counterfeits. ValueError if a row's value is not in its signature, if that has fewer than m, or the domain.
    """
    new: _Rows = defaultdict(list)
    buckets: dict[Signature, _Rows] = {}
    for row in random.permutation(len(values)).tolist():
        value, signature = values[row], earlier[row]
        if signature is None:
            new[value].append(row)
        elif value in signature and len(signature) >= m:
            buckets.setdefault(signature, {known: [] for known in signature})[value].append(row)
        else:
            raise ValueError("a row's value is not in its signature, or that has fewer than m values")
    every = sorted({*domain, *new})
    if len(every) < m:
        raise ValueError("there are fewer than m values")
    for bucket in buckets.values():
        _balance(bucket, new)
    while new:
        frequent = sorted(new, key=lambda value: (-len(new[value]), value))[:m]
        others = [value for value in every if value not in frequent]
        signature = tuple(sorted([*frequent, *random.choice(others, m - len(frequent), replace=False).tolist()]))
        bucket = buckets.setdefault(signature, {value: [] for value in signature})
        for value in frequent:
            bucket[value].append(_taken(new, value))
    divided = [group for bucket in buckets.values() for group in _split(bucket, _most(bucket), places)]
    return [divided[place] for place in random.permutation(len(divided))]


def _balance(bucket: _Rows, new: _Rows) -> None:
    """Give each value of a bucket as many rows as the most frequent has, as far as there are new ones.

    A new row that is taken may cost a counterfeit among the others, and never more than the one that it saves.
    """
    most = _most(bucket)
    for value, rows in bucket.items():
        while len(rows) < most and value in new:
            rows.append(_taken(new, value))


def _taken(new: _Rows, value: str) -> int:
    row = new[value].pop()
    if not new[value]:
        del new[value]
    return row


def _most(bucket: Mapping[str, Sequence[int]]) -> int:
    return max(map(len, bucket.values()))


def _split(bucket: _Rows, many: int, places: Floats) -> list[Class]:
    """Cut a bucket into so many classes, each time along the column in which its rows lie farthest apart.

    Some value has a row for each class, so none is of counterfeits alone.
    """
    if many == 1:
        return [{value: rows[0] if rows else None for value, rows in bucket.items()}]
    together = [row for rows in bucket.values() for row in rows]
    column = places[int(np.ptp(places[:, together], axis=1).argmax())]
    half, low, high = many // 2, {}, {}
    for value, rows in bucket.items():
        ordered = sorted(rows, key=lambda row: float(column[row]))
        low[value], high[value] = ordered[: len(rows) // 2], ordered[len(rows) // 2 :]
    return _split(low, half, places) + _split(high, many - half, places)
