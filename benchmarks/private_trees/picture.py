"""The picture of the measurement: accuracy against epsilon, a panel for each table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parties.base.pictures import INK, MUTED, PALETTE, style, svg
from parties.bench.plots import STYLE

TITLES = {"car": "car", "house-votes-84": "house votes 84", "adult": "Adult"}


def render(document: Mapping[str, Any]) -> str:
    """Draw the tables of `TITLES` that the document has, as SVG; an empty text if it has none."""
    from matplotlib.figure import Figure

    tables = {name: table for name, table in document["tables"].items() if name in TITLES}
    if not tables:
        return ""
    with style(STYLE):
        figure = Figure(figsize=(3.4 * len(tables), 3.9), layout="constrained")
        panels = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (name, table) in zip(panels, tables.items(), strict=True):
            _panel(axes, table)
            axes.set_title(f"{TITLES[name]}, {table['rows']:,} rows")
        panels[0].set_ylabel("accuracy on unseen rows")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2 * len(tables) - 1)
        return svg(figure, Title="Accuracy of private trees against epsilon")


def _panel(axes: Any, table: Mapping[str, Any]) -> None:
    epsilons = [epsilon for epsilon in table["epsilon"] if epsilon != "inf"]
    own = {one["epsilon"]: one["accuracy"] for one in table["defaults"] if one["bound"] == 1}
    theirs = {epsilon: max(one[3] for one in table["diffprivlib"] if one[0] == epsilon) for epsilon in epsilons}
    lines: list[tuple[str, str, str, list[float]]] = [
        (
            "best of depth 1 to 5",
            PALETTE[6],
            "o",
            [table["epsilon"][epsilon]["best"]["accuracy"] for epsilon in epsilons],
        ),
        ("defaults", PALETTE[5], "s", [own[epsilon] for epsilon in epsilons]),
        ("diffprivlib, best", PALETTE[2], "^", [theirs[epsilon] for epsilon in epsilons]),
    ]
    for label, colour, marker, heights in lines:
        axes.plot([float(epsilon) for epsilon in epsilons], heights, color=colour, marker=marker, ms=5, label=label)
    axes.axhline(table["epsilon"]["inf"]["best"]["accuracy"], color=INK, linewidth=1, linestyle="--", label="no noise")
    axes.axhline(table["majority"], color=MUTED, linewidth=1, linestyle=":", label="majority")
    axes.set_xscale("log")
    axes.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    axes.set_xlabel("epsilon")
    axes.grid(True)
