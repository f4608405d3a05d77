"""Junction trees: how a distribution that is a product over small sets of columns falls into cliques.

The graph that joins columns of one set is made chordal by eliminating its columns one after the other, each time the
one whose clique has the fewest cells (Koller, Friedman, "Probabilistic graphical models", 2009, chapter 9). Its maximal
cliques with a maximum spanning tree by the columns that they share are a junction tree. Ties go to the first, so the
tree is the same on every machine.

One more set is joined to a tree where its columns are: only the cliques between them are made anew, for a chordal graph
stays one as long as each clique of it that is not made anew keeps its edges. That is quick enough to be asked of
thousands of sets (`GrowingTree.sizes`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from parties.alone.synthesis.sums import Set


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns in ascending order, each behind its parent.

    `parents` has the place of each one's parent, -1 for the first; `separators` the columns that both have, or none.
    """

    cliques: tuple[Set, ...]
    parents: tuple[int, ...]
    separators: tuple[Set, ...]

    @cached_property
    def tops(self) -> dict[int, int]:
        """The first clique that has each column; the others that have it hang on that."""
        return {column: place for place in reversed(range(len(self.cliques))) for column in self.cliques[place]}

    @cached_property
    def roots(self) -> list[int]:
        """The first clique of the connected part that each one is in."""
        roots: list[int] = []
        for place, (parent, separator) in enumerate(zip(self.parents, self.separators, strict=True)):
            roots.append(roots[parent] if separator else place)
        return roots

    def home(self, columns: Sequence[int]) -> int | None:
        """Return the first clique that has all of these columns: if there is one, the last of their tops."""
        place = max(self.tops[column] for column in columns)
        return place if set(columns).issubset(self.cliques[place]) else None

    def between(self, columns: Sequence[int]) -> set[int]:
        """Return the tops of some columns and what lies between them, in each connected part for itself."""
        waiting, region = {self.tops[column] for column in columns}, set[int]()
        while waiting:
            place = max(waiting)
            waiting.remove(place)
            region.add(place)
            if any(self.roots[other] == self.roots[place] for other in waiting):
                waiting.add(self.parents[place])
        return region


def cliques_of(domains: Sequence[int], sets: Iterable[Set]) -> list[Set]:
    """Return the maximal cliques of the chordal graph, of the columns that stand in some set."""
    near: dict[int, set[int]] = {}
    for columns in sets:
        for column in columns:
            near.setdefault(column, set()).update(columns)
    cells = {column: _cells(domains, near[column]) for column in sorted(near)}
    cliques: list[set[int]] = []
    while cells:
        column = min(cells, key=cells.__getitem__)
        clique = near[column]  # with the column itself
        if not any(clique <= earlier for earlier in cliques):
            cliques.append(clique)
        del cells[column]
        others = clique - {column}
        for other in others:
            near[other] = (near[other] | clique) - {column}
        for other in others:
            cells[other] = _cells(domains, near[other])
    return [tuple(sorted(clique)) for clique in cliques]


def size(domains: Sequence[int], cliques: Iterable[Set]) -> int:
    """Return the cells of all cliques together."""
    return sum(_cells(domains, clique) for clique in cliques)


def tree_of(cliques: Sequence[Set]) -> JunctionTree:
    """Return the tree of the cliques of a chordal graph."""
    best = {place: (len(set(clique).intersection(cliques[0])), 0) for place, clique in enumerate(cliques) if place}
    inside, parents = [0], [-1]  # `best`: how many columns each one outside shares with which one inside at most
    while best:
        child = max(best, key=lambda place: (best[place][0], -best[place][1], -place))
        parents.append(inside.index(best.pop(child)[1]))
        inside.append(child)
        for place, (many, parent) in best.items():
            shared = len(set(cliques[child]).intersection(cliques[place]))
            best[place] = max((many, parent), (shared, child), key=lambda pair: (pair[0], -pair[1]))
    ordered = [cliques[place] for place in inside]
    separators = [
        () if parent < 0 else tuple(sorted(set(clique).intersection(ordered[parent])))
        for clique, parent in zip(ordered, parents, strict=True)
    ]
    return JunctionTree(tuple(ordered), tuple(parents), tuple(separators))


def junction_tree(domains: Sequence[int], sets: Sequence[Set]) -> JunctionTree:
    """Return the tree of some sets; columns that stand in none are cliques by themselves."""
    return tree_of(cliques_of(domains, [*sets, *((column,) for column in range(len(domains)))]))


class GrowingTree:
    """The trees of a growing number of sets: after each one the smaller of two, that of all sets made anew, and the
    tree before, joined to it. So no set makes the tree larger than `sizes` told.
    """

    def __init__(self, domains: Sequence[int]) -> None:
        self._domains = tuple(domains)
        self._sets: tuple[Set, ...] = ()
        self._tree = junction_tree(self._domains, ())

    def of(self, sets: Sequence[Set]) -> JunctionTree:
        """Return the tree of these sets, in the order in which they came."""
        wanted = tuple(dict.fromkeys(columns for columns in sets if len(columns) > 1))
        if self._sets != wanted[: len(self._sets)]:
            self._sets, self._tree = (), junction_tree(self._domains, ())
        while self._sets != wanted:
            new = wanted[len(self._sets)]
            self._sets += (new,)
            grown, anew = self._joined(new), junction_tree(self._domains, self._sets)
            is_smaller = size(self._domains, grown) < size(self._domains, anew.cliques)
            self._tree = tree_of(grown) if is_smaller else anew
        return self._tree

    def sizes(self, sets: Sequence[Set], candidates: Iterable[Set]) -> list[int]:
        """Return the cells of the tree of some sets and one candidate more, of each at most; alike on all machines."""
        tree = self.of(sets)
        now = size(self._domains, tree.cliques)
        return [now + self._growth(columns) for columns in candidates]

    def _growth(self, new: Set) -> int:
        old, cliques = self._region(new)
        return size(self._domains, cliques) - size(self._domains, old)

    def _joined(self, new: Set) -> list[Set]:
        """Return the cliques with one more set."""
        old, cliques = self._region(new)
        return [*(clique for clique in self._tree.cliques if clique not in old), *cliques]

    def _region(self, new: Set) -> tuple[list[Set], list[Set]]:
        """Return the cliques that one more set changes, and what they become."""
        if self._tree.home(new) is not None:
            return [], []
        old = [self._tree.cliques[place] for place in sorted(self._tree.between(new))]
        return old, cliques_of(self._domains, [*old, new])


def _cells(domains: Sequence[int], columns: Iterable[int]) -> int:
    return math.prod(domains[column] for column in columns)
