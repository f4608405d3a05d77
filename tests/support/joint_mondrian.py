"""Mondrian on the rows of both parties, by its definition: row by row and edge by edge, without protocol or arrays."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = tuple[int, ...]
Ranges = tuple[tuple[int, int], ...]


def classes(domains: Sequence[int], rows: Sequence[Sequence[Row]], k: int, against: str) -> set[Ranges]:
    """The boxes that stay; `rows` are each party's."""
    found: set[Ranges] = set()
    waiting: list[tuple[Ranges, list[list[Row]]]] = [(tuple((0, n) for n in domains), [list(own) for own in rows])]
    while waiting:
        box, inside = waiting.pop()
        cut = _cut(domains, box, inside, k, against)
        if cut is None:
            found.add(box)
            continue
        attribute, value = cut
        low, high = box[attribute]
        for part, upper in (((low, value), False), ((value, high), True)):
            members = [[row for row in own if (row[attribute] >= value) == upper] for own in inside]
            waiting.append(((*box[:attribute], part, *box[attribute + 1 :]), members))
    return found


def keeps(sizes: Sequence[int], k: int, against: str) -> bool:
    """Whether a class with so many rows of each party may be published."""
    if against == "public":
        return sum(sizes) >= k
    return sum(sizes) > 0 and all(size == 0 or size >= k for size in sizes)


def _cut(domains: Sequence[int], box: Ranges, inside: list[list[Row]], k: int, against: str) -> tuple[int, int] | None:
    widths = [Fraction(high - low - 1, max(1, n - 1)) for n, (low, high) in zip(domains, box, strict=True)]
    for attribute in sorted(range(len(domains)), key=lambda i: (-widths[i], i)):
        low, high = box[attribute]
        fit = []
        for value in range(low + 1, high):
            lower = [sum(row[attribute] < value for row in own) for own in inside]
            upper = [len(own) - n for own, n in zip(inside, lower, strict=True)]
            if keeps(lower, k, against) and keeps(upper, k, against):
                fit.append((sum(lower) - sum(upper), value))
        below = [(-balance, -value) for balance, value in fit if balance < 0]  # the last of those nearest the middle
        above = [(balance, value) for balance, value in fit if balance >= 0]  # the first
        if below and (not above or min(below)[0] <= min(above)[0]):
            return attribute, -min(below)[1]
        if above:
            return attribute, min(above)[1]
    return None
