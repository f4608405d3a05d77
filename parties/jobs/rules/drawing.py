"""Graph of rules: an arrow from each condition to its rule, and from the rule to its consequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg
from parties.base.text import visible

MOST = 60  # rules in the drawing
ROW, WIDE = 0.28, 9.0  # inches


def draw_svg(document: Mapping[str, Any]) -> str:
    """Return a result as an SVG document, conditions left, consequences right; equal results give equal documents."""
    from matplotlib.figure import Figure

    rules = document["rules"][:MOST]
    left = list(dict.fromkeys(item for rule in rules for item in rule["if"]))
    right = list(dict.fromkeys(item for rule in rules for item in rule["then"]))
    lines = max(len(left), len(right), len(rules), 1)
    height = 0.9 + ROW * lines
    with style({"font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(WIDE, height))
        axes = figure.add_axes((0.01, 0.01, 0.98, 0.98 - 0.6 / height))
        figure.text(0.02, 1 - 0.35 / height, f"{len(document['rules'])} rules", fontsize=14, weight="bold", color=INK)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(-0.5, lines - 0.5)
        ends = {("if", item): (0.36, _at(i, len(left), lines)) for i, item in enumerate(left)}
        ends |= {("then", item): (0.64, _at(i, len(right), lines)) for i, item in enumerate(right)}
        for number, rule in enumerate(rules):
            middle, colour = (0.5, _at(number, len(rules), lines)), PALETTE[number % len(PALETTE)]
            for side, x in (("if", 0.36), ("then", 0.64)):
                for item in rule[side]:
                    axes.plot([x, middle[0]], [ends[side, item][1], middle[1]], color=colour, linewidth=1.2, zorder=1)
            axes.plot(*middle, "o", color=colour, markeredgecolor=RULE, markersize=6, zorder=2)
        for (side, item), (x, y) in ends.items():
            align, x = ("right", x - 0.008) if side == "if" else ("left", x + 0.008)
            axes.text(x, y, visible(item), ha=align, va="center", fontsize=8.5, color=INK, parse_math=False)
        if len(document["rules"]) > MOST:
            figure.text(0.3, 1 - 0.35 / height, f"the first {MOST} are drawn", fontsize=8.5, color=MUTED)
        return svg(figure, Title="association rules")


def _at(number: int, of: int, lines: int) -> float:
    return lines - 1 - (number + 0.5) * lines / max(of, 1) + 0.5
