"""Picture of a score report: ROC curve, calibration and lift, each with its intervals. Lengths are inches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg
from parties.jobs.release.drawing import headed
from parties.jobs.release.presenting import INTERVAL, about, shown

SIDE, GAP, HEAD, FOOT = 3.1, 0.75, 1.15, 0.65


def draw_svg(document: Mapping[str, Any]) -> str:
    """Return a result as an SVG document; equal results give equal documents."""
    auc = document["auc"]
    area = "-" if auc["value"] is None else f"{auc['value']:.3f} ({INTERVAL}: {auc['low']:.3f} to {auc['high']:.3f})"
    notes = [f"area under the ROC curve {area}", *about(document), f"bands and bars: {INTERVAL} intervals"]
    width, height = 3 * (SIDE + GAP) + 0.2, HEAD + 0.2 * len(notes) + SIDE + FOOT
    title = f"{shown(document['target'], 40)} = {shown(document['value'], 40)}, as scores tell it"
    with style():
        figure = headed(width, height, title, notes)
        panels = []
        for position, name in enumerate(("ROC curve", "calibration", "lift")):
            left = (GAP + position * (SIDE + GAP)) / width
            axes = figure.add_axes((left, FOOT / height, SIDE / width, SIDE / height))
            axes.set_title(name, fontsize=10, color=INK)
            axes.tick_params(labelsize=8, labelcolor=MUTED, color=RULE)
            for spine in axes.spines.values():
                spine.set_color(RULE)
            panels.append(axes)
        _roc(panels[0], document["roc"])
        _calibration(panels[1], [line for line in document["calibration"] if line["value"] is not None])
        _lift(panels[2], document["lift"])
        return svg(figure, Title=title)


def _roc(axes: Any, points: list[Mapping[str, Any]]) -> None:
    across = [point["false_positive_rate"] for point in points]
    axes.fill_between(
        across, [p["low"] for p in points], [p["high"] for p in points], color=PALETTE[0], alpha=0.3, linewidth=0
    )
    axes.plot(across, [point["value"] for point in points], color=PALETTE[0], linewidth=1.8)
    axes.plot([0, 1], [0, 1], color=RULE, linewidth=0.8)
    axes.set_xlabel("false positive rate", fontsize=8.5, color=MUTED)


def _calibration(axes: Any, lines: list[Mapping[str, Any]]) -> None:
    middles = [(line["from"] + line["to"]) / 2 for line in lines]
    axes.vlines(middles, [line["low"] for line in lines], [line["high"] for line in lines], color=MUTED, linewidth=1.2)
    axes.plot(middles, [line["value"] for line in lines], "o", color=PALETTE[2], markersize=4)
    axes.plot([0, 1], [0, 1], color=RULE, linewidth=0.8)
    axes.set_xlabel("score", fontsize=8.5, color=MUTED)


def _lift(axes: Any, lines: list[Mapping[str, Any]]) -> None:
    across = [line["rows"] for line in lines]
    axes.fill_between(
        across, [p["low"] for p in lines], [p["high"] for p in lines], color=PALETTE[1], alpha=0.3, linewidth=0
    )
    axes.plot(across, [line["value"] for line in lines], color=PALETTE[1], linewidth=1.8)
    axes.axhline(1, color=RULE, linewidth=0.8)
    axes.set_xlabel("share of the rows, highest scores first", fontsize=8.5, color=MUTED)
