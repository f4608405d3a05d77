"""Junction trees: cliques of a distribution that is a product over small sets of columns.

The graph joins columns of one set. It is made chordal by eliminating columns one after the other, each time the one
whose clique has the fewest cells (Koller, Friedman, "Probabilistic graphical models", 2009, chapter 9). The maximal
cliques, with a maximum spanning tree by the number of shared columns, are a junction tree. Ties go to the first, so the
tree is the same on every machine.

To add a set to a tree, only the cliques between the set's columns are rebuilt: a chordal graph stays chordal if every
other clique keeps its edges. This is fast enough to be evaluated for thousands of sets (`GrowingTree.sizes`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from protocols.synthesis.sums import Set


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns in ascending order, each after its parent.

    `parents` has the index of each clique's parent, -1 for the first. `separators` has the columns shared with the
    parent.
    """

    cliques: tuple[Set, ...]
    parents: tuple[int, ...]
    separators: tuple[Set, ...]

    @cached_property
    def tops(self) -> dict[int, int]:
        """Index of the first clique with each column; other cliques with it are below that one."""
        return {column: index for index in reversed(range(len(self.cliques))) for column in self.cliques[index]}

    @cached_property
    def roots(self) -> list[int]:
        """Index of the first clique in each clique's connected part."""
        roots: list[int] = []
        for index, (parent, separator) in enumerate(zip(self.parents, self.separators, strict=True)):
            roots.append(roots[parent] if separator else index)
        return roots

    def home(self, columns: Sequence[int]) -> int | None:
        """Return the index of the first clique with all these columns, or None; it is the last of their `tops`."""
        index = max(self.tops[column] for column in columns)
        return index if set(columns).issubset(self.cliques[index]) else None

    def between(self, columns: Sequence[int]) -> set[int]:
        """Return the tops of some columns and the cliques between them, separately in each connected part."""
        waiting, region = {self.tops[column] for column in columns}, set[int]()
        while waiting:
            index = max(waiting)
            waiting.remove(index)
            region.add(index)
            if any(self.roots[other] == self.roots[index] for other in waiting):
                waiting.add(self.parents[index])
        return region


def cliques_of(domains: Sequence[int], sets: Iterable[Set]) -> list[Set]:
    """Return the maximal cliques of the chordal graph of the columns in the sets.

    Args:
        domains: number of values of each column
        sets: sets of columns to be joined
    """
    near: dict[int, set[int]] = {}
    for columns in sets:
        for column in columns:
            near.setdefault(column, set()).update(columns)
    cells = {column: _cells(domains, near[column]) for column in sorted(near)}
    cliques: list[set[int]] = []
    while cells:
        column = min(cells, key=cells.__getitem__)
        clique = near[column]  # includes the column itself
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
    """Return the number of cells of all cliques together.

    Args:
        domains: Number of categories of each column.
        cliques: Sets of column indices.
    """
    return sum(_cells(domains, clique) for clique in cliques)


def tree_of(cliques: Sequence[Set]) -> JunctionTree:
    """Return the tree of the cliques of a chordal graph."""
    best = {index: (len(set(clique).intersection(cliques[0])), 0) for index, clique in enumerate(cliques) if index}
    inside, parents = [0], [-1]  # `best`: most columns that each outside clique shares with an inside one, and that one
    while best:
        child = max(best, key=lambda index: (best[index][0], -best[index][1], -index))
        parents.append(inside.index(best.pop(child)[1]))
        inside.append(child)
        for index, (shared_before, parent) in best.items():
            shared = len(set(cliques[child]).intersection(cliques[index]))
            best[index] = max((shared_before, parent), (shared, child), key=lambda pair: (pair[0], -pair[1]))
    ordered = [cliques[index] for index in inside]
    separators = [
        () if parent < 0 else tuple(sorted(set(clique).intersection(ordered[parent])))
        for clique, parent in zip(ordered, parents, strict=True)
    ]
    return JunctionTree(tuple(ordered), tuple(parents), tuple(separators))


def junction_tree(domains: Sequence[int], sets: Sequence[Set]) -> JunctionTree:
    """Return the tree of some sets; a column in no set is a clique by itself.

    Args:
        domains: Number of categories of each column.
        sets: Sets of columns that are measured together.
    """
    return tree_of(cliques_of(domains, [*sets, *((column,) for column in range(len(domains)))]))


class GrowingTree:
    """Trees of a growing number of sets.

    After each set, take the smaller of two trees: the one rebuilt from all sets, and the previous one with the set
    added. So a set never makes the tree larger than `sizes` has stated.
    """

    def __init__(self, domains: Sequence[int]) -> None:
        self._domains = tuple(domains)
        self._sets: tuple[Set, ...] = ()
        self._tree = junction_tree(self._domains, ())

    def of(self, sets: Sequence[Set]) -> JunctionTree:
        """Return the tree of these sets; it is the last tree grown by the new sets, if the earlier ones come first."""
        required = tuple(dict.fromkeys(columns for columns in sets if len(columns) > 1))
        if self._sets != required[: len(self._sets)]:
            self._sets, self._tree = (), junction_tree(self._domains, ())
        while self._sets != required:
            new = required[len(self._sets)]
            self._sets += (new,)
            grown, anew = self._joined(new), junction_tree(self._domains, self._sets)
            is_smaller = size(self._domains, grown) < size(self._domains, anew.cliques)
            self._tree = tree_of(grown) if is_smaller else anew
        return self._tree

    def sizes(self, sets: Sequence[Set], candidates: Iterable[Set]) -> list[int]:
        """Return upper bounds of the cells of the tree with one more set, for each candidate; equal on all machines.

        Args:
            sets: sets of the tree, in their order of arrival
            candidates: the sets of which one is added
        """
        tree = self.of(sets)
        now = size(self._domains, tree.cliques)
        return [now + self._growth(columns) for columns in candidates]

    def _growth(self, new: Set) -> int:
        old, cliques = self._region(new)
        return size(self._domains, cliques) - size(self._domains, old)

    def _joined(self, new: Set) -> list[Set]:
        old, cliques = self._region(new)
        return [*(clique for clique in self._tree.cliques if clique not in old), *cliques]

    def _region(self, new: Set) -> tuple[list[Set], list[Set]]:
        """Return the cliques that one more set changes, and their replacements."""
        if self._tree.home(new) is not None:
            return [], []
        old = [self._tree.cliques[index] for index in sorted(self._tree.between(new))]
        return old, cliques_of(self._domains, [*old, new])


def _cells(domains: Sequence[int], columns: Iterable[int]) -> int:
    return math.prod(domains[column] for column in columns)
