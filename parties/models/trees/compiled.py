"""Trees of any kind as choices by codes, and as arrays that route many rows at once, one level a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.models.trees.tree import Leaf, Node

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Choice:
    """A question: for each code of a column, the index of the branch that a row takes.

    A branch is another choice, or the end of the tree: a leaf, or a number.
    """

    column: str
    goes: Sequence[int] | Indices
    branches: Sequence[Any]

    def sides(self, codes: Mapping[int, int]) -> list[tuple[Any, list[int]]]:
        """Return the categories that lead to each branch of a split, given the code of every known category."""
        sides: list[list[int]] = [[] for _ in self.branches]
        for category, code in codes.items():
            sides[self.goes[code]].append(category)
        return list(zip(self.branches, sides, strict=True))


def choice(tree: Node) -> Choice | Leaf:
    """Return a tree as choices; a value's code is its position among the values of its attribute."""
    if isinstance(tree, Leaf):
        return tree
    branches = [choice(branch) for branch in tree.branches.values()]
    goes = [int(i in tree.second) for i in range(len(tree.order))] if tree.edge else range(len(branches))
    return Choice(tree.attribute, goes, branches)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A tree's nodes in reading order.

    `attribute` is the index of a node's column in `columns`, -1 in a leaf. `children[first + i]`, with the node's
    `first`, is the node for the column's code i. `end` is the index in `ends` of a leaf's content, -1 in other nodes.
    """

    columns: tuple[str, ...]  # columns in the tree
    ends: tuple[Any, ...]
    attribute: Indices
    first: Indices
    children: Indices
    end: Indices

    def route(
        self, cells: Mapping[str, NDArray[Any]], rows: int, refused: Callable[[int, str], Exception] | None = None
    ) -> Indices:
        """Return each row's index in `ends`, int64[rows].

        Only codes on a row's path are used.

        Args:
            cells: Codes of each column, int[rows].
            rows: Number of rows.
            refused: Makes the error of a row and a column whose code is -1; None: such a row gets -1.
        """
        codes = np.array([cells[name] for name in self.columns], dtype=np.int64).reshape(len(self.columns), rows)
        node_index = np.zeros(rows, dtype=np.int64)
        moving = np.arange(rows) if self.attribute[0] >= 0 else np.arange(0)
        unknown_cells: list[tuple[int, str]] = []
        while moving.size:
            at = node_index[moving]
            attributes = self.attribute[at]
            code = codes[attributes, moving]
            is_known = code >= 0
            if not is_known.all():
                first = int(np.flatnonzero(~is_known)[0])
                unknown_cells.append((int(moving[first]), self.columns[attributes[first]]))
                moving, at, code = moving[is_known], at[is_known], code[is_known]
            node_index[moving] = self.children[self.first[at] + code]
            moving = moving[self.attribute[node_index[moving]] >= 0]
        if unknown_cells and refused is not None:
            raise refused(*min(unknown_cells))
        return self.end[node_index]


def compiled(tree: Any) -> Compiled:
    """Return a tree in the form of arrays, for fast prediction."""
    columns: dict[str, int] = {}
    ends: list[Any] = []
    attribute: list[int] = []
    end: list[int] = []
    below: list[Indices] = []  # each node's branches, then its child for each code
    goes: list[Sequence[int] | Indices] = []
    waiting = [(tree, 0, -1)]
    while waiting:
        node, parent, branch = waiting.pop()
        if branch >= 0:
            below[parent][branch] = len(attribute)
        is_choice = isinstance(node, Choice)
        if is_choice:
            waiting += [(node.branches[i], len(attribute), i) for i in reversed(range(len(node.branches)))]
        else:
            ends.append(node)
        attribute.append(columns.setdefault(node.column, len(columns)) if is_choice else -1)
        end.append(-1 if is_choice else len(ends) - 1)
        below.append(np.zeros(len(node.branches) if is_choice else 0, dtype=np.int64))
        goes.append(node.goes if is_choice else [])
    children = [nodes[np.asarray(codes, dtype=np.int64)] for nodes, codes in zip(below, goes, strict=True)]
    lengths = np.array([len(nodes) for nodes in children])
    first = np.cumsum(lengths) - lengths
    return Compiled(tuple(columns), tuple(ends), np.array(attribute), first, np.concatenate(children), np.array(end))
