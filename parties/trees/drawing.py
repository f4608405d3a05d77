"""A tree as a picture: igraph places the nodes, matplotlib draws them, the text stays text in the SVG.

Small trees hang from their root; a tree too wide for a page grows from left to right instead, where a node
needs one line of height only, however long its name. All lengths are inches, y points down. Matplotlib and
igraph are imported when a picture is drawn: they would slow the start of every other command.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parties.pictures import INK, MUTED, PALETTE, PAPER, RULE, Measure, style, svg, text_measure
from parties.text import printable
from parties.trees.tree import Leaf, Node, Place, places, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUESTION = "#F1F4F8"
NODE_POINTS, VALUE_POINTS, TITLE_POINTS = 10.0, 8.5, 14.0
MARGIN = 0.35
NODE_HEIGHT = 0.30
PADDING = 0.13  # between a node's text and the sides of its box
GAP = 0.22  # between neighbours that hang side by side
LEVEL = 0.64  # below a node, room for the bar and the values of its branches
ROW_GAP = 0.07  # between neighbours that grow from left to right
STUB = 0.16  # from a node to the bar, from the bar to a value, from a value to the next node
SWATCH = 0.15
LEGEND_LINE = 0.27
PAGE_WIDTH = 11.0
LEGEND_WIDTH = 7.0  # wider only if the tree is
LONGEST = 100  # characters shown of a name

Point = tuple[float, float]
Line = list[Point]


@dataclass(frozen=True)
class _Picture:
    """Where everything of a tree goes: a box (left, top, width) a node, and a line and a value a branch."""

    boxes: list[tuple[float, float, float]]
    lines: list[Line]
    values: list[tuple[float, float, str]]  # centre
    width: float
    height: float


def draw_svg(tree: Node, target: str, title: str) -> str:
    """Draw a tree as an SVG document, as large as the tree needs, the same for the same tree.

    Leaves are coloured by class; a legend counts them. `title` stands above the tree and is the title of the
    document. Names of more than 100 characters are cut.
    """
    from matplotlib.figure import Figure

    found, measure = places(tree), text_measure()
    picture = arrange(found, measure)
    count = size(tree)
    splits, leaves = _count(count.nodes - count.leaves, "split"), _count(count.leaves, "leaf", "leaves")
    about = f"predicts {_shown(target)}: {splits}, {leaves}, depth {count.depth}"
    labels = Counter(place.node.label for place in found if isinstance(place.node, Leaf))
    # Colours are reused from the ninth class on; every leaf also says its class.
    colours = {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(sorted(labels))}
    legend = [(_shown(label) + f" ({labels[label]})", colours[label]) for label in colours]

    heading = max(measure(_shown(title), 1.1 * TITLE_POINTS), measure(about, VALUE_POINTS))  # bold is wider
    widest = sum(_legend_width(text, measure) for text, _ in legend)
    width = max(picture.width, heading, min(widest, LEGEND_WIDTH))
    with style():
        figure = Figure()
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        _write(axes, MARGIN, MARGIN + 0.10, _shown(title), TITLE_POINTS, weight="bold")
        _write(axes, MARGIN, MARGIN + 0.38, about, VALUE_POINTS, color=MUTED)
        top = _draw_legend(axes, legend, MARGIN + 0.70, width, measure) + 0.30
        _draw_tree(axes, found, picture, top, colours)
        bottom = top + picture.height + MARGIN
        figure.set_size_inches(2 * MARGIN + width, bottom)
        axes.set(xlim=(0, 2 * MARGIN + width), ylim=(bottom, 0))
        return svg(figure, Title=_shown(title), Description=about)


def arrange(found: Sequence[Place], measure: Measure) -> _Picture:
    """Place all nodes, hanging from the root if that fits the page, else growing from left to right.

    Reingold and Tilford's layout (1981) puts neighbours of one level at least one unit apart, parents
    centred over their children, and equal subtrees alike; a unit is then the room one node needs.
    """
    import igraph

    edges = [(place.parent, i) for i, place in enumerate(found) if place.parent is not None]
    layout = igraph.Graph(len(found), edges).layout_reingold_tilford(root=[0], mode="out")
    first = min(x for x, _ in layout)
    across = [x - first for x, _ in layout]
    widths = [measure(caption(place.node), NODE_POINTS) + 2 * PADDING for place in found]
    values = [0.0 if place.value is None else measure(_shown(place.value), VALUE_POINTS) for place in found]
    unit = max(*widths, *values, 0.0) + GAP
    if max(across) * unit + unit <= PAGE_WIDTH:
        return _hang(found, across, widths, unit)
    return _grow(found, across, widths, values)


def _hang(found: Sequence[Place], across: list[float], widths: list[float], unit: float) -> _Picture:
    """The root at the top, branches below."""
    centres = [(x + 0.5) * unit for x in across]
    tops = [place.depth * (NODE_HEIGHT + LEVEL) for place in found]
    lines: list[Line] = []
    for parent, below in _families(found):
        stem = (centres[parent], tops[parent] + NODE_HEIGHT)
        lines += _bracket(stem, stem[1] + STUB, [(centres[i], tops[i]) for i in below])
    values = [
        (x, y - (LEVEL - STUB) / 2, _shown(place.value))
        for place, x, y in zip(found, centres, tops, strict=True)
        if place.value is not None
    ]
    boxes = [(x - width / 2, y, width) for x, y, width in zip(centres, tops, widths, strict=True)]
    return _Picture(boxes, lines, values, (max(across) + 1) * unit, max(tops) + NODE_HEIGHT)


def _grow(found: Sequence[Place], across: list[float], widths: list[float], values: list[float]) -> _Picture:
    """The root at the left, branches to the right; each level as wide as its widest node and value."""
    node_room: dict[int, float] = defaultdict(float)
    value_room: dict[int, float] = defaultdict(float)
    for place, width, value in zip(found, widths, values, strict=True):
        node_room[place.depth] = max(node_room[place.depth], width)
        value_room[place.depth] = max(value_room[place.depth], value)
    lefts = [0.0]
    for depth in range(1, len(node_room)):
        lefts.append(lefts[-1] + node_room[depth - 1] + 3 * STUB + value_room[depth])
    tops = [x * (NODE_HEIGHT + ROW_GAP) for x in across]
    middles = [top + NODE_HEIGHT / 2 for top in tops]
    lines: list[Line] = []
    for parent, below in _families(found):
        depth = found[parent].depth
        left, start = lefts[depth + 1], lefts[depth] + widths[parent]
        bar = lefts[depth] + node_room[depth] + STUB
        bracket = _bracket((middles[parent], start), bar, [(middles[i], left) for i in below])
        lines += [[(x, y) for y, x in line] for line in bracket]
    texts = [
        (lefts[place.depth] - STUB - value_room[place.depth] / 2, y, _shown(place.value))
        for place, y in zip(found, middles, strict=True)
        if place.value is not None
    ]
    boxes = [(lefts[place.depth], y, width) for place, y, width in zip(found, tops, widths, strict=True)]
    width = max(left + width for left, _, width in boxes)
    return _Picture(boxes, lines, texts, width, max(tops) + NODE_HEIGHT)


def _families(found: Sequence[Place]) -> Iterable[tuple[int, list[int]]]:
    """Every split with its branches, as positions in `found`."""
    families: dict[int, list[int]] = defaultdict(list)
    for i, place in enumerate(found):
        if place.parent is not None:
            families[place.parent].append(i)
    return families.items()


def _bracket(stem: Point, bar: float, ends: list[Point]) -> list[Line]:
    """The lines from `stem` down to a level `bar` and from there down to all `ends`, none drawn twice."""
    first, *middle, last = ends if len(ends) > 1 else ends * 2
    outline = [first, (first[0], bar), (last[0], bar), last]
    return [[stem, (stem[0], bar)], outline, *[[(x, bar), (x, y)] for x, y in middle]]


def _draw_tree(axes: Axes, found: Sequence[Place], picture: _Picture, top: float, colours: dict[str, str]) -> None:
    """The branches, then the nodes over them."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import FancyBboxPatch

    lines = [[(MARGIN + x, top + y) for x, y in line] for line in picture.lines]
    axes.add_collection(LineCollection(lines, colors=RULE, linewidths=1.0, capstyle="round", zorder=1))
    for x, y, value in picture.values:
        paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}
        _write(axes, MARGIN + x, top + y, value, VALUE_POINTS, color=MUTED, ha="center", bbox=paper)
    for place, (x, y, width) in zip(found, picture.boxes, strict=True):
        leaf = isinstance(place.node, Leaf)
        style = "round,pad=0,rounding_size=" + ("0.15" if leaf else "0.05")
        fill = colours[place.node.label] if isinstance(place.node, Leaf) else QUESTION
        edge = fill if leaf else MUTED
        corner = (MARGIN + x, top + y)
        axes.add_patch(
            FancyBboxPatch(corner, width, NODE_HEIGHT, style, facecolor=fill, edgecolor=edge, lw=0.9, zorder=3)
        )
        centre = (corner[0] + width / 2, corner[1] + NODE_HEIGHT / 2)
        _write(axes, *centre, caption(place.node), NODE_POINTS, ha="center", color=ink_on(fill))


