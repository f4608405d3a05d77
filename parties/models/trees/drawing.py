"""A tree as an SVG document for pages, files and notebooks: text stays text, and viewers can move and zoom it.

Every node has its path as title, which viewers show beside the pointer. A viewer that runs scripts can explore the
picture (explore.js: by pointer, wheel, fingers and keys); others show all of it. Colours are attributes, so that a
page's style sheet may replace them by the classes of the elements.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from parties.base.pictures import INK, MUTED, PALETTE, PAPER, RULE, Measure, text_measure
from parties.models.trees.layout import GAP, NODE_HEIGHT, NODE_POINTS, VALUE_POINTS, Picture, arrange, caption, shown
from parties.models.trees.tree import Leaf, Node, Place, Split, places, size

QUESTION = "#F1F4F8"
LEAF_CORNER, QUESTION_CORNER = 0.15, 0.05  # inches: radius of a box's corners
TITLE_POINTS = 14.0
INCH = 96  # SVG units
POINT = INCH / 72
MARGIN = 0.35
SWATCH = 0.15
LEGEND_LINE = 0.27
LEGEND_WIDTH = 7.0  # wider only if the tree is
PATH_SHOWN = 12  # questions of a path in a node's title
FONT = "'DejaVu Sans', Verdana, sans-serif"  # font that the layout measures


@dataclass(frozen=True)
class Class:
    """A class of a tree's leaves: its colour, and its number of leaves."""

    label: str
    colour: str
    leaves: int


def legend(tree: Node) -> list[Class]:
    """Return the classes of a tree by name. Colours repeat from the ninth class on; every leaf also shows its class."""
    counts = Counter(place.node.label for place in places(tree) if isinstance(place.node, Leaf))
    return [Class(label, PALETTE[i % len(PALETTE)], counts[label]) for i, label in enumerate(sorted(counts))]


def draw_svg(tree: Node, target: str, title: str) -> str:
    """Return a tree as an SVG document as large as the tree needs; equal trees give equal documents.

    Leaves are coloured by class; a legend counts them. Names of more than 100 characters are shortened.

    Args:
        tree: The tree.
        target: Name of the target.
        title: Heading above the tree, and title of the document.
    """
    nodes, classes, measure, count = places(tree), legend(tree), text_measure(), size(tree)
    picture = arrange(nodes, measure)
    splits, leaves = _count(count.nodes - count.leaves, "split"), _count(count.leaves, "leaf", "leaves")
    about = f"predicts {shown(target)}: {splits}, {leaves}, depth {count.depth}"
    entries = [(f"{shown(entry.label)} ({entry.leaves})", entry.colour) for entry in classes]
    heading = max(measure(shown(title), 1.1 * TITLE_POINTS), measure(about, VALUE_POINTS))  # bold text is wider
    widest = sum(_legend_width(text, measure) for text, _ in entries)
    width = max(picture.width, heading, min(widest, LEGEND_WIDTH))

    head = ET.Element("g")
    _write(head, "heading", MARGIN, MARGIN + 0.10, shown(title), TITLE_POINTS, anchor="start", weight="bold")
    _write(head, "about", MARGIN, MARGIN + 0.38, about, VALUE_POINTS, fill=MUTED, anchor="start")
    top = _draw_legend(head, entries, MARGIN + 0.70, width, measure) + 0.30
    root = _document(2 * MARGIN + width, top + picture.height + MARGIN, shown(title), about)
    root.append(head)
    _draw_tree(root, nodes, picture, (MARGIN, top), classes)
    ET.SubElement(root, "script").text = script()
    return ET.tostring(root, encoding="unicode")


def draw_bare(tree: Node) -> str:
    """Return the SVG of the tree alone, for a page that has the heading, the legend and the script."""
    nodes = places(tree)
    picture = arrange(nodes, text_measure())
    root = _document(2 * MARGIN + picture.width, 2 * MARGIN + picture.height, "", "")
    _draw_tree(root, nodes, picture, (MARGIN, MARGIN), legend(tree))
    return ET.tostring(root, encoding="unicode")


def script() -> str:
    """Return the script that makes the picture explorable."""
    return (files("parties.models.trees") / "explore.js").read_text("utf-8")


def _document(width: float, height: float, title: str, about: str) -> ET.Element:
    across, down = _units(width), _units(height)
    box = {"viewBox": f"0 0 {across} {down}", "width": across, "height": down}
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "tree-picture", **box})
    root.set("font-family", FONT)
    if title:
        ET.SubElement(root, "title").text = title
        ET.SubElement(root, "desc").text = about
        ET.SubElement(root, "rect", {"class": "paper", "width": across, "height": down, "fill": PAPER})
    return root


