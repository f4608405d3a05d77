"""Picture of survival curves: a line each with the band of its intervals. Lengths are inches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parties.base.pictures import MUTED, PALETTE, RULE, style, svg
from parties.jobs.release.drawing import headed
from parties.jobs.release.presenting import INTERVAL, about, shown

MARGIN, HEAD, FOOT, WIDTH, HEIGHT = 0.6, 1.0, 0.7, 7.0, 3.6


def draw_svg(document: Mapping[str, Any]) -> str:
    """Return a result as an SVG document; equal results give equal documents."""
    notes = [*about(document), f"bands: {INTERVAL} interval of each point by itself, the noise counted"]
    width, height = WIDTH + 2 * MARGIN, HEAD + 0.2 * len(notes) + HEIGHT + FOOT
    title = f"Survival by {shown(document['time'], 60)}"
    with style():
        figure = headed(width, height, title, notes)
        axes = figure.add_axes((MARGIN / width, FOOT / height, WIDTH / width, HEIGHT / height))
        for number, table in enumerate(document["curves"]):
            _line(axes, document["edges"], table, PALETTE[number % len(PALETTE)])
        axes.set_ylim(0, 1.02)
        axes.set_xlim(document["edges"][0], document["edges"][-1])
        axes.set_xlabel(shown(document["unit"], 60), fontsize=9, color=MUTED, parse_math=False)
        axes.tick_params(labelsize=8.5, labelcolor=MUTED, color=RULE)
        axes.grid(axis="y", color=RULE, linewidth=0.5, alpha=0.6, zorder=1)
        for spine in axes.spines.values():
            spine.set_color(RULE)
        if document["arm"]:
            for text in axes.legend(loc="upper right", fontsize=9, frameon=False).get_texts():
                text.set_parse_math(False)
        return svg(figure, Title=title)


def _line(axes: Any, edges: list[float], table: Mapping[str, Any], colour: str) -> None:
    points = table["points"]
    survival, low, high = ([1.0, *(point[name] for point in points)] for name in ("survival", "low", "high"))
    axes.fill_between(edges, low, high, step="post", color=colour, alpha=0.25, linewidth=0, zorder=2)
    axes.step(edges, survival, where="post", color=colour, linewidth=1.8, label=shown(table["arm"], 40), zorder=3)
