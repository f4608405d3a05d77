"""Decision trees as indices of attributes and classes, complete or growing; a checkpoint of ID3 is such a tree.

A growing tree has `Open` nodes, all at one depth. They are numbered in reading order (left to right), which is the
order in which every count, circuit and message of a level lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Open:
    """A node that is still undecided."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf: the index of its class."""

    label: int


@dataclass(frozen=True, slots=True)
class Split:
    """An inner node: the index of its attribute and one child per value.

    Trees for sources of counts may have an `edge` (`protocols.edges`) and then two children. A positive edge: values
    below it, then the others. A negative edge: all values except -edge, then this value.
    """

    attribute: int
    children: tuple[Tree, ...]
    edge: int = field(default=0, repr=False)


def child_of(edge: int | NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the child that each value of a column leads to.

    Args:
        edge: The edge of the split, see `Split`; one for all values or int64[n].
        values: Values of the column, int64[n].

    Returns:
        The children's numbers from 0, int64[n].

    Examples:
        >>> [child_of(edge, np.arange(3)).tolist() for edge in (0, 1, 2, -1)]
        [[0, 1, 2], [0, 1, 1], [0, 0, 1], [0, 1, 0]]
    """
    return np.where(np.equal(edge, 0), values, np.where(np.greater(edge, 0), values >= edge, values == -edge))


Tree = Open | Leaf | Split
Forest = tuple[Tree, ...]


def open_depth(tree: Tree) -> int | None:
    """Return the depth of the open nodes; None if there are none. ValueError if they lie at different depths."""
    depths = {depth for node, depth in walk(tree) if isinstance(node, Open)}
    if len(depths) > 1:
        raise ValueError(f"all open nodes must have one depth, not {sorted(depths)}")
    return depths.pop() if depths else None


def decided_levels(tree: Tree) -> int:
    """Return the number of levels that are decided."""
    depth = open_depth(tree)
    return depth if depth is not None else 1 + max(depth for _, depth in walk(tree))


def cut(tree: Tree, depth: int) -> Tree:
    """Return the tree as it was before the nodes at `depth` were decided.

    Args:
        tree: The tree; it is not changed.
        depth: Depth of the nodes that become open, 0 for the root.
    """
    if depth == 0:
        return Open()
    if isinstance(tree, Split):
        return Split(tree.attribute, tuple(cut(child, depth - 1) for child in tree.children))
    return tree


def walk(tree: Tree, depth: int = 0) -> Iterator[tuple[Tree, int]]:
    """Yield all nodes with their depths, in reading order.

    Args:
        tree: The tree or a branch.
        depth: Depth of its root, 0 for a tree.
    """
    yield tree, depth
    if isinstance(tree, Split):
        for child in tree.children:
            yield from walk(child, depth + 1)


def open_nodes(trees: Sequence[Tree]) -> int:
    """Return the number of open nodes of some trees."""
    waiting, count = list(trees), 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, Split):
            waiting.extend(node.children)
        elif isinstance(node, Open):
            count += 1
    return count


def encode(tree: Tree) -> Any:
    """Return the tree as JSON: null for an open node, a number for a leaf, [attribute, children] for a split."""
    if isinstance(tree, Split):
        return [tree.attribute, [encode(child) for child in tree.children]]
    return tree.label if isinstance(tree, Leaf) else None


def decode(value: Any) -> Tree:
    """Return the tree in a JSON document of `encode`."""
    if value is None:
        return Open()
    if isinstance(value, int):
        return Leaf(value)
    attribute, children = value
    return Split(attribute, tuple(decode(child) for child in children))
