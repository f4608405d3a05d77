"""A comparison as a picture: accuracy of models, and distances to the nearest own row, each beside own rows'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parties.alone.comparing.presenting import Data
from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg

SYNTHETIC, OWN = PALETTE[6], PALETTE[1]
WIDTH = 0.38  # of a bar, where 1 is the place of a pair
FAR = 6  # distances from here on are one bar


def draw_svg(report: Data) -> str:
    """Draw a report as an SVG document, the same for the same report."""
    from matplotlib.figure import Figure

    models = report.get("models")
    with style({"font.size": 9, "axes.titlesize": 10, "axes.titlelocation": "left", "text.color": INK}):
        figure = Figure(figsize=(8.6 if models else 4.6, 3.4), layout="constrained")
        panels = list(figure.subplots(1, 2 if models else 1, squeeze=False)[0])
        if models:
            names = [accuracy["model"].replace(" ", "\n", 1) for accuracy in models["accuracy"]]
            heights = [[accuracy[key] for accuracy in models["accuracy"]] for key in ("synthetic", "own")]
            _bars(panels[0], names, heights)
            panels[0].axhline(models["majority"], color=MUTED, linewidth=1, linestyle=":", label="most frequent class")
            panels[0].set_ylim(0, 1)
            panels[0].set_title("share of own rows whose class is found", parse_math=False)
        shares = [_folded(report["distances"][key]["shares"]) for key in ("synthetic", "own")]
        names = [str(k) for k in range(len(shares[0]))]
        if len(report["distances"]["own"]["shares"]) > FAR + 1:
            names[-1] = f"{FAR}+"
        _bars(panels[-1], names, shares)
        panels[-1].set_title("columns that differ from the nearest own row")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return svg(figure, Title="a synthetic table beside own rows")


def _folded(shares: Sequence[float]) -> list[float]:
    return [*shares[:FAR], sum(shares[FAR:])] if len(shares) > FAR + 1 else list(shares)


def _bars(axes: Any, names: Sequence[str], heights: Sequence[Sequence[float]]) -> None:
    from matplotlib.ticker import PercentFormatter

    both = ((heights[0], SYNTHETIC, "synthetic rows"), (heights[1], OWN, "own rows"))
    for shift, (values, colour, label) in zip((-WIDTH / 2, WIDTH / 2), both, strict=True):
        axes.bar([i + shift for i in range(len(values))], values, WIDTH, color=colour, label=label, zorder=2)
    axes.set_xticks(range(len(names)), names, color=INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(axis="y", color=RULE, linewidth=0.5, alpha=0.6, zorder=1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    axes.tick_params(color=RULE, labelcolor=MUTED)
