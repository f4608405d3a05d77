"""Joint counts of rows whose columns lie apart: what all sources of shares of joint numbers have in common.

A source counts the rows in some open nodes, by classes and by the values of columns. Three rules save counting:

- The last value of a column is the rest of the numbers by classes.
- If the level before counted a node, its last child is the node less its other children.
- Then the numbers by classes alone of any child are the node's numbers by the values that lead to the child.

They are sums of shares, so they need no message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Indices, LevelCounts
from protocols.tree import Forest, Open, Split, Tree, child_of
from smc.engines import Engine

Numbers = NDArray[Any]
Box = Mapping[int, NDArray[np.bool_]]  # whether each value of some columns is in it, by the column's number
Path = tuple[tuple[int, int, int], ...]  # the splits above a node: attribute, edge and number of the child


@dataclass(frozen=True)
class Place:
    """An open node: its tree and path, the number of its parent's children, and the attributes to count by."""

    tree: int
    path: Path
    siblings: int
    left: tuple[int, ...]

    @property
    def is_last(self) -> bool:
        """True for the last of several children."""
        return self.siblings > 1 and self.path[-1][2] == self.siblings - 1


def places_of(tree: Tree, number: int, left: tuple[int, ...], path: Path = (), siblings: int = 1) -> Iterator[Place]:
    """Yield the open nodes in reading order.

    Args:
        tree: The tree or a branch.
        number: Number of the tree.
        left: The attributes that are not split into all their values above the branch.
        path: The splits above the branch.
        siblings: Number of children of the parent.
    """
    if isinstance(tree, Open):
        yield Place(number, path, siblings, left)
    elif isinstance(tree, Split):
        rest = left if tree.edge else tuple(attribute for attribute in left if attribute != tree.attribute)
        for place, child in enumerate(tree.children):
            below = (*path, (tree.attribute, tree.edge, place))
            yield from places_of(child, number, rest, below, len(tree.children))


class JointCounts(ABC):
    """Source of counts and sums by both parties' columns: shares of joint numbers, see `protocols.inputs`.

    Set `Engine.masked_numbers` before the protocol. Both parties ask for the same levels in one order.
    """

    def __init__(self, engine: Engine, domains: tuple[int, ...], classes: int, kind: type[Any]) -> None:
        """Keep the public sizes.

        Args:
            engine: The engine of this session.
            domains: Number of values of each attribute.
            classes: Number of classes.
            kind: np.uint16 or np.uint32, the shares of counts before they are lifted.
        """
        self._engine = engine
        self._domains = domains
        self._classes = classes
        self._kind = kind
        self._before: dict[tuple[int, Path], list[Numbers]] = {}  # tables of the last level, by tree and path

    def level(self, trees: Tree | Forest, attributes: bool) -> LevelCounts:
        """Return shares of the numbers of the open nodes; see `Counts.level` and `ForestCounts.level`.

        Args:
            trees: The tree or all trees so far; public.
            attributes: True to count by each attribute's values too.
        """
        forest, left = trees if isinstance(trees, tuple) else (trees,), tuple(range(len(self._domains)))
        places = [place for number, tree in enumerate(forest) for place in places_of(tree, number, left)]
        with self._engine.session.phase("counts"):
            tables = self._tables(places, attributes)
            shares = self._engine.inner.lifted(np.concatenate([t.reshape(-1) for node in tables for t in node]))
        shapes: list[tuple[int, ...]] = [(self._classes,)]
        shapes += [(size, self._classes) for size in self._domains] if attributes else []
        cells = shares.reshape(len(places), -1).astype(np.int64)
        parts = np.split(cells, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1], axis=1)
        whole, *values = (part.reshape(len(places), *shape) for part, shape in zip(parts, shapes, strict=True))
        return LevelCounts(whole, tuple(values), are_shares=True)

    @abstractmethod
    def sums(self, boxes: Sequence[Box], weights: Indices | None = None) -> Indices:
        """Return shares of the sums of the weights of the rows in each box, int64[boxes, sums].

        Args:
            boxes: The boxes; public. The class is the column behind the last attribute.
            weights: Weights of each class, int64[classes, sums]; public. None for one sum, in which each row has
                weight 1.
        """

    @abstractmethod
    def distinct_boxes(self, number: int, columns: int) -> Indices:
        """Count the cost of counting the rows in boxes that share no messages, the most that boxes can cost.

        Args:
            number: Number of boxes.
            columns: Largest number of columns of a box.
        """

    @abstractmethod
    def _counted(self, places: list[Place], attributes: bool) -> list[list[Numbers]]:
        """Count nodes by messages; tables as `_tables`."""

    def _tables(self, places: list[Place], attributes: bool) -> list[list[Numbers]]:
        """Return each node's tables, shares modulo 2^w: by classes, and by each attribute's values and classes."""
        parents = [self._before.get((place.tree, place.path[:-1])) if place.path else None for place in places]
        derived = [
            above is not None and (place.is_last or not attributes)
            for place, above in zip(places, parents, strict=True)
        ]
        missing = [place for place, known in zip(places, derived, strict=True) if not known]
        counted = iter(self._counted(missing, attributes) if missing else [])
        tables: list[list[Numbers]] = []
        for place, above, known in zip(places, parents, derived, strict=True):
            if above is None or not known:
                tables.append(next(counted))
            elif not attributes:
                attribute, edge, child = place.path[-1]
                inside = child_of(edge, np.arange(self._domains[attribute])) == child
                tables.append([above[1 + attribute][inside].sum(axis=0, dtype=self._kind)])
            else:
                siblings = tables[len(tables) - place.siblings + 1 :]
                tables.append([above[i] - sum(one[i] for one in siblings) for i in range(len(siblings[0]))])
        if attributes:
            self._before = {(place.tree, place.path): table for place, table in zip(places, tables, strict=True)}
        return tables

    def _completed(self, by_class: Numbers, cells: Mapping[int, Numbers], path: Path) -> list[Numbers]:
        """Return a node's tables with the last value of each attribute, and the values that the path has.

        `cells` are the numbers of all other values by classes, for each attribute that is counted.
        """
        tables = [np.zeros((size, self._classes), dtype=self._kind) for size in self._domains]
        for attribute, here in cells.items():
            tables[attribute] = np.vstack([here, by_class - here.sum(axis=0, dtype=self._kind)])
        for attribute, edge, child in path:
            if not edge:
                tables[attribute][child] = by_class
        return [by_class, *tables]
