"""Rules for leaves by their definitions: of one group of rows, and of a whole tree over rows with owners.

All is exact (fractions; an entropy is compared by powers of integers) and shares nothing with the protocol.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from protocols.id3 import Leaf, Problem, Split, Tree
from protocols.rules import Rules

Row = tuple[int, ...]  # attribute values, then the class
Group = Sequence[int]  # rows by class


def is_diverse(group: Group, least: Fraction) -> bool:
    """e^H >= l for l = a / b: n^n b^n >= a^n prod n(c)^n(c)."""
    a, b = least.as_integer_ratio()
    rows = sum(group)
    return (rows * b) ** rows >= a**rows * math.prod(count**count for count in group)


def variational(group: Group, whole: Group) -> Fraction:
    return sum((abs(p - q) for p, q in zip(shares(group), shares(whole), strict=True)), Fraction(0)) / 2


def ordered(group: Group, whole: Group) -> Fraction:
    differences = [p - q for p, q in zip(shares(group), shares(whole), strict=True)]
    return sum((abs(total) for total in itertools.accumulate(differences)), Fraction(0)) / max(1, len(group) - 1)


def shares(group: Group) -> list[Fraction]:
    return [Fraction(count, sum(group)) for count in group]


def entropy(group: Group) -> float:
    return -sum(float(p) * math.log(p) for p in shares(group) if p)


def keeps(rules: Rules, group: Group, whole: Group, margin: float = 0) -> bool:
    """By definition; with a margin, only if the entropy is so much above ln l."""
    if not any(group):
        return True
    least = Fraction(str(rules.l))
    if rules.diversity == "entropy":
        diverse = is_diverse(group, least) and entropy(group) >= math.log(least) + margin
    else:
        diverse = sum(count > 0 for count in group) >= least
    distance = {"variational": variational, "ordered": ordered}[rules.distance]
    return sum(group) >= rules.k and diverse and distance(group, whole) <= Fraction(str(rules.t))


def classes_of(rows: Sequence[Row], problem: Problem) -> list[int]:
    counts = Counter(row[-1] for row in rows)
    return [counts[c] for c in range(problem.classes)]


class Reference:
    """What the definitions say of a tree over rows of which each has an owner."""

    def __init__(self, rows: Sequence[Row], side: Sequence[int], problem: Problem) -> None:
        self.problem, self.rules = problem, problem.rules
        self.all = list(zip(rows, side, strict=True))

    def keeps(self, part: Sequence[tuple[Row, int]], margin: float = 0) -> bool:
        sides = ((0,), (1,)) if self.rules.against == "peer" else ((0, 1),)
        return all(
            keeps(
                self.rules,
                classes_of([row for row, owner in part if owner in side], self.problem),
                classes_of([row for row, owner in self.all if owner in side], self.problem),
                margin,
            )
            for side in sides
        )

    def is_feasible(self, part: Sequence[tuple[Row, int]], attribute: int, margin: float = 0) -> bool:
        values = range(self.problem.domains[attribute])
        return all(self.keeps([one for one in part if one[0][attribute] == value], margin) for value in values)

    def check(self, tree: Tree) -> None:
        attributes = tuple(range(len(self.problem.domains)))
        if self.keeps(self.all):
            if self.keeps(self.all, self.margin) or tree != Leaf(0):
                self.walk(tree, self.all, attributes, 0, 0)
        else:
            assert tree == Leaf(0)

    @property
    def margin(self) -> float:
        return 2e-9 if self.rules.against == "peer" else self.problem.delta

    def walk(
        self, tree: Tree, part: list[tuple[Row, int]], attributes: tuple[int, ...], parent: int, depth: int
    ) -> None:
        """Fail at a step that ID3 would not accept among the splits that keep the rules."""
        assert self.keeps(part)
        counts = classes_of([row for row, _ in part], self.problem)
        label = counts.index(max(counts)) if part else parent
        stop = len(part) <= self.problem.min_rows or sum(count > 0 for count in counts) <= 1
        stop |= depth == self.problem.max_depth
        allowed = [] if stop else [a for a in attributes if self.is_feasible(part, a)]
        sure = [a for a in allowed if self.is_feasible(part, a, self.margin)]
        if isinstance(tree, Leaf):
            assert tree == Leaf(label)
            assert not sure
            return
        assert isinstance(tree, Split)
        assert tree.attribute in allowed
        scores = {a: self.score(part, a) for a in allowed}
        assert scores[tree.attribute] <= min((scores[a] for a in sure), default=math.inf) + self.problem.delta
        left = tuple(a for a in attributes if a != tree.attribute)
        for value, child in enumerate(tree.children):
            self.walk(child, [one for one in part if one[0][tree.attribute] == value], left, label, depth + 1)

    def score(self, part: Sequence[tuple[Row, int]], attribute: int) -> float:
        groups: dict[int, list[Row]] = {}
        for row, _ in part:
            groups.setdefault(row[attribute], []).append(row)
        return sum(len(rows) / len(part) * entropy(classes_of(rows, self.problem)) for rows in groups.values())


def rules_for(classes: int, rows: int) -> st.SearchStrategy[Rules]:
    """Any rules that a table of so many rows a party could keep."""

    def made(draw: st.DrawFn) -> Rules:
        against = draw(st.sampled_from(["peer", "public"]))
        most = rows if against == "peer" else 2 * rows
        fields: dict[str, Any] = {"k": draw(st.sampled_from([1, 1, 2, 3, 5]))}
        if draw(st.booleans()) and min(classes, most) > 1:
            if draw(st.booleans()) and min(classes, most / 3) > 1.2:
                fields |= {"diversity": "entropy", "l": draw(st.sampled_from([1.1, 1.5, 2, 2.5]))}
                if not fields["l"] < min(classes, most / 3):
                    fields["l"] = 1.1
            else:
                fields["l"] = draw(st.integers(2, min(classes, most)))
        if draw(st.booleans()):
            fields["t"] = draw(st.sampled_from([0.05, 0.25, 0.5, 0.9]))
            fields["distance"] = draw(st.sampled_from(["variational", "ordered"]))
        if Rules(**fields).any:
            fields["against"] = against
        return Rules(**fields)

    return st.composite(made)()
