"""Drawing of a tree on matplotlib's axes, among other charts of a notebook, with the layout of the SVG picture.

The axes' unit is an inch of the layout. Letters are scaled with this unit when they are drawn, so each text fits its
box in axes of any size, and after a zoom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.patches import FancyBboxPatch
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from parties.base.pictures import MUTED, PAPER, RULE, text_measure
from parties.models.trees.drawing import LEAF_CORNER, QUESTION, QUESTION_CORNER, ink_on, legend
from parties.models.trees.layout import NODE_HEIGHT, NODE_POINTS, VALUE_POINTS, arrange, caption
from parties.models.trees.tree import Leaf, Node, places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.1  # inches, around the tree
LARGEST = 24.0  # inches, of a figure of our own: a tree that takes more is drawn smaller
SMALLEST = 1.0  # points, of a letter that is drawn


class _Line(Text):
    """A line of text that is scaled with its axes; `$` does not begin a formula."""

    def __init__(self, ax: Axes, x: float, y: float, text: str, points: float, color: str, **look: Any) -> None:
        line = text.replace("$", r"\$")
        super().__init__(x, y, line, color=color, family="DejaVu Sans", ha="center", va="center_baseline", **look)
        self._points = points
        self.set_in_layout(False)  # it stands within the axes
        ax.add_artist(self)

    def draw(self, renderer: Any) -> None:
        """Draw the text, unless it is too small to be read."""
        axes, figure = self.axes, self.get_figure()
        assert axes is not None
        assert figure is not None
        (left, _), (right, _) = axes.transData.transform([(0, 0), (1, 0)])
        size = self._points * (right - left) / figure.dpi
        if size >= SMALLEST:
            self.set_fontsize(size)
            super().draw(renderer)


def plot(tree: Node, ax: Axes | None = None) -> Axes:
    """Draw the tree on matplotlib's axes, and return them.

    Args:
        tree: The tree.
        ax: Axes to draw on. Default: those of a new figure as large as the tree needs, 24 inches at most.
    """
    nodes, colours = places(tree), {entry.label: entry.colour for entry in legend(tree)}
    picture = arrange(nodes, text_measure())
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    if ax is None:
        from matplotlib import pyplot

        share = min(1.0, LARGEST / max(width, height))
        ax = pyplot.figure(figsize=(share * width, share * height)).add_axes((0.0, 0.0, 1.0, 1.0))
    for line in picture.lines:
        ax.plot(*zip(*line, strict=True), color=RULE, linewidth=1, zorder=1)
    for x, y, value in picture.values:
        halo = [withStroke(linewidth=3, foreground=PAPER)]
        _Line(ax, x, y, value, VALUE_POINTS, MUTED, path_effects=halo, zorder=2)
    for place, (x, y, across) in zip(nodes, picture.boxes, strict=True):
        leaf = isinstance(place.node, Leaf)
        fill = colours[place.node.label] if isinstance(place.node, Leaf) else QUESTION
        corner = f"round,pad=0,rounding_size={LEAF_CORNER if leaf else QUESTION_CORNER}"
        edge = fill if leaf else MUTED
        ax.add_patch(
            FancyBboxPatch((x, y), across, NODE_HEIGHT, boxstyle=corner, facecolor=fill, edgecolor=edge, zorder=3)
        )
        middle = (x + across / 2, y + NODE_HEIGHT / 2)
        _Line(ax, *middle, caption(place.node), NODE_POINTS, ink_on(fill), zorder=4)
    ax.set_xlim(-MARGIN, picture.width + MARGIN)
    ax.set_ylim(picture.height + MARGIN, -MARGIN)  # y points down
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
