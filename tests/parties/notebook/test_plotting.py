"""The tree on matplotlib's axes is the picture of its SVG, whatever the axes' size."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyBboxPatch

from parties.base.pictures import text_measure
from parties.models.trees.drawing import draw_svg, legend
from parties.models.trees.layout import NODE_HEIGHT, arrange
from parties.models.trees.tree import Leaf, Node, Split, places
from parties.notebook.plotting import plot

DEEP: Node = Split(
    "outlook",
    {"sunny": Split("a rather long question", {"high": Leaf("no"), "normal": Leaf("yes")}), "rain": Leaf("yes")},
)
WIDE: Node = Split("town", {f"number {i}": DEEP for i in range(12)})  # grows from left to right


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def boxes(axes: object) -> list[FancyBboxPatch]:
    return [one for one in axes.patches if isinstance(one, FancyBboxPatch)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("tree", [Leaf("yes"), DEEP, WIDE], ids=["leaf", "hangs", "grows"])
def test_the_layout_and_the_colours_are_those_of_the_svg(tree: Node) -> None:
    axes = plot(tree)
    picture = arrange(places(tree), text_measure())
    drawn = [(one.get_x(), one.get_y(), one.get_width()) for one in boxes(axes)]
    assert drawn == picture.boxes
    assert len(axes.texts) == len(picture.boxes) + len(picture.values)
    assert len(axes.lines) == len([line for line in picture.lines if line])
    for one in legend(tree):
        assert one.colour in draw_svg(tree, "play", "title")
        fill = to_rgba(one.colour)
        assert sum(box.get_facecolor() == fill for box in boxes(axes)) == one.leaves


@pytest.mark.parametrize("inches", [(3.0, 2.0), (12.0, 9.0)], ids=["small", "large"])
def test_every_text_fits_its_box_at_any_size(inches: tuple[float, float]) -> None:
    figure, (_, right) = pyplot.subplots(ncols=2, figsize=inches, layout="constrained")
    assert plot(DEEP, right) is right
    figure.canvas.draw()
    found = {text.get_text(): text.get_window_extent() for text in right.texts if text.get_zorder() == 4}
    for place, box in zip(places(DEEP), boxes(right), strict=True):
        text = found[place.node.label if isinstance(place.node, Leaf) else place.node.attribute]
        room = box.get_window_extent()
        assert text.width < room.width
        assert text.height < room.height
    question = found["a rather long question"]
    widest = max(boxes(right), key=lambda box: box.get_width()).get_window_extent()
    assert question.width > 0.6 * widest.width  # and it is not small in a large one
    assert widest.height == pytest.approx(NODE_HEIGHT / widest_width(DEEP) * widest.width, rel=0.05)


def widest_width(tree: Node) -> float:
    return max(width for _, _, width in arrange(places(tree), text_measure()).boxes)


def test_a_tree_too_large_to_read_is_drawn_without_complaint() -> None:
    figure, axes = pyplot.subplots(figsize=(0.4, 0.4))
    plot(WIDE, axes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()
    assert max(plot(Split("x", {str(i): WIDE for i in range(3)})).figure.get_size_inches()) == pytest.approx(24)
