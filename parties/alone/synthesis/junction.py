"""Junction trees: how a distribution that is a product over small sets of columns falls into cliques.

The graph that joins columns of one set is made chordal by eliminating its columns one after the other, each time the
one whose clique has the fewest cells (Koller, Friedman, "Probabilistic graphical models", 2009, chapter 9). Its maximal
cliques with a maximum spanning tree by the columns that they share are a junction tree. Ties go to the first, so the
tree is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Set = tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns in ascending order, each behind its parent.

    `parents` has the place of each one's parent, -1 for the first; `separators` the columns that both have, or none.
    """

    cliques: tuple[Set, ...]
    parents: tuple[int, ...]
    separators: tuple[Set, ...]

    def home(self, columns: Sequence[int]) -> int | None:
        """Return the first clique that has all of these columns."""
        wanted = set(columns)
        return next((place for place, clique in enumerate(self.cliques) if wanted.issubset(clique)), None)


def cliques_of(domains: Sequence[int], sets: Sequence[Set]) -> list[Set]:
    """Return the maximal cliques of the chordal graph; columns that stand in no set by themselves."""
    near: list[set[int]] = [set() for _ in domains]
    for columns in sets:
        for column in columns:
            near[column].update(columns)
    for column, others in enumerate(near):
        others.discard(column)
    left, cliques = set(range(len(domains))), list[Set]()
    cells = [_cells(domains, column, near) for column in range(len(domains))]
    while left:
        column = min(left, key=lambda candidate: (cells[candidate], candidate))
        clique = near[column] | {column}
        if not any(clique.issubset(earlier) for earlier in cliques):
            cliques.append(tuple(sorted(clique)))
        left.discard(column)
        for other in near[column]:
            near[other] |= near[column]
            near[other] -= {other, column}
        for other in near[column]:
            cells[other] = _cells(domains, other, near)
    return cliques


def _cells(domains: Sequence[int], column: int, near: Sequence[set[int]]) -> int:
    return domains[column] * math.prod(domains[other] for other in near[column])


def size(domains: Sequence[int], sets: Sequence[Set]) -> int:
    """Return the cells of all cliques together."""
    return sum(math.prod(domains[column] for column in clique) for clique in cliques_of(domains, sets))


def junction_tree(domains: Sequence[int], sets: Sequence[Set]) -> JunctionTree:
    """Return the tree of the cliques."""
    cliques = cliques_of(domains, sets)
    inside, parents = [0], [-1]
    outside = list(range(1, len(cliques)))
    while outside:
        shared = {(i, j): len(set(cliques[i]).intersection(cliques[j])) for i in inside for j in outside}
        parent, child = max(shared, key=lambda pair: (shared[pair], -pair[0], -pair[1]))
        parents.append(inside.index(parent))
        inside.append(child)
        outside.remove(child)
    ordered = [cliques[place] for place in inside]
    separators = [
        () if parent < 0 else tuple(sorted(set(clique).intersection(ordered[parent])))
        for clique, parent in zip(ordered, parents, strict=True)
    ]
    return JunctionTree(tuple(ordered), tuple(parents), tuple(separators))
