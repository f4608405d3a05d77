"""A tree on matplotlib's axes, to stand among other charts of a notebook; for one that fills a page see its SVG."""

from __future__ import annotations

from typing import Any

from parties.text import visible
from parties.trees.tree import Leaf, Node

LONGEST = 24  # letters of a name that are written


def plot(tree: Node, ax: Any = None) -> Any:
    """Draw the tree, the root on top; returns the axes. Leaves stand side by side, a question above its answers."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(layout="constrained").add_subplot()
    leaves = 0

    def draw(node: Node, depth: int) -> float:
        """Where the node came to stand, from left to right."""
        nonlocal leaves
        if isinstance(node, Leaf):
            leaves += 1
            _write(ax, leaves - 1.0, -depth, node.label, "round", "0.93")
            return leaves - 1.0
        below = [(value, draw(child, depth + 1)) for value, child in node.branches.items()]
        x = (below[0][1] + below[-1][1]) / 2
        for value, to in below:
            ax.plot([x, to], [-depth, -depth - 1], color="0.5", linewidth=1, zorder=1)
            _write(ax, (x + 2 * to) / 3, -depth - 2 / 3, value, None, "white")
        _write(ax, x, -depth, node.attribute, "square", "white")
        return x

    draw(tree, 0)
    ax.margins(0.1)
    ax.set_axis_off()
    return ax


def _write(ax: Any, x: float, y: float, text: str, box: str | None, fill: str) -> None:
    """A text in a box; `$`, which would begin a formula, as it is."""
    line = visible(text)
    line = (line if len(line) <= LONGEST else line[: LONGEST - 1] + "…").replace("$", r"\$")
    style = {"boxstyle": f"{box or 'square'},pad=0.2", "facecolor": fill, "edgecolor": "0.4" if box else "none"}
    ax.text(x, y, line, ha="center", va="center", bbox=style, zorder=2)
