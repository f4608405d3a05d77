from __future__ import annotations

import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from parties.base.pictures import text_measure
from parties.models.trees import drawing, layout, tree
from parties.models.trees.tree import Leaf, Node, Place, Split, places

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
    used = [svg.count(f'fill="{colour}"') for colour in drawing.PALETTE]
    assert used == [2 + 1, 1 + 1, 0, 0, 0, 0, 0, 0]  # leaves and swatch


def test_title_and_description_are_in_the_document() -> None:
    root = ET.fromstring(drawing.draw_svg(AWKWARD, "p & q", "Trees <of> $x$ & y"))
    assert root.findtext(f"{SVG}title") == "Trees <of> $x$ & y"
    assert root.findtext(f"{SVG}desc") == "predicts p & q: 2 splits, 3 leaves, depth 2"


def test_the_same_tree_is_the_same_picture() -> None:
    assert drawing.draw_svg(HUGE, "play", "t") == drawing.draw_svg(HUGE, "play", "t")


def test_endless_names_are_cut() -> None:
    svg = drawing.draw_svg(Split("a" * 5000, {"v": Leaf("x")}), "play", "t" * 5000)
    assert max(map(len, texts(svg))) == layout.LONGEST


@NAMED
def test_nothing_overlaps(tree: Node) -> None:
    """Boxes and branch values keep clear of each other, and the picture holds them all."""
    measure = text_measure()
    picture = layout.arrange(places(tree), measure)
    areas = [(x, y, x + w, y + layout.NODE_HEIGHT) for x, y, w in picture.boxes]
    for x, y, text in picture.values:
        half, high = measure(text, layout.VALUE_POINTS) / 2, layout.VALUE_POINTS / 72 / 2
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
    picture = layout.arrange(found, text_measure())
    steps = [step for line in picture.lines for step in pairwise(line)]
    assert all(abs(a[0] - b[0]) < 1e-9 or abs(a[1] - b[1]) < 1e-9 for a, b in steps)
    ends = {(round(x, 6), round(y, 6)) for line in picture.lines for x, y in (line[0], line[-1])}
    hangs = len({y for place, (_, y, _) in zip(found, picture.boxes, strict=True) if place.depth == 1}) <= 1
    for place, (x, y, width) in zip(found, picture.boxes, strict=True):
        if place.parent is not None:
            top, left = (x + width / 2, y), (x, y + layout.NODE_HEIGHT / 2)
            assert tuple(round(c, 6) for c in (top if hangs else left)) in ends


@NAMED
def test_the_layout_is_tidy(tree: Node) -> None:
    """Neighbours of a level keep a unit apart, in order; parents stand over the middle of their children."""
    found = places(tree)
    across = layout.tidy(found)
    assert min(across) == 0
    for depth in {place.depth for place in found}:
        level = [x for place, x in zip(found, across, strict=True) if place.depth == depth]
        assert all(b - a >= 1 - 1e-9 for a, b in pairwise(level))
    for i in range(len(found)):
        below = [x for place, x in zip(found, across, strict=True) if place.parent == i]
        if below:
            assert across[i] == pytest.approx((below[0] + below[-1]) / 2)


def test_subtrees_share_columns_where_they_can() -> None:
    deep = Split("b", {"1": Split("c", {"1": Leaf("x"), "2": Leaf("y"), "3": Leaf("z")}), "2": Leaf("x")})
    across = layout.tidy(places(Split("a", {"1": deep, "2": Leaf("x"), "3": Leaf("y")})))
    assert max(across) < 4  # five leaves, and no five columns


def test_small_trees_hang_and_wide_trees_grow_to_the_right() -> None:
    measure = text_measure()
    small = layout.arrange(places(TREES["small"]), measure)
    assert small.width <= layout.PAGE_WIDTH
    wide = layout.arrange(places(TREES["wide"]), measure)
    assert wide.height > 64 * layout.NODE_HEIGHT
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


def test_a_picture_needs_no_library_of_pictures() -> None:
    code = """import sys; from parties.models.trees import drawing; from parties.models.trees.tree import Leaf
drawing.draw_svg(Leaf("x"), "play", "t"); print({"matplotlib", "igraph", "plotly", "PIL"} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_node_says_the_way_to_it() -> None:
    root = ET.fromstring(drawing.draw_svg(Split("age", {"old": Split("sex", {"f": Leaf("yes")})}), "play", "t"))
    ways = [element.text for element in root.findall(f"{SVG}g/{SVG}title")]
    assert ways == ["→ age?", "age = old\n→ sex?", "age = old\nsex = f\n→ class yes"]


def test_a_long_way_is_cut_at_its_beginning() -> None:
    chain: Node = Leaf("end")
    for i in reversed(range(150)):
        chain = Split(f"q{i}", {"v": chain})
    root = ET.fromstring(drawing.draw_svg(chain, "play", "t"))
    lines = (root.findall(f"{SVG}g/{SVG}title")[-1].text or "").splitlines()
    assert lines[0] == "(138 questions before)"
    assert lines[-2:] == ["q149 = v", "→ class end"]
    assert len(lines) == drawing.PATH_SHOWN + 2


@NAMED
def test_the_picture_for_a_page_is_the_files_without_its_head(tree: Node) -> None:
    bare = ET.fromstring(drawing.draw_bare(tree))
    whole = ET.fromstring(drawing.draw_svg(tree, "play", "t"))
    assert len(bare.findall(f"{SVG}g")) == len(places(tree)) == len(whole.findall(f"{SVG}g")) - 1  # the head
    assert bare.find(f"{SVG}script") is None
    assert whole.findtext(f"{SVG}script") == drawing.script()
    assert "style" not in {name for element in bare.iter() for name in element.attrib}  # a page's policy forbids them


def test_letters_of_all_scripts_are_drawn() -> None:
    assert "短い" in drawing.draw_svg(AWKWARD, "play", "中文 🎾")


def test_names_with_what_xml_forbids_still_give_xml() -> None:
    tree = Split("a\uffff", {"v\ufffe": Leaf("\x00")})
    assert {"a\\uffff", "v\\ufffe", "\\x00"} <= set(texts(drawing.draw_svg(tree, "play", "t\x01")))
