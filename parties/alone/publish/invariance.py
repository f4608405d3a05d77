"""m-invariant classes of a repeatedly published, growing table: every person's value stays one of at least m.

X. Xiao, Y. Tao, "m-Invariance: towards privacy preserving re-publication of dynamic datasets" (SIGMOD 2007). Every
class has at least m rows, all with different sensitive values, its *signature*. In each publication, a person is in a
class with the signature of all earlier ones. An attacker may compare the publications, and know in which ones a person
is and their quasi-identifiers: the whole signature remains possible. If nobody in a class has a value of its signature
any more, a *counterfeit* row has it. The number of counterfeits in each class is published.

A *bucket* has the rows of one signature. First come earlier rows, by their earlier signatures. Then new rows fill
missing values (balancing; the paper takes none if a value would become too frequent among the others, which have no
counterfeits there). Then come all other new rows, by signatures of the m values with most of them (assignment). Values
that still have fewer rows than others get counterfeits. A bucket is cut into classes of one row of each value, along
one quasi-identifier after the other, by its median (split).

Why it holds: exchange two values of a signature for all rows of its classes, in all publications. Nothing published
changes, so each value of the signature is as possible as the person's own. It is not k-anonymity: the number of people
with given quasi-identifiers is visible, and a class with m - 1 counterfeits concerns one person. An attacker who knows
the program also knows that counterfeits tend to have rare values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from parties.base.arrays import Floats

Signature: TypeAlias = tuple[str, ...]  # values, sorted
Class: TypeAlias = dict[str, int | None]  # for each value of its signature the index of a row, None for a counterfeit
_Rows: TypeAlias = dict[str, list[int]]  # row indices by value


def classes_of(
    values: Sequence[str],
    earlier: Sequence[Signature | None],
    places: Floats,
    m: int,
    domain: Sequence[str],
    random: np.random.Generator,
) -> list[Class]:
    """Return m-invariant classes of all rows, in random order.

    Args:
        values: sensitive value of each row
        earlier: signature of each row, None for a new row
        places: position of each row in each quasi-identifier, from 0 to 1, float64[columns, rows]
        m: least number of values in a signature
        domain: values allowed for counterfeits
        random: source of randomness

    Raises:
        ValueError: a row's value is not in its signature, or a signature or the domain has fewer than m values
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
            raise ValueError("a row's value is not in its signature, or the signature has fewer than m values")
    every = sorted({*domain, *new})
    if len(every) < m:
        raise ValueError("the rows and the domain together have fewer than m values")
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
    """Move new rows to a bucket until its values have equally many rows, as far as there are new rows.

    Each moved row saves a counterfeit here, and costs at most one counterfeit elsewhere.
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


def _split(bucket: _Rows, number: int, places: Floats) -> list[Class]:
    """Cut a bucket into `number` classes, each time along the column in which its rows have the widest range.

    `places` has the position of each row in each column.

    Some value has a row for each class, so no class consists of counterfeits alone.
    """
    if number == 1:
        return [{value: rows[0] if rows else None for value, rows in bucket.items()}]
    together = [row for rows in bucket.values() for row in rows]
    column = places[int(np.ptp(places[:, together], axis=1).argmax())]
    half, low, high = number // 2, {}, {}
    for value, rows in bucket.items():
        ordered = sorted(rows, key=lambda row: float(column[row]))
        low[value], high[value] = ordered[: len(rows) // 2], ordered[len(rows) // 2 :]
    return _split(low, half, places) + _split(high, number - half, places)
