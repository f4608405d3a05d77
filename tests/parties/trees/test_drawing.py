from __future__ import annotations

import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import matplotlib
import pytest

from parties.trees import drawing, tree
from parties.trees.tree import Leaf, Node, Place, Split, places

SVG = "{http://www.w3.org/2000/svg}"
VALUES = {f"attribute {i}": [f"value {j}" for j in range(2 + i % 3)] for i in range(7)}
LONG = 'eighty characters with & < > "quotes", $x^2$ and ünïcödé 中文 – and so on to the end'
AWKWARD = Split(LONG, {LONG: Leaf(LONG), "<b>": Split("$a$", {"&amp;": Leaf("a\nb"), "短い": Leaf("\x1b")})})


def grown(seed: int, depth: int) -> Node:
    """A random tree, the same for the same seed."""
    source = random.Random(seed)

    def grow(left: list[str], depth: int) -> Node:
        if depth == 0 or source.random() < 0.04 * (6 - depth):
            return Leaf(f"class {source.randrange(5)}")
        name = source.choice(left)
        return Split(name, {value: grow([a for a in left if a != name], depth - 1) for value in VALUES[name]})

    return grow(list(VALUES), depth)


HUGE = grown(2, 6)
TREES = {
    "leaf": Leaf("yes"),
    "chain": Split("a", {"only": Split("b", {"only": Leaf("yes")})}),
    "small": grown(2, 2),
    "medium": grown(5, 3),
    "huge": HUGE,
    "wide": Split("a", {f"v{i}": Leaf(f"class {i}") for i in range(64)}),
    "awkward": AWKWARD,
}
NAMED = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def shown(place: Place) -> list[str]:
    name = place.node.label if isinstance(place.node, Leaf) else place.node.attribute
    return [name] if place.value is None else [name, place.value]


def test_the_examples_are_what_their_names_say() -> None:
    size = tree.size(HUGE)
    assert size.leaves > 300
    assert size.depth == 6


@NAMED
def test_every_name_and_value_is_real_text(tree: Node) -> None:
    escaped = {"a\nb": "a\\nb", "\x1b": "\\x1b"}
    expected = sorted(escaped.get(text, text) for place in places(tree) for text in shown(place))
    found = texts(drawing.draw_svg(tree, "play", "A title"))
    classes = len({place.node.label for place in places(tree) if isinstance(place.node, Leaf)})
    assert sorted(found[2 + classes :]) == expected  # after title, subtitle and legend
    assert found[0] == "A title"


def test_the_legend_counts_the_leaves_of_each_class() -> None:
    tree = Split("a", {"1": Leaf("no"), "2": Leaf("yes"), "3": Leaf("no")})
    found = texts(drawing.draw_svg(tree, "play", "A title"))
    assert found[1] == "predicts play: 1 split, 3 leaves, depth 1"
    assert found[2:4] == ["no (2)", "yes (1)"]


def test_leaves_of_a_class_share_its_colour() -> None:
    svg = drawing.draw_svg(Split("a", {"1": Leaf("no"), "2": Leaf("yes"), "3": Leaf("no")}), "play", "A title")
    used = [svg.lower().count(f"fill: {colour.lower()}") for colour in drawing.PALETTE]
    assert used == [2 + 1, 1 + 1, 0, 0, 0, 0, 0, 0]  # leaves and swatch


def test_title_and_description_are_in_the_document() -> None:
    root = ET.fromstring(drawing.draw_svg(AWKWARD, "p & q", "Trees <of> $x$ & y"))
    assert [element.text for element in root.iter(f"{SVG}title")] == ["Trees <of> $x$ & y"]
    (description,) = [element.text for element in root.iter("{http://purl.org/dc/elements/1.1/}description")]
    assert description == "predicts p & q: 2 splits, 3 leaves, depth 2"


def test_the_same_tree_is_the_same_picture() -> None:
    assert drawing.draw_svg(HUGE, "play", "t") == drawing.draw_svg(HUGE, "play", "t")


