"""Trees as text for people, and as DOT for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from parties.base.text import printable
from parties.models.trees.tree import Leaf, Node, Split, places


def to_text(tree: Node) -> str:
    """Return a tree as text, one line a branch, e.g. `├── outlook = overcast: yes`; ends with a newline."""
    lines = [printable(tree.words)] if isinstance(tree, Leaf) else _branch_lines(tree)
    return "".join(line + "\n" for line in lines)


def to_dot(tree: Node, target: str) -> str:
    """Return a tree in Graphviz's DOT language.

    Args:
        tree: Root of the tree.
        target: Name of the target column, for the title.
    """
    import graphviz  # imported here, because most runs draw nothing

    dot = graphviz.Digraph("tree", comment=printable(f"Decision tree for {target}"))
    dot.attr(ordering="out")  # branches from left to right in their order
    dot.attr("node", shape="box", fontname="sans-serif")
    dot.attr("edge", fontname="sans-serif")
    for i, place in enumerate(places(tree)):
        if isinstance(place.node, Leaf):
            dot.node(f"n{i}", _dot_label(place.node.words), style="rounded,filled", fillcolor="gray92")
        else:
            dot.node(f"n{i}", _dot_label(place.node.attribute))
        if place.value is not None:
            dot.edge(f"n{place.parent}", f"n{i}", _dot_label(place.value))
    return str(dot.source)


def _dot_label(text: str) -> str:
    """Return the text as a DOT label that is shown literally, with all backslashes and tags."""
    import graphviz

    label: str = graphviz.escape(printable(text))  # a string type of its own, so that <i> is not HTML
    return label


def _branch_lines(tree: Split) -> Iterator[str]:
    last = len(tree.branches) - 1
    for i, (value, branch) in enumerate(tree.branches.items()):
        line = ("└── " if i == last else "├── ") + printable(tree.statement(value))
        if isinstance(branch, Leaf):
            yield f"{line}: {printable(branch.words)}"
            continue
        yield line
        for below in _branch_lines(branch):
            yield ("    " if i == last else "│   ") + below
