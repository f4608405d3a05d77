"""Trees as people read them: sister leaves that say the same are one, questions whose answers all agree are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parties.base.text import printable
from parties.models.trees.tree import Leaf, Node, Split, TreeFile


def merged(tree: Node) -> Node:
    """Return the tree that says the same of every row with fewer branches; values that share a leaf are listed."""
    if isinstance(tree, Leaf):
        return tree
    together = list(_together({value: merged(branch) for value, branch in tree.branches.items()}))
    if len(together) == 1:
        return together[0][1]
    return Split(tree.attribute, {_joined(values, ", "): branch for values, branch in together})


def simplified(tree_file: TreeFile) -> Node:
    """Return a result as people read it; the trees of a forest as the branches of one."""
    if not tree_file.others:
        return merged(tree_file.tree)
    trees = {f"tree {number}": merged(tree) for number, tree in enumerate(tree_file.trees, 1)}
    return Split(f"{len(trees)} trees that vote", trees)


def to_rules(tree: Node) -> str:
    """Return the tree as sentences, one for each leaf of `merged`, in reading order; each ends with a newline."""
    return "".join(f"{printable(line)}\n" for line in _rules(tree, ()))


def _together(branches: Mapping[str, Node]) -> Iterator[tuple[list[str], Node]]:
    """Yield the branches with their values: leaves of one label together, where the first of them stands."""
    sisters: dict[str, list[str]] = {}
    for value, branch in branches.items():
        if isinstance(branch, Leaf):
            sisters.setdefault(branch.label, []).append(value)
    for value, branch in branches.items():
        if not isinstance(branch, Leaf):
            yield [value], branch
        elif sisters[branch.label][0] == value:
            yield sisters[branch.label], branch


def _rules(tree: Node, conditions: tuple[str, ...]) -> Iterator[str]:
    """Yield the sentences of a tree below these conditions."""
    if isinstance(merged(tree), Leaf):
        label = next(_labels(tree))
        yield f"if {' and '.join(conditions)}: {label}" if conditions else f"always: {label}"
        return
    assert isinstance(tree, Split)
    for values, branch in _together({value: merged(branch) for value, branch in tree.branches.items()}):
        inner = branch if isinstance(branch, Leaf) else tree.branches[values[0]]
        yield from _rules(inner, (*conditions, f"{tree.attribute} is {_joined(values, ' or ')}"))


def _joined(values: list[str], mark: str) -> str:
    """Return several values as one text; in quotes what could be taken for several."""
    return (
        values[0]
        if len(values) == 1 and mark not in values[0]
        else mark.join(repr(value) if mark in value else value for value in values)
    )


def _labels(tree: Node) -> Iterator[str]:
    """Yield the labels of the leaves."""
    if isinstance(tree, Leaf):
        yield tree.label
        return
    for branch in tree.branches.values():
        yield from _labels(branch)
