"""What the page draws with plotly: a tree to explore, and what the phases of a run have cost.

A figure is a plain JSON object: plotly's `data` and `layout`, and what our script needs besides. Colours that must suit
a light and a dark page are left to the script: a trace says in `meta` what part of the picture it is.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from parties.console import size as bytes_shown
from parties.operator.budget import TableBudget
from parties.pictures import PALETTE, text_measure
from parties.trees.drawing import (
    NODE_HEIGHT,
    NODE_POINTS,
    VALUE_POINTS,
    arrange,
    caption,
    ink_on,
)
from parties.trees.tree import Leaf, Node, Place, Split, places
from parties.web.words import duration, shown

Figure = dict[str, Any]
Point = tuple[float, float]

LARGEST = 1500  # nodes that a browser draws and moves smoothly
CORNER = 0.09  # inches cut off the corners of a leaf, which tells it from a question
PATH_SHOWN = 12  # splits of a path while the pointer is on a node
LINE_SHOWN = 48  # characters of each
SENT, RECEIVED, SECONDS = PALETTE[6], PALETTE[0], PALETTE[2]
SPENT, BOUND = PALETTE[6], PALETTE[1]
BAR = 26  # pixels a bar, with the gap to the next
drawing = threading.Lock()  # matplotlib, which measures the texts, is for one thread at a time


def plain(text: str) -> str:
    """A text as plotly shows exactly it: no tag, entity, formula or template is left in it."""
    return "".join(f"&#{ord(c)};" if c in "&<>$%{}\"'" else c for c in text)


def legend(tree: Node) -> list[tuple[str, str, int]]:
    """The classes of a tree: (class, colour, leaves), as in the drawing of `parties.trees.drawing`."""
    counts = Counter(place.node.label for place in places(tree) if isinstance(place.node, Leaf))
    return [(label, PALETTE[i % len(PALETTE)], counts[label]) for i, label in enumerate(sorted(counts))]


def tree(root: Node) -> Figure:
    """A tree as the layout of `parties.trees.drawing` places it: one unit is an inch, y points down.

    Beside plotly's keys: `width` and `height` in inches, `start` the middle of the root, `points` of the texts by what
    they are.
    """
    with drawing:
        return _tree(root)


def _tree(root: Node) -> Figure:
    found, measure = places(root), text_measure()
    picture = arrange(found, measure)
    colours = {label: colour for label, colour, _ in legend(root)}
    centres = [(left + width / 2, top + NODE_HEIGHT / 2) for left, top, width in picture.boxes]
    fills = [colours[place.node.label] if isinstance(place.node, Leaf) else None for place in found]

    def outlines(fill: str | None) -> list[list[Point]]:
        boxes = zip(picture.boxes, fills, strict=True)
        return [_box(*box, CORNER if fill else 0.0) for box, other in boxes if other == fill]

    papers = [_paper(x, y, measure(text, VALUE_POINTS)) for x, y, text in picture.values]
    data: list[Figure] = [
        {"meta": "branch", "mode": "lines", **_path(picture.lines), "line": {"width": 1.2}},
        {"meta": "paper", **_area(papers)},
        {
            "meta": "value",
            "mode": "text",
            "x": [x for x, _, _ in picture.values],
            "y": [y for _, y, _ in picture.values],
            "text": [plain(shown(text)) for _, _, text in picture.values],
        },
        {"meta": "question", **_area(outlines(None))},
        *[
            {"meta": "class", **_area(outlines(colour)), "fillcolor": colour}
            for colour in dict.fromkeys(colours.values())
        ],
        {
            "meta": "name",
            "mode": "text",
            "x": [x for x, _ in centres],
            "y": [y for _, y in centres],
            "text": [plain(shown(caption(place.node))) for place in found],
            "textfont": {"color": [ink_on(fill) if fill else "" for fill in fills]},
        },
    ]
    data = [{"type": "scatter", "hoverinfo": "skip", "showlegend": False, **trace} for trace in data]
    data.append(
        {
            "type": "scatter",
            "meta": "node",
            "mode": "markers",
            "x": [x for x, _ in centres],
            "y": [y for _, y in centres],
            "marker": {"opacity": 0, "size": 24},
            "hoverinfo": "text",
            "hovertext": _hover_texts(found),
            "showlegend": False,
        }
    )
    axis = {"visible": False}
    layout = {
        "xaxis": axis,
        "yaxis": {**axis, "scaleanchor": "x"},
        "margin": dict.fromkeys("lrtb", 0),
        "dragmode": "pan",
        "hovermode": "closest",
        "hoverdistance": 60,
    }
    points = {"name": NODE_POINTS, "value": VALUE_POINTS}
    size = {"width": picture.width, "height": picture.height, "start": centres[0], "points": points}
    return {"data": data, "layout": layout, **size}


def costs(report: Mapping[str, Any], unit: str) -> Figure:
    """A bar for each outermost phase of a cost report: bytes each way if `unit` is `bytes`, or seconds.

    Beside plotly's keys: `pixels`, the height.
    """
    phases = _outermost(report)
    names = [plain(shown(name, 40)) for name in phases]
    kinds = [("seconds", "seconds", SECONDS)]
    if unit == "bytes":
        kinds = [("bytes_sent", "sent", SENT), ("bytes_received", "received", RECEIVED)]
    data = []
    for key, what, colour in kinds:
        amounts = [phase[key] for phase in phases.values()]
        texts = [bytes_shown(amount) if unit == "bytes" else duration(amount) for amount in amounts]
        said = f" {what}" if unit == "bytes" else ""
        hover = [f"{name}<br>{text}{said}" for name, text in zip(names, texts, strict=True)]
        bars = {"x": amounts, "y": names, "hovertext": hover, "hoverinfo": "text", "marker": {"color": colour}}
        data.append({"type": "bar", "orientation": "h", "name": what, **bars})
    axis = {"automargin": True, "fixedrange": True}
    suffix = {"tickformat": "~s", "ticksuffix": "B"} if unit == "bytes" else {"ticksuffix": " s"}
    layout = {
        "barmode": "stack",
        "bargap": 0.3,
        "xaxis": {**axis, "rangemode": "tozero", "nticks": 6, **suffix},
        "yaxis": {**axis, "autorange": "reversed", "type": "category"},
        "margin": {"l": 8, "r": 16, "t": 34, "b": 8},
        "showlegend": unit == "bytes",
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        "hovermode": "closest",
        "dragmode": False,
    }
    return {"data": data, "layout": layout, "pixels": 80 + BAR * max(len(names), 2)}


def budget(found: TableBudget, now: datetime) -> Figure:
    """What was spent of a table over time, as steps, under its budget if it has one; `pixels` is the height."""
    at = [moment for moment, _ in found.history]
    spent = [amount for _, amount in found.history]
    if at:
        at, spent = [at[0], *at, now.isoformat(timespec="seconds")], [0.0, *spent, spent[-1]]
    points = zip(at, spent, strict=True)
    hover = [f"{plain(moment[:16].replace('T', ' '))} UTC<br>spent {amount:.4g}" for moment, amount in points]
    steps: Figure = {"x": at, "y": spent, "hovertext": hover, "fill": "tozeroy"}
    data: list[Figure] = [{"name": "spent", **steps, "line": {"color": SPENT, "width": 2, "shape": "hv"}}]
    if found.budget is not None and at:
        bound: Figure = {"x": [at[0], at[-1]], "y": [found.budget] * 2, "hovertext": f"budget {found.budget:.4g}"}
        data.append({"name": "budget", **bound, "line": {"color": BOUND, "width": 2, "dash": "dash"}})
    data = [{"type": "scatter", "mode": "lines", "hoverinfo": "text", **trace} for trace in data]
    axis = {"automargin": True, "fixedrange": True}
    layout = {
        "xaxis": {**axis, "type": "date", "nticks": 4},
        "yaxis": {**axis, "rangemode": "tozero", "nticks": 5, "title": {"text": "epsilon"}},
        "margin": {"l": 8, "r": 16, "t": 34, "b": 8},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "hovermode": "closest",
        "dragmode": False,
    }
    return {"data": data, "layout": layout, "pixels": 240}


def _outermost(report: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """The phases that are in no other one, and what is in none of them as `other`."""
    phases = {path: cost for path, cost in report["phases"].items() if "/" not in path}
    keys = ("bytes_sent", "bytes_received", "seconds")
    rest = {key: max(0.0, report["total"][key] - sum(cost[key] for cost in phases.values())) for key in keys}
    return {**phases, "other": rest} if any(rest.values()) else phases


def _box(left: float, top: float, width: float, corner: float) -> list[Point]:
    """The outline of a node, closed."""
    right, bottom = left + width, top + NODE_HEIGHT
    points = [
        (left + corner, top),
        (right - corner, top),
        (right, top + corner),
        (right, bottom - corner),
        (right - corner, bottom),
        (left + corner, bottom),
        (left, bottom - corner),
        (left, top + corner),
    ]
    return [*points, points[0]]


def _paper(x: float, y: float, width: float) -> list[Point]:
    """A patch of the page's colour under a value, which stands on a line."""
    half, height = width / 2 + 0.03, 0.08
    return [(x - half, y - height), (x + half, y - height), (x + half, y + height), (x - half, y + height)]


