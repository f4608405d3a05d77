"""The curve of what is lost, drawn by matplotlib; its colours are the page's, so that it suits light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parties.base.pictures import style, svg

# Stand-ins for the page's colours: matplotlib knows numbers only.
INK, RULE, LINE = "#010203", "#040506", "#070809"
PAGE = {INK: "var(--muted)", RULE: "var(--rule)", LINE: "var(--link)"}


def curve_svg(points: Sequence[dict[str, Any]]) -> str:
    """Return the points of `dimensions.curve` as an SVG element for a page that knows the variables of `PAGE`."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    with style({"axes.edgecolor": RULE}):
        figure = Figure(figsize=(4.2, 2.7), layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0)
        axes.spines[["top", "right"]].set_visible(False)
        known = [(point["number"], point["lost"]) for point in points if point["lost"] is not None]
        axes.plot(*zip(*known, strict=True), color=LINE, marker="o", markersize=5, linewidth=2, clip_on=False)
        axes.set_xlim(0.75, points[-1]["number"] + 0.25)
        axes.set_ylim(0, 1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_xlabel("quasi-identifiers", color=INK)
        axes.set_ylabel("information lost", color=INK)
        axes.tick_params(colors=RULE, labelcolor=INK)
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        picture = svg(figure, Creator=None, Format=None, Type=None)
    picture = picture[picture.index("<svg") :]
    for number, name in PAGE.items():
        picture = picture.replace(number, name)
    return picture
