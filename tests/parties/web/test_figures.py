"""The figures of a page: trees and costs as plotly draws them; nobody's text is taken for markup."""

from __future__ import annotations

import html
import json
import re

import pytest

from parties.trees.tree import Leaf, Node, Split, places, size
from parties.web import figures
from tests.support.fake_node import cost, tree, wide_tree
from tests.support.hostile import HOSTILE, named


@pytest.mark.parametrize("text", HOSTILE[:5])
def test_figures_have_no_markup_of_others(text: str) -> None:
    shown = figures.plain(text)
    assert not re.search(r"[<>$%{}\"']", shown)
    assert html.unescape(shown) == text
    tree = named(text) if "\n" not in text else named("x")
    texts = [t for trace in figures.tree(tree)["data"] for key in ("text", "hovertext") for t in trace.get(key, [])]
    for one in texts:
        assert not set(re.findall("<[^>]*>", one)) - {"<br>"}
    phases = {**cost()["phases"], text: cost()["total"]}
    bars = figures.costs({**cost(), "phases": phases}, "bytes")
    assert all("<" not in name for trace in bars["data"] for name in trace["y"])


def test_figures_are_what_plotly_takes() -> None:
    plotly = pytest.importorskip("plotly.graph_objects")
    for figure in (figures.tree(tree()), figures.costs(cost(), "bytes"), figures.costs(cost(), "seconds")):
        fields = json.loads(json.dumps(figure))
        data = [{**trace, "textfont": {}} for trace in fields["data"]]  # our script fills in colours left empty
        plotly.Figure(data=data, layout=fields["layout"])


def test_a_tree_is_drawn_as_the_layout_places_it() -> None:
    figure = figures.tree(tree())
    nodes = figure["data"][-1]
    found = places(tree())
    assert len(nodes["x"]) == len(nodes["hovertext"]) == len(found)
    assert nodes["hovertext"][0] == "→ age?"
    deep = next(i for i, place in enumerate(found) if place.depth == 4)
    assert nodes["hovertext"][deep].split("<br>") == [
        "age = 40 to 60", "sex = female", "blood_pressure = normal", "smoker = no", "→ class no"
    ]  # fmt: skip
    assert all(0 <= x <= figure["width"] for x in nodes["x"])
    assert all(0 <= y <= figure["height"] for y in nodes["y"])
    depths = {place.depth: y for place, y in zip(found, nodes["y"], strict=True)}
    assert [y for _, y in sorted(depths.items())] == sorted(depths.values())  # a level below the other


@pytest.mark.parametrize("root", [Leaf("yes"), Split("a", {"only": Leaf("yes")}), wide_tree(4, 4)])
def test_trees_of_all_shapes_are_drawn(root: Node) -> None:
    figure = figures.tree(root)
    assert len(figure["data"][-1]["x"]) == size(root).nodes
    assert figure["width"] > 0


def test_a_deep_path_is_cut_at_its_beginning() -> None:
    root: Node = Leaf("end")
    for i in reversed(range(150)):
        root = Split(f"q{i}", {"v": root})
    lines = figures.tree(root)["data"][-1]["hovertext"][-1].split("<br>")
    assert lines[0] == "(138 questions before)"
    assert lines[-2:] == ["q149 = v", "→ class end"]
    assert len(lines) == figures.PATH_SHOWN + 2


def test_bars_add_up_to_the_total() -> None:
    bars = figures.costs(cost(), "bytes")["data"]
    assert [trace["name"] for trace in bars] == ["sent", "received"]
    assert bars[0]["y"] == ["base ot", "level 0", "level 1", "level 2", "level 3", "other"]
    assert sum(bars[0]["x"]) == cost()["total"]["bytes_sent"]
    assert sum(bars[1]["x"]) == cost()["total"]["bytes_received"]
    seconds = figures.costs(cost(), "seconds")["data"]
    assert sum(seconds[0]["x"]) == pytest.approx(cost()["total"]["seconds"])
    assert figures.costs({"total": cost()["total"], "phases": {}}, "seconds")["data"][0]["y"] == ["other"]