def test_endless_names_are_cut() -> None:
    svg = drawing.draw_svg(Split("a" * 5000, {"v": Leaf("x")}), "play", "t" * 5000)
    assert max(map(len, texts(svg))) == drawing.LONGEST


@NAMED
def test_nothing_overlaps(tree: Node) -> None:
    """Boxes and branch values keep clear of each other, and the picture holds them all."""
    measure = drawing.text_measure()
    picture = drawing.arrange(places(tree), measure)
    areas = [(x, y, x + w, y + drawing.NODE_HEIGHT) for x, y, w in picture.boxes]
    for x, y, text in picture.values:
        half, high = measure(text, drawing.VALUE_POINTS) / 2, drawing.VALUE_POINTS / 72 / 2
        areas.append((x - half, y - high, x + half, y + high))
    areas.sort()
    for i, (_, top, right, bottom) in enumerate(areas):
        for left2, top2, _, bottom2 in areas[i + 1 :]:
            if left2 >= right:
                break
            assert bottom2 <= top or top2 >= bottom
    edge = 1e-9
    assert min(left for left, *_ in areas) >= -edge
    assert min(top for _, top, *_ in areas) >= -edge
    assert max(right for *_, right, _ in areas) <= picture.width + edge
    assert max(bottom for *_, bottom in areas) <= picture.height + edge


@NAMED
def test_lines_join_parents_and_children(tree: Node) -> None:
    """The lines run along the axes, and one ends at every branch's node."""
    found = places(tree)
    picture = drawing.arrange(found, drawing.text_measure())
    steps = [step for line in picture.lines for step in pairwise(line)]
    assert all(abs(a[0] - b[0]) < 1e-9 or abs(a[1] - b[1]) < 1e-9 for a, b in steps)
    ends = {(round(x, 6), round(y, 6)) for line in picture.lines for x, y in (line[0], line[-1])}
    hangs = len({y for place, (_, y, _) in zip(found, picture.boxes, strict=True) if place.depth == 1}) <= 1
    for place, (x, y, width) in zip(found, picture.boxes, strict=True):
        if place.parent is not None:
            top, left = (x + width / 2, y), (x, y + drawing.NODE_HEIGHT / 2)
            assert tuple(round(c, 6) for c in (top if hangs else left)) in ends


def test_small_trees_hang_and_wide_trees_grow_to_the_right() -> None:
    measure = drawing.text_measure()
    small = drawing.arrange(places(TREES["small"]), measure)
    assert small.width <= drawing.PAGE_WIDTH
    wide = drawing.arrange(places(TREES["wide"]), measure)
    assert wide.height > 64 * drawing.NODE_HEIGHT
    assert wide.width < 3


def test_every_text_contrasts_with_its_box() -> None:
    """WCAG 2 asks for a contrast of 4.5 : 1."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for fill in (*drawing.PALETTE, drawing.QUESTION):
        dark, light = sorted((luminance(fill), luminance(drawing.ink_on(fill))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, fill


def test_libraries_for_pictures_are_loaded_for_pictures_only() -> None:
    code = "import sys, parties.trees.drawing; print({'matplotlib', 'igraph'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.filterwarnings("error")
def test_letters_the_font_lacks_raise_no_warnings() -> None:
    assert "短い" in drawing.draw_svg(AWKWARD, "play", "中文 🎾")


def test_names_with_what_xml_forbids_still_give_xml() -> None:
    tree = Split("a\uffff", {"v\ufffe": Leaf("\x00")})
    assert {"a\\uffff", "v\\ufffe", "\\x00"} <= set(texts(drawing.draw_svg(tree, "play", "t\x01")))


def test_the_users_own_matplotlib_settings_do_not_matter_and_stay() -> None:
    tree = TREES["small"]
    plain = drawing.draw_svg(tree, "play", "t")
    own = {"text.usetex": True, "savefig.bbox": "tight", "figure.facecolor": "red", "path.sketch": (1, 100, 2)}
    with matplotlib.rc_context(own):
        assert drawing.draw_svg(tree, "play", "t") == plain
        assert matplotlib.rcParams["text.usetex"] is True
