"""A tree on the page: its size, classes, outline and picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from parties.jobs.tree.result import tree_file
from parties.models.trees import drawing, tree
from parties.models.trees.drawing import Class
from parties.models.trees.reading import simplified
from parties.models.trees.tree import Leaf, Node, Size, TreeFile, places

DRAWN = 1500  # nodes that a browser moves smoothly
READABLE = 60  # leaves with readable names when the picture shows all
UNFOLDED = 2  # unfolded levels of a large tree's outline
OUTLINED = 3000  # nodes that the page lists; the files have all
ROLE = 'id="tree-picture" tabindex="0" role="img" aria-label="The tree as a picture; the list below says the same."'


@dataclass(frozen=True)
class Line:
    """A node in the outline: the value that leads to it, its text, and the number of lists that end after it.

    `unfolded`: its children are shown at once.
    """

    value: str | None
    text: str
    leaf: bool
    ends: int
    unfolded: bool


@dataclass(frozen=True)
class TreeView:
    """Content of the page about a tree. `outline` is None if the tree is too large to list."""

    target: str
    size: Size
    picture: Markup | None  # None if it is too large to draw here
    legend: list[Class]
    outline: list[Line] | None
    large: bool  # the picture as a whole is unreadable
    made: str  # the noise it was made with, if any


def view(document: dict[str, Any]) -> TreeView:
    """Return the tree of a result. Raise InputError if it cannot be read."""
    file = tree_file(document)
    root = simplified(file)
    whole, forest = tree.size(root), len(file.others) > 0  # a forest is shown below a root that is in none of its trees
    size = Size(whole.nodes - forest, whole.leaves, whole.depth - forest)
    large = size.leaves > READABLE
    return TreeView(
        target=file.target,
        size=size,
        picture=_picture(root) if size.nodes <= DRAWN else None,
        legend=drawing.legend(root),
        large=large,
        outline=_outline(root, UNFOLDED if large else size.depth + 1) if size.nodes <= OUTLINED else None,
        made=_made(file),
    )


def _picture(root: Node) -> Markup:
    """Return the SVG as an element of the page that a keyboard can focus. The XML writer has escaped its texts."""
    return Markup(drawing.draw_bare(root).replace("<svg ", f"<svg {ROLE} ", 1))


def _made(file: TreeFile) -> str:
    if file.noise is None:
        return ""
    trees = f"{len(file.trees)} trees vote, each grown from its own rows. " if file.others else ""
    change = {"add-remove": "added or removed", "replace": "replaced"}.get(file.noise.adjacency, file.noise.adjacency)
    unit = "row" if file.noise.at_most is None else f"person (at most {file.noise.at_most} rows)"
    return (
        f"{trees}Every choice was made with noise: differential privacy with epsilon {file.noise.epsilon:g} for a "
        f"{unit} {change}, attributes compared by {file.noise.quality}."
    )


def _outline(root: Node, unfolded: int) -> list[Line]:
    nodes = places(root)
    lines = []
    for i, entry in enumerate(nodes):
        next_depth = nodes[i + 1].depth if i + 1 < len(nodes) else 0
        leaf = isinstance(entry.node, Leaf)
        text = entry.node.label if isinstance(entry.node, Leaf) else entry.node.attribute
        lines.append(Line(entry.value, text, leaf, max(0, entry.depth - next_depth), entry.depth < unfolded))
    return lines
