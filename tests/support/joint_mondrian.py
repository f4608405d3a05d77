"""Mondrian on the rows of both parties, by its definition: row by row and edge by edge, without protocol or arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

Row = tuple[int, ...]
Rows = Sequence[Row]
Ranges = tuple[tuple[int, int], ...]
Model = Callable[[Rows, Rows], bool]  # of the rows of a class, and of all of whom it is asked; by the last column


def any_rows(group: Rows, whole: Rows) -> bool:
    """No model beside k."""
    return True


def distinct(least: int) -> Model:
    """Distinct l-diversity."""
    return lambda group, whole: len({row[-1] for row in group}) >= least


def entropy(least: Fraction) -> Model:
    """Entropy l-diversity, e^H >= l for l = a / b, in integers: n^n b^n >= a^n prod n(c)^n(c)."""
    a, b = least.as_integer_ratio()

    def fits(group: Rows, whole: Rows) -> bool:
        n = len(group)
        counts = Counter(row[-1] for row in group).values()
        return (n * b) ** n >= a**n * math.prod(count**count for count in counts)

    return fits


def close(most: Fraction, ordered: int = 0) -> Model:
    """t-closeness: variational, or ordered for so many values."""

    def shares(rows: Rows, values: Sequence[int]) -> Fraction:
        return Fraction(sum(row[-1] in values for row in rows), len(rows))

    def fits(group: Rows, whole: Rows) -> bool:
        if ordered:
            starts = [range(i) for i in range(1, ordered)]
            return sum(abs(shares(group, s) - shares(whole, s)) for s in starts) <= most * (ordered - 1)
        values = [[value] for value in {row[-1] for row in whole}]
        return sum(abs(shares(group, v) - shares(whole, v)) for v in values) <= 2 * most

    return fits


def known(model: Model, missing: int) -> Model:
    """The model of the rows with another value than `missing`; a class needs such a row."""

    def fits(group: Rows, whole: Rows) -> bool:
        rest = [row for row in group if row[-1] != missing]
        return bool(rest) and model(rest, [row for row in whole if row[-1] != missing])

    return fits


def classes(
    domains: Sequence[int], rows: Sequence[Rows], k: int, against: str, model: Model = any_rows, score: str = "balance"
) -> set[Ranges]:
    """The boxes that stay; `rows` are each party's."""
    found: set[Ranges] = set()
    waiting: list[tuple[Ranges, list[list[Row]]]] = [(tuple((0, n) for n in domains), [list(own) for own in rows])]
    while waiting:
        box, inside = waiting.pop()
        cut = _cut(domains, box, inside, lambda members: keeps(members, rows, k, against, model), score)
        if cut is None:
            found.add(box)
            continue
        attribute, value = cut
        low, high = box[attribute]
        for part, upper in (((low, value), False), ((value, high), True)):
            members = [[row for row in own if (row[attribute] >= value) == upper] for own in inside]
            waiting.append(((*box[:attribute], part, *box[attribute + 1 :]), members))
    return found


def keeps(members: Sequence[Rows], rows: Sequence[Rows], k: int, against: str, model: Model = any_rows) -> bool:
    """Whether a class with these rows of each party may be published; `rows` are all that each has."""
    if against == "public":
        both = [row for own in members for row in own]
        return len(both) >= k and model(both, [row for own in rows for row in own])
    kept = [not own or (len(own) >= k and model(own, whole)) for own, whole in zip(members, rows, strict=True)]
    return any(map(len, members)) and all(kept)


def _cut(
    domains: Sequence[int], box: Ranges, inside: list[list[Row]], may: Callable[[Sequence[Rows]], bool], score: str
) -> tuple[int, int] | None:
    widths = [Fraction(high - low - 1, max(1, n - 1)) for n, (low, high) in zip(domains, box, strict=True)]
    for attribute in sorted(range(len(domains)), key=lambda i: (-widths[i], i)):
        low, high = box[attribute]
        fit, losses = [], []
        for value in range(low + 1, high):
            lower = [[row for row in own if row[attribute] < value] for own in inside]
            upper = [[row for row in own if row[attribute] >= value] for own in inside]
            if may(lower) and may(upper):
                fit.append((sum(map(len, lower)) - sum(map(len, upper)), value))
                losses.append(sum(map(len, lower)) * (value - low - 1) + sum(map(len, upper)) * (high - value - 1))
        if fit and score == "ncp":
            return attribute, fit[losses.index(min(losses))][1]
        below = [(-balance, -value) for balance, value in fit if balance < 0]  # the last of those nearest the middle
        above = [(balance, value) for balance, value in fit if balance >= 0]  # the first
        if below and (not above or min(below)[0] <= min(above)[0]):
            return attribute, -min(below)[1]
        if above:
            return attribute, min(above)[1]
    return None
