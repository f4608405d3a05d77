"""Picture of the measurement: accuracy of models, by the source of the rows that they learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parties.alone.comparing.learners import LEARNERS
from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg

COLOURS = (PALETTE[6], PALETTE[1], PALETTE[2])


def means(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the figures of each way, averaged over its folds."""
    found: dict[str, dict[str, float]] = {}
    for way in dict.fromkeys(row["rows from"] for row in rows):
        own = [row for row in rows if row["rows from"] == way]
        keys = ["error", "majority", *LEARNERS]
        found[way] = {key: sum(row[key] for row in own) / len(own) for key in keys} | {"folds": len(own)}
    return found


def draw(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw the picture as SVG."""
    from matplotlib.figure import Figure

    found = means(rows)
    with style({"font.size": 9, "text.color": INK}):
        figure = Figure(figsize=(7.2, 0.9 + 0.52 * len(found)), layout="constrained")
        axes = figure.add_subplot()
        for i, (name, colour) in enumerate(zip(LEARNERS, COLOURS, strict=True)):
            places = [place + 0.25 * (i - 1) for place in range(len(found))]
            heights = [one[name] for one in found.values()]
            axes.barh(places, heights, 0.23, color=colour, label=name, zorder=2)
        most = sum(one["majority"] for one in found.values()) / len(found)
        axes.axvline(most, color=MUTED, linewidth=1, linestyle=":", label="most frequent class")
        axes.set_yticks(range(len(found)), [*found], color=INK, parse_math=False)
        axes.invert_yaxis()
        axes.set_xlim(0.6, 0.9)
        axes.set_xlabel("accuracy on unseen rows")
        axes.grid(axis="x", color=RULE, linewidth=0.5, alpha=0.6, zorder=1)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(RULE)
        axes.tick_params(color=RULE, labelcolor=INK)
        figure.legend(loc="outside upper center", ncols=4, frameon=False)
        return svg(figure, Title="models learnt from synthetic rows of Adult, epsilon 1")