def _draw_tree(
    root: ET.Element, nodes: Sequence[Place], picture: Picture, corner: tuple[float, float], classes: Sequence[Class]
) -> None:
    left, top = corner
    colours = {entry.label: entry.colour for entry in classes}
    steps = ["M" + "L".join(f"{_units(left + x)} {_units(top + y)}" for x, y in line) for line in picture.lines if line]
    path = {"class": "branch", "d": "".join(steps), "fill": "none", "stroke": RULE, "stroke-width": "1.3"}
    if steps:
        ET.SubElement(root, "path", path)
    for x, y, value in picture.values:
        _write(root, "value", left + x, top + y, value, VALUE_POINTS, fill=MUTED, halo=True)
    for place, way, (x, y, width) in zip(nodes, _ways(nodes), picture.boxes, strict=True):
        leaf = isinstance(place.node, Leaf)
        fill = colours[place.node.label] if isinstance(place.node, Leaf) else QUESTION
        node = ET.SubElement(root, "g", {"class": "leaf" if leaf else "question"})
        ET.SubElement(node, "title").text = way
        box = dict(
            zip(("x", "y", "width", "height"), map(_units, (left + x, top + y, width, NODE_HEIGHT)), strict=True)
        )
        look = {"rx": _units(LEAF_CORNER if leaf else QUESTION_CORNER), "fill": fill, "stroke": fill if leaf else MUTED}
        ET.SubElement(node, "rect", {**box, **look})
        middle = (left + x + width / 2, top + y + NODE_HEIGHT / 2)
        _write(node, "caption", *middle, caption(place.node), NODE_POINTS, fill=ink_on(fill))


def _ways(nodes: Sequence[Place]) -> list[str]:
    """Return a text for every node: a line for each question and answer on its path, and a line for the node itself."""
    steps: list[tuple[str, ...]] = []
    texts = []
    for place in nodes:
        way: tuple[str, ...] = ()
        if place.parent is not None:
            above = nodes[place.parent].node
            assert isinstance(above, Split)
            step = replace(above, attribute=shown(above.attribute)).statement(shown(place.value or ""))
            way = (*steps[place.parent], step)[-PATH_SHOWN:]
        steps.append(way)
        left_out = [f"({place.depth - PATH_SHOWN} questions before)"] if place.depth > PATH_SHOWN else []
        content = f"→ class {shown(place.node.words)}" if isinstance(place.node, Leaf) else f"→ {caption(place.node)}?"
        texts.append("\n".join([*left_out, *way, content]))
    return texts


def _draw_legend(
    root: ET.Element, entries: Sequence[tuple[str, str]], y: float, width: float, measure: Measure
) -> float:
    """Draw a swatch and a text for each entry, a text with its colour, in lines of at most `width`.

    `y` is the centre of the first line; return the lower end of the last.
    """
    x = 0.0
    for text, colour in entries:
        room = _legend_width(text, measure)
        if x > 0 and x + room > width + GAP:
            x, y = 0.0, y + LEGEND_LINE
        place = {"x": _units(MARGIN + x), "y": _units(y - SWATCH / 2), "rx": _units(0.05), "fill": colour}
        ET.SubElement(root, "rect", {**place, "width": _units(SWATCH), "height": _units(SWATCH)})
        _write(root, "entry", MARGIN + x + 1.6 * SWATCH, y, text, VALUE_POINTS, anchor="start")
        x += room
    return y + SWATCH / 2


def _legend_width(text: str, measure: Measure) -> float:
    return 1.6 * SWATCH + measure(text, VALUE_POINTS) + GAP


def _write(
    root: ET.Element,
    role: str,
    x: float,
    y: float,
    text: str,
    points: float,
    fill: str = INK,
    anchor: str = "middle",
    weight: str = "",
    halo: bool = False,
) -> None:
    """Write one line of text, its middle at height `y`; `x` is its start, middle or end, as `anchor` says.

    `role` is the class of the SVG element; `halo` separates the text from a line behind it.
    """
    baseline = y + 0.36 * points / 72  # half the height of a capital letter
    place = {"class": role, "x": _units(x), "y": _units(baseline), "font-size": f"{points * POINT:.4g}", "fill": fill}
    look = {"text-anchor": anchor} | ({"font-weight": weight} if weight else {})
    if halo:
        look |= {"stroke": PAPER, "stroke-width": "4", "paint-order": "stroke", "stroke-linejoin": "round"}
    ET.SubElement(root, "text", {**place, **look}).text = text


def _units(inches: float) -> str:
    return f"{inches * INCH:.2f}".rstrip("0").rstrip(".")


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def ink_on(fill: str) -> str:
    """Return the text colour with the better contrast to a fill (relative luminance, WCAG 2)."""
    parts = [int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return INK if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.2 else PAPER
