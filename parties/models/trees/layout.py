"""Layout of a tree: positions of nodes with room for their text.

Small trees hang from their root. A tree too wide for a page grows from left to right instead, where a node needs one
line of height only, however long its name is. If there are more lines than fit on a screen, a question stands in the
line of its first answer, so that related nodes are near the upper left corner. All lengths are inches, y points down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parties.base.pictures import Measure
from parties.base.text import printable
from parties.models.trees.tree import Leaf, Node, Place

NODE_POINTS, VALUE_POINTS = 10.0, 8.5
NODE_HEIGHT = 0.30
PADDING = 0.13  # between a node's text and the sides of its box
GAP = 0.22  # between neighbours that hang side by side
LEVEL = 0.64  # below a node: room for the bar and the values of its branches
ROW_GAP = 0.07  # between neighbours that grow from left to right
STUB = 0.16  # from a node to the bar, from the bar to a value, from a value to the next node
PAGE_WIDTH = 11.0
PAGE_LINES = 60  # lines of a tree that grows from left to right
LONGEST = 100  # characters shown of a name

Point = tuple[float, float]
Line = list[Point]


@dataclass(frozen=True)
class Picture:
    """Layout of a tree: a box (left, top, width) for each node, a line and a value for each branch."""

    boxes: list[tuple[float, float, float]]
    lines: list[Line]
    values: list[tuple[float, float, str]]  # at their centres
    width: float
    height: float


def arrange(nodes: Sequence[Place], measure: Measure) -> Picture:
    """Return the positions of the tree's nodes in a drawing: top-down if the tree fits the page, else left to right.

    Args:
        nodes: The nodes with their texts.
        measure: Function from a text and its size in points to its width in inches.
    """
    across = tidy(nodes)
    widths = [measure(caption(place.node), NODE_POINTS) + 2 * PADDING for place in nodes]
    values = [0.0 if place.value is None else measure(shown(place.value), VALUE_POINTS) for place in nodes]
    unit = max(*widths, *values, 0.0) + GAP
    if max(across) * unit + unit <= PAGE_WIDTH:
        return _hang(nodes, across, widths, unit)
    return _grow(nodes, across if max(across) < PAGE_LINES else listed(nodes), widths, values)


def listed(nodes: Sequence[Place]) -> list[float]:
    """Return the line number of each node in a list of the leaves: a question is on the line of its first leaf."""
    lines, leaves = [], 0
    for place in nodes:
        lines.append(float(leaves))
        leaves += isinstance(place.node, Leaf)
    return lines


def tidy(nodes: Sequence[Place]) -> list[float]:
    """Return the horizontal positions of Reingold and Tilford's layout (1981), the leftmost at 0.

    Neighbours of one level are at least one unit apart, parents are centred over their children, and equal subtrees
    have equal layouts. A unit is the room that one node needs.
    """
    below = dict(_families(nodes))
    beside_parent = [0.0] * len(nodes)
    edges: dict[int, tuple[list[float], list[float]]] = {}  # left and right contour of a subtree, by level
    for node in reversed(range(len(nodes))):
        children, moves = below.get(node, []), []
        lefts: list[float] = []
        rights: list[float] = []
        for child in children:
            left, right = edges.pop(child)
            move = max((r - l_ for r, l_ in zip(rights, left, strict=False)), default=-1.0) + 1
            lefts += [x + move for x in left[len(lefts) :]]
            rights = [x + move for x in right] + rights[len(right) :]
            moves.append(move)
        centre = (moves[0] + moves[-1]) / 2 if moves else 0.0
        for child, move in zip(children, moves, strict=True):
            beside_parent[child] = move - centre
        edges[node] = ([0.0, *(x - centre for x in lefts)], [0.0, *(x - centre for x in rights)])
    across: list[float] = []
    for place, beside in zip(nodes, beside_parent, strict=True):
        across.append(beside if place.parent is None else across[place.parent] + beside)
    first = min(across)
    return [x - first for x in across]


def _hang(nodes: Sequence[Place], across: list[float], widths: list[float], unit: float) -> Picture:
    """Return the layout with the root at the top, branches below.

    `across` has each node's place from left to right, in steps of `unit` inches; `widths` are those of its boxes.
    """
    centres = [(x + 0.5) * unit for x in across]
    tops = [place.depth * (NODE_HEIGHT + LEVEL) for place in nodes]
    lines: list[Line] = []
    for parent, below in _families(nodes):
        stem = (centres[parent], tops[parent] + NODE_HEIGHT)
        lines += _bracket(stem, stem[1] + STUB, [(centres[i], tops[i]) for i in below])
    values = [
        (x, y - (LEVEL - STUB) / 2, shown(place.value))
        for place, x, y in zip(nodes, centres, tops, strict=True)
        if place.value is not None
    ]
    boxes = [(x - width / 2, y, width) for x, y, width in zip(centres, tops, widths, strict=True)]
    return Picture(boxes, lines, values, (max(across) + 1) * unit, max(tops) + NODE_HEIGHT)


def _grow(nodes: Sequence[Place], across: list[float], widths: list[float], values: list[float]) -> Picture:
    """Return the layout with the root at the left; each level is as wide as its widest node and value.

    `across` has the line of each node from the top; `widths` are those of the boxes, `values` of the values' texts.
    """
    node_room: dict[int, float] = defaultdict(float)
    value_room: dict[int, float] = defaultdict(float)
    for place, width, value in zip(nodes, widths, values, strict=True):
        node_room[place.depth] = max(node_room[place.depth], width)
        value_room[place.depth] = max(value_room[place.depth], value)
    lefts = [0.0]
    for depth in range(1, len(node_room)):
        lefts.append(lefts[-1] + node_room[depth - 1] + 3 * STUB + value_room[depth])
    tops = [x * (NODE_HEIGHT + ROW_GAP) for x in across]
    middles = [top + NODE_HEIGHT / 2 for top in tops]
    lines: list[Line] = []
    for parent, below in _families(nodes):
        depth = nodes[parent].depth
        left, start = lefts[depth + 1], lefts[depth] + widths[parent]
        bar = lefts[depth] + node_room[depth] + STUB
        bracket = _bracket((middles[parent], start), bar, [(middles[i], left) for i in below])
        lines += [[(x, y) for y, x in line] for line in bracket]
    texts = [
        (lefts[place.depth] - STUB - value_room[place.depth] / 2, y, shown(place.value))
        for place, y in zip(nodes, middles, strict=True)
        if place.value is not None
    ]
    boxes = [(lefts[place.depth], y, width) for place, y, width in zip(nodes, tops, widths, strict=True)]
    width = max(left + width for left, _, width in boxes)
    return Picture(boxes, lines, texts, width, max(tops) + NODE_HEIGHT)


def _families(nodes: Sequence[Place]) -> Iterable[tuple[int, list[int]]]:
    """Return every split with its branches, as indices in `nodes`."""
    families: dict[int, list[int]] = defaultdict(list)
    for i, place in enumerate(nodes):
        if place.parent is not None:
            families[place.parent].append(i)
    return families.items()


def _bracket(stem: Point, bar: float, ends: list[Point]) -> list[Line]:
    first, *middle, last = ends if len(ends) > 1 else ends * 2
    outline = [first, (first[0], bar), (last[0], bar), last]
    return [[stem, (stem[0], bar)], outline, *[[(x, bar), (x, y)] for x, y in middle]]


def caption(node: Node) -> str:
    """Return the text of a node."""
    return shown(node.label if isinstance(node, Leaf) else node.attribute)


def shown(text: str) -> str:
    """Return a name as it is drawn: on one line, and shortened."""
    line = printable(text)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
