"""Picture of clusters: regions of the centroids for two columns, else a line for each. No row is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg
from parties.jobs.release.cluster.result import notes
from parties.jobs.release.presenting import amount, shown

Document = Mapping[str, Any]
MARGIN, HEAD, LEFT, FOOT, SIDE = 0.35, 1.3, 0.9, 0.7, 4.0
FINE = 400  # points of a side, for the borders of regions
LONGEST = 30


def draw_svg(document: Document) -> str:
    """Return a result as an SVG document; equal results give equal documents."""
    from matplotlib.figure import Figure

    flat = len(document["columns"]) == 2
    long = SIDE if flat else max(SIDE, 1.3 * len(document["columns"]))
    width, height = LEFT + long + 1.6, HEAD + SIDE + FOOT
    with style({"font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(width, height))
        title = f"{len(document['clusters'])} clusters"
        figure.text(MARGIN / width, 1 - 0.42 / height, title, fontsize=14, weight="bold", color=INK)
        for i, note in enumerate(notes(document)):
            where = 1 - (0.68 + 0.18 * i) / height
            figure.text(MARGIN / width, where, shown(note), fontsize=8.5, color=MUTED, parse_math=False)
        axes = figure.add_axes((LEFT / width, FOOT / height, long / width, SIDE / height))
        (_regions if flat else _lines)(axes, document)
        axes.tick_params(labelsize=8.5, labelcolor=MUTED, color=RULE)
        for spine in axes.spines.values():
            spine.set_color(RULE)
        return svg(figure, Title=title)


def _regions(axes: Any, document: Document) -> None:
    """Draw the region of each centroid; distances scale each column by its bounds."""
    low, high = np.array(document["bounds"], dtype=float).T
    centroids = np.array([cluster["centroid"] for cluster in document["clusters"]], dtype=float)
    line = (np.arange(FINE) + 0.5) / FINE
    box = np.stack(np.meshgrid(line, line), axis=2)[:, :, None] - (centroids - low) / (high - low)
    nearest = (box**2).sum(axis=3).argmin(axis=2)
    across, up = (low[i] + line * (high[i] - low[i]) for i in range(2))
    for cluster in range(len(centroids)):
        inside = (nearest == cluster).astype(float)
        if 0 < inside.sum() < inside.size:
            axes.contourf(across, up, inside, levels=[0.5, 1.5], colors=[_colour(cluster)], alpha=0.35)
            axes.contour(across, up, inside, levels=[0.5], colors=[MUTED], linewidths=0.7)
    for cluster, (fields, (x, y)) in enumerate(zip(document["clusters"], centroids, strict=True)):
        axes.plot([x], [y], "o", color=_colour(cluster), markeredgecolor=INK, markersize=7, clip_on=False)
        axes.annotate(
            amount(fields["rows"]), (x, y), xytext=(6, 5), textcoords="offset points", fontsize=8.5, color=INK
        )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    for put, column in zip((axes.set_xlabel, axes.set_ylabel), document["columns"], strict=True):
        put(shown(column, LONGEST), fontsize=9, color=INK, parse_math=False)


def _lines(axes: Any, document: Document) -> None:
    """Draw a line through each centroid's numbers, with every column from its lower to its upper bound."""
    low, high = np.array(document["bounds"], dtype=float).T
    columns = list(range(len(low)))
    for cluster, fields in enumerate(document["clusters"]):
        heights = (np.array(fields["centroid"], dtype=float) - low) / (high - low)
        axes.plot(columns, heights, "o-", color=_colour(cluster), markeredgecolor=INK, linewidth=2, clip_on=False)
        axes.annotate(
            f"{amount(fields['rows'])} rows", (columns[-1], heights[-1]), xytext=(10, -3), textcoords="offset points",
            fontsize=8.5, color=INK, annotation_clip=False,
        )  # fmt: skip
    for column in columns:
        axes.axvline(column, color=RULE, linewidth=0.7, zorder=0)
    labels = [
        f"{shown(name, LONGEST)}\n{amount(least)} to {amount(most)}"
        for name, (least, most) in zip(document["columns"], document["bounds"], strict=True)
    ]
    axes.set_xticks(columns, labels, parse_math=False)
    axes.set_xlim(-0.3, columns[-1] + 0.3)
    axes.set_ylim(0, 1)
    axes.set_yticks([])


def _colour(cluster: int) -> str:
    return PALETTE[cluster % len(PALETTE)]
