"""Full-domain generalisation: one level of each quasi-identifier for all rows; search, and choice among solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parties.alone.publish.cells import Cells
from parties.alone.publish.models.classes import Classes, Layout
from parties.alone.publish.models.model import KAnonymity, PrivacyModel, fitting, monotone, suppressed
from parties.alone.publish.recoding.lattice import Lattice, Node, Solutions, above, minimal, nodes_of
from parties.alone.publish.recoding.rollup import Rollup
from parties.alone.publish.recoding.searches import MOST_CELLS, DistanceVectors, flash, incognito, samarati
from parties.alone.publish.recoding.utility import Utility, utility_of
from smc.errors import InputError

Algorithm = Literal["flash", "incognito", "samarati"]
NODES = 1 << 18  # most nodes of a lattice that is searched
WORK = 1 << 35  # nodes times quasi-identifiers times distinct rows: about a minute


@dataclass(frozen=True)
class Solution:
    """Chosen node, its loss and suppressed rows, the minimal solutions, and the number of nodes counted."""

    node: Node
    loss: float
    suppressed: int
    minimal: list[Node]
    counted: int


class Search:
    """Search in the lattice of a table for nodes that satisfy models with at most `most` suppressed rows.

    `layout` is that of the whole table if this is a part of one: models compare with the whole.
    """

    def __init__(
        self, cells: Cells, models: Sequence[PrivacyModel], most: int = 0, layout: Layout | None = None
    ) -> None:
        if not cells.rows:
            raise InputError("the table has no rows; give a table with rows")
        require_searchable(cells)
        self.cells = cells = cells.of_sensitive({model.column for model in models})
        self.models = models
        self.most = most
        self.rollup = Rollup(cells, layout)
        self.lattice = self.rollup.lattice
        self._monotone = monotone(models, most)

    def passes(self, node: Node) -> bool:
        """Return whether a node suppresses few enough rows, by the monotone models alone."""
        return suppressed(self.rollup.classes(node), self._monotone) <= self.most

    def holds(self, node: Node) -> bool:
        """Return whether a node is a solution: few enough rows are suppressed."""
        return suppressed(self.rollup.classes(node), self.models) <= self.most

    def solutions(self, algorithm: Literal["flash", "incognito"] = "flash") -> Solutions:
        """Return the solutions; models that are not monotone are tested at each node where the others pass."""
        search = flash if algorithm == "flash" else incognito
        solutions = search(self.lattice, self.passes)
        if len(self._monotone) < len(self.models):
            for node in nodes_of(solutions):
                solutions[node] = self.holds(node)
        return solutions

    def lowest(self) -> list[Node]:
        """Return the solutions of least height, by Samarati's algorithm."""
        passes = self.passes
        if len(self.models) == 1 and isinstance(self.models[0], KAnonymity) and len(self.cells.counts) <= MOST_CELLS:
            matrix = DistanceVectors(self.cells, self.models[0].k)
            passes = lambda node: matrix.suppressed(node) <= self.most  # noqa: E731
        return samarati(self.lattice, passes, passes if len(self._monotone) == len(self.models) else self.holds)

    def best(self, algorithm: Algorithm = "flash", utility: str = "discernibility") -> Solution:
        """Return the solution with the least loss; among equals that of least height, the first in lexical order.

        With Samarati's algorithm, it is the best solution of least height.

        Args:
            algorithm: algorithm of the search
            utility: measure of loss

        Raises:
            InputError: there is no solution; the message has a failing model, and the nearest reachable value
        """
        if algorithm == "samarati":
            least = self.lowest()
            solutions = np.zeros(self.lattice.shape, dtype=bool)
            for node in least:
                solutions[node] = True
        else:
            solutions = self.solutions(algorithm)
            least = minimal(solutions)
        if not least:
            raise unreachable(self.rollup.classes(self.lattice.top), self.models, self.most)
        loss, node = self._cheapest(solutions, utility_of(utility, self.cells, self.most))
        rows = suppressed(self.rollup.classes(node), self.models)
        return Solution(node, loss, rows, least, self.rollup.steps)

    def _cheapest(self, solutions: Solutions, measure: Utility) -> tuple[float, Node]:
        open_ = solutions.copy()
        best: tuple[float, Node] = (np.inf, self.lattice.top)
        for nodes in self.lattice.by_height():
            for node in nodes:
                if not open_[node]:
                    continue
                if measure.ahead(node) >= best[0]:
                    open_[above(node)] = False
                    continue
                classes = self.rollup.classes(node)
                loss = measure.loss(node, self.rollup.groups(node), classes, fitting(classes, self.models))
                if loss < best[0]:
                    best = (loss, node)
                if measure.bound(classes) >= best[0]:
                    open_[above(node)] = False
        return best


def searchable(cells: Cells) -> bool:
    """Return whether a table's lattice is small enough to be searched."""
    nodes = Lattice(tuple(h.height for h in cells.hierarchies)).size
    return nodes <= NODES and nodes * cells.quasi.size <= WORK


def require_searchable(cells: Cells) -> None:
    """Raise an InputError with a remedy if a table's lattice is too large to be searched."""
    if not searchable(cells):
        number, nodes = len(cells.hierarchies), Lattice(tuple(h.height for h in cells.hierarchies)).size
        raise InputError(
            f"the levels of {number} quasi-identifiers make a lattice of {nodes:.4g} nodes, and {len(cells.counts)} "
            'distinct rows would be counted in many: set algorithm = "mondrian", or give fewer columns or levels'
        )


def unreachable(whole: Classes, models: Sequence[PrivacyModel], most: int) -> InputError:
    """Return the error that no table satisfies the models; it names the first model that all rows as one class fail.

    Every model is monotone, so no finer table without suppression satisfies that model either.

    Args:
        whole: all rows as one class
        models: the models
        most: number of rows that may be suppressed
    """
    rows = int(whole.layout.whole[0])
    failing = next(model for model in models if not model.fits(whole).all())
    reached = failing.reached(whole)
    nearest = " to ".join(f"{x:.6g}" for x in reached) if isinstance(reached, list) else f"{reached:.6g}"
    return InputError(
        f"{failing.words} is impossible with at most {most} suppressed rows: even all {rows} rows as one class reach "
        f"only {nearest}; ask for that"
    )
