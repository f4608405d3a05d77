"""Information loss of full-domain solutions: less is better, and suppressed rows cost most.

Each measure has a lower bound for all nodes above a node, so that a search can skip nodes that cannot be the best.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from typing_extensions import override

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.model import Fits
from parties.alone.publish.recoding.lattice import Node
from parties.base.text import instead, quoted
from protocols.arrays import Floats
from smc.errors import InputError


class Utility(ABC):
    """A measure of loss for one table, in which `most` rows may be suppressed."""

    name: ClassVar[str]

    def __init__(self, cells: Cells, most: int) -> None:
        self.rows = cells.rows
        self.most = most
        self.hierarchies = cells.hierarchies

    def ahead(self, node: Node) -> float:
        """Return a lower bound of the loss at a node and above, computed without its classes."""
        return 0.0

    @abstractmethod
    def bound(self, classes: Classes) -> float:
        """Return a lower bound of the loss at a node with these classes, and at every more general node."""

    @abstractmethod
    def loss(self, node: Node, groups: ValueCodes, classes: Classes, fits: Fits) -> float:
        """Return the loss at a node if classes that do not fit are suppressed.

        Args:
            node: the node
            groups: groups of the classes, int[quasi-identifiers, classes]
            classes: the classes
            fits: whether each class fits, bool[classes]
        """


class Discernibility(Utility):
    """Sum over rows of the size of their class, all rows for a suppressed one (R. Bayardo, R. Agrawal, 2005)."""

    name: ClassVar[str] = "discernibility"

    def bound(self, classes: Classes) -> float:
        """Return the sum of squares, which only grows as classes are joined."""
        return float((classes.sizes.astype(np.float64) ** 2).sum())

    @override
    def loss(self, node: Node, groups: ValueCodes, classes: Classes, fits: Fits) -> float:
        """Return the sum of the squared class sizes; a suppressed row counts as many rows as the table has."""
        sizes = classes.sizes.astype(np.float64)
        return float((sizes[fits] ** 2).sum() + sizes[~fits].sum() * self.rows)


class AverageClass(Utility):
    """Average size of a class: number of published rows, divided by the number of published classes."""

    name: ClassVar[str] = "class-size"

    def bound(self, classes: Classes) -> float:
        """Return a lower bound of the average size: more general nodes have fewer classes."""
        return (self.rows - self.most) / max(len(classes), 1)

    @override
    def loss(self, node: Node, groups: ValueCodes, classes: Classes, fits: Fits) -> float:
        """Return the average size of a published class; the number of all rows if no class is published."""
        fits = fits & (classes.sizes > 0)
        return float(classes.sizes[fits].sum() / fits.sum()) if fits.any() else float(self.rows)


class _ByCell(Utility):
    """A loss that is a sum over rows and quasi-identifiers of the `prices` of the cell's group."""

    def __init__(self, cells: Cells, most: int) -> None:
        super().__init__(cells, most)
        self._prices = [self.prices(h, codes, cells) for h, codes in zip(cells.hierarchies, cells.quasi, strict=True)]
        self._dearest = sum(max(float(price.max()) for price in prices) for prices in self._prices)
        self._totals = [
            [float(price[group[codes]] @ cells.counts) for price, group in zip(prices, h.groups, strict=True)]
            for prices, h, codes in zip(self._prices, cells.hierarchies, cells.quasi, strict=True)
        ]

    @staticmethod
    @abstractmethod
    def prices(hierarchy: Hierarchy, codes: ValueCodes, cells: Cells) -> list[Floats]:
        """Return the price of a cell by the level and number of its group, float64[groups] for each level.

        Args:
            hierarchy: hierarchy of the column
            codes: values of the cells
            cells: the table
        """

    def ahead(self, node: Node) -> float:
        """Return the average price at the node: it grows with the level, and suppressed rows cost no less."""
        return sum(totals[level] for totals, level in zip(self._totals, node, strict=True)) / self._scale

    @property
    def _scale(self) -> float:
        return max(1, self.rows * len(self.hierarchies))

    def bound(self, classes: Classes) -> float:
        return 0.0

    def loss(self, node: Node, groups: ValueCodes, classes: Classes, fits: Fits) -> float:
        """Return the average price over rows and quasi-identifiers; a suppressed row costs the highest prices."""
        prices = np.zeros(len(classes))
        for price, level, column in zip(self._prices, node, groups, strict=True):
            prices += price[level][column]
        prices[~fits] = self._dearest
        return float(classes.sizes @ prices) / self._scale


class Certainty(_ByCell):
    """Normalised certainty penalty: share of a column's values that a cell may stand for (J. Xu et al., 2006)."""

    name: ClassVar[str] = "ncp"

    @staticmethod
    @override
    def prices(hierarchy: Hierarchy, codes: ValueCodes, cells: Cells) -> list[Floats]:
        return list(hierarchy.penalties)


class Entropy(_ByCell):
    """Non-uniform entropy: bits missing to determine the cell's value, given the table's distribution."""

    name: ClassVar[str] = "entropy"

    @staticmethod
    @override
    def prices(hierarchy: Hierarchy, codes: ValueCodes, cells: Cells) -> list[Floats]:
        """Return, as the prices of each level, the entropy of the values in each group, in bits."""
        rows = np.bincount(codes, weights=cells.counts, minlength=len(hierarchy.values))
        bits = np.where(rows > 0, rows * np.log2(np.where(rows > 0, rows, 1)), 0.0)
        prices = []
        for group in hierarchy.groups:
            total = np.bincount(group, weights=rows)
            inside = np.bincount(group, weights=bits)
            prices.append(np.where(total > 0, np.log2(np.maximum(total, 1)) - inside / np.maximum(total, 1), 0.0))
        return prices


UTILITIES: dict[str, type[Utility]] = {
    utility.name: utility for utility in (Discernibility, Certainty, AverageClass, Entropy)
}


def utility_of(name: str, cells: Cells, most: int) -> Utility:
    """Return the measure of this name; raise InputError for another name.

    Args:
        name: Name in the plan, such as ncp.
        cells: Distinct rows of the table, coded.
        most: Largest allowed number of suppressed rows.
    """
    if name not in UTILITIES:
        hint = instead(name, UTILITIES)
        raise InputError(f"{quoted(name)} is not a measure of utility{hint}")
    return UTILITIES[name](cells, most)