def _draw_legend(axes: Axes, legend: Sequence[tuple[str, str]], y: float, width: float, measure: Measure) -> float:
    """A swatch and a text a class, in lines of at most `width`; return where the last line ends."""
    from matplotlib.patches import FancyBboxPatch

    x = 0.0
    for text, colour in legend:
        room = _legend_width(text, measure)
        if x > 0 and x + room > width + GAP:
            x, y = 0.0, y + LEGEND_LINE
        corner = (MARGIN + x, y - SWATCH / 2)
        style = "round,pad=0,rounding_size=0.05"
        axes.add_patch(FancyBboxPatch(corner, SWATCH, SWATCH, boxstyle=style, facecolor=colour, edgecolor="none"))
        _write(axes, MARGIN + x + 1.6 * SWATCH, y, text, VALUE_POINTS)
        x += room
    return y + SWATCH / 2


def _legend_width(text: str, measure: Measure) -> float:
    """The room of one legend entry."""
    return 1.6 * SWATCH + measure(text, VALUE_POINTS) + GAP


def _write(axes: Axes, x: float, y: float, text: str, points: float, **style: Any) -> None:
    """One line of text, vertically centred; a dollar sign is a dollar sign."""
    options: dict[str, Any] = {"color": INK, "va": "center_baseline", "zorder": 4} | style
    axes.text(x, y, text, fontsize=points, parse_math=False, **options)


def _count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def caption(node: Node) -> str:
    """What stands in a node."""
    return _shown(node.label if isinstance(node, Leaf) else node.attribute)


def _shown(text: str) -> str:
    """A name as it is drawn: on one line, not endless."""
    line = printable(text)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def ink_on(fill: str) -> str:
    """The text colour that contrasts better with a fill (relative luminance, WCAG 2)."""
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(fill)]
    return INK if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.2 else PAPER