def _area(outlines: Iterable[Sequence[Point]]) -> Figure:
    """Filled outlines as one trace."""
    return {"mode": "lines", "line": {"width": 1}, "fill": "toself", **_path(outlines)}


def _path(lines: Iterable[Sequence[Point]]) -> Figure:
    """Lines as one trace: None lifts the pen."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for line in lines:
        xs += [round(x, 4) for x, _ in line] + [None]
        ys += [round(y, 4) for _, y in line] + [None]
    return {"x": xs, "y": ys}


def _hover_texts(found: Sequence[Place]) -> list[str]:
    """For every node the questions and answers that lead to it, and what it says itself."""
    steps: list[tuple[str, ...]] = []
    texts = []
    for place in found:
        path: tuple[str, ...] = ()
        if place.parent is not None:
            above = found[place.parent].node
            assert isinstance(above, Split)
            path = (*steps[place.parent], shown(f"{above.attribute} = {place.value}", LINE_SHOWN))
        steps.append(path)
        hidden = [f"({len(path) - PATH_SHOWN} questions before)"] if len(path) > PATH_SHOWN else []
        own = f"→ class {place.node.label}" if isinstance(place.node, Leaf) else f"→ {place.node.attribute}?"
        lines = [*hidden, *path[-PATH_SHOWN:], shown(own, LINE_SHOWN)]
        texts.append("<br>".join(map(plain, lines)))  # no <b>: plotly makes it an inline style
    return texts
