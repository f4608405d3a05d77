"""Simplified trees for people: sister leaves of one class are merged, and questions whose answers agree are removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from parties.base.text import printable
from parties.models.trees.tree import Leaf, Node, Split, TreeFile


@dataclass(frozen=True)
class _Question:
    """A question, and the subtree of each group of its branches; leaves of one label form one group."""

    split: Split
    branches: tuple[tuple[list[str], Leaf | _Question], ...]


def settled(tree: Node) -> Node:
    """Return the tree without questions whose answers all agree, so that only needed columns remain.

    It gives the same class for every row, with the same branches at the remaining questions.
    """
    if isinstance(tree, Leaf):
        return tree
    branches = {value: settled(branch) for value, branch in tree.branches.items()}
    first, *others = branches.values()
    if not others:
        return first
    if isinstance(first, Leaf) and all(isinstance(other, Leaf) and other.label == first.label for other in others):
        return reduce(_together, (branch for branch in branches.values() if isinstance(branch, Leaf)))
    return replace(tree, branches=branches)


def asking(tree_file: TreeFile) -> TreeFile:
    """Return the file with each tree simplified for prediction: without questions whose answers all agree."""
    return replace(tree_file, tree=settled(tree_file.tree), others=tuple(map(settled, tree_file.others)))


def merged(tree: Node) -> Node:
    """Return an equivalent tree with fewer branches: values that share a leaf are joined."""
    return _plain(_grouped(settled(tree)))


def simplified(tree_file: TreeFile) -> Node:
    """Return a simplified tree for people; the trees of a forest become the branches of one tree."""
    if not tree_file.others:
        return merged(tree_file.tree)
    trees = {f"tree {number}": merged(tree) for number, tree in enumerate(tree_file.trees, 1)}
    return Split(f"{len(trees)} trees that vote", trees)


def to_rules(tree: Node) -> str:
    """Return the tree as sentences, one for each leaf of `merged`, in reading order; each ends with a newline."""
    return "".join(f"{printable(line)}\n" for line in _rules(_grouped(settled(tree)), {}))


def _together(leaf: Leaf, other: Leaf) -> Leaf:
    """Return two leaves of one label as one, with the sum of their supports if both have one."""
    return Leaf(leaf.label, None if leaf.support is None or other.support is None else leaf.support + other.support)


def _grouped(tree: Node) -> Leaf | _Question:
    """Return a settled tree with sister leaves of one label merged, in the position of the first leaf."""
    if isinstance(tree, Leaf):
        return tree
    branches: list[tuple[list[str], Leaf | _Question]] = []
    sisters: dict[str, int] = {}
    for value, branch in tree.branches.items():
        below = _grouped(branch)
        if isinstance(below, Leaf) and below.label in sisters:
            values, first = branches[sisters[below.label]]
            assert isinstance(first, Leaf)
            branches[sisters[below.label]] = [*values, value], _together(first, below)
            continue
        branches.append(([value], below))
        if isinstance(below, Leaf):
            sisters[below.label] = len(branches) - 1
    return _Question(tree, tuple(branches))


def _plain(tree: Leaf | _Question) -> Node:
    if isinstance(tree, Leaf):
        return tree
    by_edge = tree.split.edge  # a branch of an edge has a single label, such as ">= 65 or ?"
    branches = {values[0] if by_edge else _joined(values): _plain(branch) for values, branch in tree.branches}
    return replace(tree.split, branches=branches)


def _rules(tree: Leaf | _Question, conditions: dict[tuple[str, int], str]) -> Iterator[str]:
    """Yield the sentences of a tree below these conditions, by column and side; the nearer of two edges replaces the
    other.

    A side of a single value replaces all other conditions of its column.
    """
    if isinstance(tree, Leaf):
        yield f"if {' and '.join(conditions.values())}: {tree.words}" if conditions else f"always: {tree.words}"
        return
    name, edge, last = tree.split.attribute, tree.split.edge, len(tree.split.order) - 1
    for side, (values, branch) in enumerate(tree.branches):
        above = conditions
        if edge:
            words = f"{name} {values[0]}"
            condition = {(name, side if edge > 0 else -1): f"({words})" if " or " in values[0] else words}
            if (edge, side) in ((1, 0), (last, 1)) or (edge < 0 and side == 1):
                above = {key: words for key, words in conditions.items() if key[0] != name}
        else:
            condition = {(name, 0): f"{name} is {_joined(values)}"}
        yield from _rules(branch, above | condition)


def _joined(values: list[str]) -> str:
    """Return values of one branch joined by "or", since commas would look like a range. A value with an "or" is
    quoted."""
    return " or ".join(repr(value) if " or " in value else value for value in values)
