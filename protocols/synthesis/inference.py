"""Marginals of a product of tables over small sets of columns, by messages along a junction tree.

Upwards, each clique adds its logarithms and the messages of its children. It exponentiates them and sums them over all
columns but those shared with its parent; this sum is its message to the parent. Downwards, a clique multiplies its
conditional probabilities by the parent's marginal of the shared columns (Lauritzen, Spiegelhalter 1988; in the form of
Koller, Friedman, "Probabilistic graphical models", 2009, chapter 10). This takes one exponential for each cell and
step, and no logarithm of a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from protocols.synthesis.junction import JunctionTree
from protocols.synthesis.sums import Margins, Set, Table, ordered, turned

LEAST = 1e-200  # a sum of exponentials below it (the greatest is 1) is computed again, relative to a maximum of its own


class Inference:
    """Marginals by several sets of columns, each in a clique of the tree, for any potentials of these sets.

    Potentials and marginals are vectors float64[cells], one set after the other.
    """

    def __init__(self, domains: Sequence[int], tree: JunctionTree, sets: Sequence[Set]) -> None:
        self._tree, self._sets = tree, sets
        self._axes = [ordered(columns, domains) for columns in sets]
        self._shapes = [[domains[column] for column in axes] for axes in self._axes]
        ends = np.cumsum([prod(shape) for shape in self._shapes]).tolist()
        self._slices = [slice(end - prod(shape), end) for end, shape in zip(ends, self._shapes, strict=True)]
        homes = [tree.home(columns) for columns in sets]
        separators = [ordered(columns, domains) for columns in tree.separators]
        self._cliques = []
        for index, clique in enumerate(tree.cliques):
            here = {
                axes: part for axes, part, home in zip(self._axes, self._slices, homes, strict=True) if home == index
            }
            shared = [
                common for common, parent in zip(separators, tree.parents, strict=True) if common and parent == index
            ]
            self._cliques.append(_Clique(ordered(clique, domains), separators[index], domains, here, shared))

    def vector(self, tables: Sequence[Table]) -> Table:
        """Return tables by the sets, their axes in ascending order, as a vector."""
        parts = zip(tables, self._sets, self._axes, strict=True)
        return np.concatenate([turned(table, columns, axes).reshape(-1) for table, columns, axes in parts])

    def tables(self, vector: Table) -> list[Table]:
        """Return the tables of a vector: the inverse of `vector`."""
        parts = zip(self._slices, self._shapes, self._axes, self._sets, strict=True)
        return [turned(vector[part].reshape(shape), axes, columns).copy() for part, shape, axes, columns in parts]

    def marginals(self, potentials: Table) -> Table:
        """Return the marginals of the distribution whose logarithm is the sum of these potentials."""
        for clique in self._cliques:
            clique.begin(potentials)
        for clique, parent in zip(reversed(self._cliques), reversed(self._tree.parents), strict=True):
            message = clique.message()
            if clique.separator:
                self._cliques[parent].logs.tables[clique.separator] += message
        result = np.empty_like(potentials)
        for clique, parent in zip(self._cliques, self._tree.parents, strict=True):
            clique.normalise(self._cliques[parent].masses.tables[clique.separator] if clique.separator else np.ones(()))
            clique.end(result)
        return result

    def beliefs(self) -> list[Table]:
        """Return the probabilities of each clique for the last potentials, axes in ascending order."""
        return [
            turned(clique.masses.whole, clique.columns, columns).copy()
            for clique, columns in zip(self._cliques, self._tree.cliques, strict=True)
        ]


class _Clique:
    """Logarithms and probabilities of a clique, with its required marginals.

    *Masses* are the exponentials of the logarithms: they become the clique's probabilities when they are normalised.

    `targets` are the sets whose potentials belong to the clique, with their parts of the vector. `shared` are the
    columns shared with each child, `separator` those shared with the parent.
    """

    def __init__(
        self, columns: Set, separator: Set, domains: Sequence[int], targets: Mapping[Set, slice], shared: Sequence[Set]
    ) -> None:
        self.columns, self.separator = columns, separator
        required = list(dict.fromkeys([*targets, *shared]))
        self.logs, self.masses = Margins(columns, domains, required), Margins(columns, domains, required)
        self._sums = Margins(columns, domains, [separator] if separator else [], self.masses.whole)
        self._targets = [
            (self.logs.tables[axes].reshape(-1), self.masses.tables[axes].reshape(-1), part)
            for axes, part in targets.items()
        ]
        self._others = [self.logs.tables[axes] for axes in shared if axes not in targets]
        self._hidden = tuple(index for index, column in enumerate(columns) if column not in separator)
        # shape of a separator's table, broadcast over the clique
        self._wider = [domains[column] if column in separator else 1 for column in columns]

    def begin(self, potentials: Table) -> None:
        """Set the logarithms to the clique's own potentials; messages are added later."""
        for logs, _, part in self._targets:
            logs[:] = potentials[part]
        for logs in self._others:
            logs.fill(0)

    def message(self) -> Table:
        """Fill the masses, up to a factor for each cell of the separator; return the logarithms of their sums."""
        self.logs.spread()
        top = self.logs.whole.max()
        sums = self._summed(top)
        if sums.min() < LEAST:
            top = self.logs.whole.max(axis=self._hidden, keepdims=True)
            sums = self._summed(top)
            top = top.reshape(sums.shape)
        message: Table = np.log(sums) + top
        return message

    def _summed(self, top: Table) -> Table:
        """Fill the masses relative to `top`, one greatest logarithm or one for each cell of the separator.

        Return their sums by the separator's columns.
        """
        np.subtract(self.logs.whole, top, out=self.masses.whole)
        np.exp(self.masses.whole, out=self.masses.whole)
        self._sums.sum()
        return self._sums.tables[self.separator] if self.separator else np.asarray(self.masses.whole.sum())

    def normalise(self, marginal: Table) -> None:
        """Scale the masses to these sums by the separator's columns, and fill all marginals."""
        sums = self._sums.tables[self.separator] if self.separator else self.masses.whole.sum()
        self.masses.whole *= (marginal / sums).reshape(self._wider)
        self.masses.sum()

    def end(self, result: Table) -> None:
        for _, masses, part in self._targets:
            result[part] = masses
