"""Bar charts of noisy numbers with their intervals, as SVG. Text stays text in the SVG; lengths are inches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg, text_measure
from parties.jobs.release.presenting import OF_NOISE, about, amount, label, shown

Document = Mapping[str, Any]
BAR, MARGIN, HEAD, FOOT = 0.34, 0.35, 0.85, 0.55
PLOT, LONGEST_LABEL = 5.2, 60
MOST = 100  # bars; the text form has all numbers


def draw_svg(document: Document) -> str:
    """Return the first `MOST` numbers of a result as an SVG document; equal results give equal documents."""
    bars = [bar for bar in document["numbers"] if bar["value"] is not None][:MOST]
    notes = about(document)
    if bars and "low" in bars[0]:
        notes.append(f"bars: {OF_NOISE}: each interval holds for its number alone")
    return bars_svg(_title(document), notes, [_name(document, bar) for bar in bars], bars)


def headed(width: float, height: float, title: str, notes: Sequence[str]) -> Any:
    """Return a figure with its title and notes.

    Args:
        width: Inches.
        height: Inches.
        title: The heading.
        notes: Lines below it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    figure.text(MARGIN / width, 1 - 0.42 / height, title, fontsize=14, weight="bold", color=INK, parse_math=False)
    for i, note in enumerate(notes):
        where = 1 - (0.68 + 0.2 * i) / height
        figure.text(MARGIN / width, where, shown(note), fontsize=8.5, color=MUTED, parse_math=False)
    return figure


def bars_svg(title: str, notes: Sequence[str], names: Sequence[str], bars: Sequence[Document]) -> str:
    """Return bars as an SVG document, with an interval from `low` to `high` where a bar has one.

    Args:
        title: Title of the chart.
        notes: Lines under the title.
        names: Label of each bar.
        bars: `value` of each bar, perhaps with `low` and `high`.
    """
    return lines_svg(title, notes, names, [amount(bar["value"]) for bar in bars], lambda axes: _draw(axes, bars))


def lines_svg(
    title: str, notes: Sequence[str], names: Sequence[str], values: Sequence[str], draw: Callable[[Any], None]
) -> str:
    """Return a chart with a line for each name as an SVG document.

    Args:
        title: Title of the chart.
        notes: Lines under the title.
        names: Label of each line.
        values: Text at the end of each line.
        draw: Draws the numbers on matplotlib's axes, the first line at 0.
    """
    measure = text_measure()
    left = MARGIN + max([measure(name, 9.0) for name in names], default=0) + 0.1
    right = MARGIN + max([measure(value, 9.0) for value in values], default=0) + 0.1
    width = max(left + PLOT + right, 2 * MARGIN + max(measure(title, 15.0), *(measure(note, 9.0) for note in notes)))
    height = HEAD + 0.2 * len(notes) + BAR * max(len(names), 1) + FOOT
    with style():
        figure = headed(width, height, title, notes)
        size = (left / width, FOOT / height, (width - left - right) / width, BAR * max(len(names), 1) / height)
        axes = figure.add_axes(size)
        draw(axes)
        _label(axes, names, values)
        return svg(figure, Title=title)


def _draw(axes: Any, bars: Sequence[Document]) -> None:
    positions = list(range(len(bars)))
    axes.barh(positions, [bar["value"] for bar in bars], height=0.62, color=PALETTE[0], zorder=2)
    if bars and "low" in bars[0]:
        draw_intervals(axes, [bar["low"] for bar in bars], [bar["high"] for bar in bars])
    axes.axvline(0, color=RULE, linewidth=1, zorder=1)


def draw_intervals(axes: Any, low: Sequence[float], high: Sequence[float]) -> None:
    """Draw an interval on each line of the axes.

    Args:
        axes: The axes of matplotlib, with a line for each number.
        low: Lower end of each interval.
        high: Upper end of each interval.
    """
    positions = list(range(len(low)))
    axes.hlines(positions, low, high, color=INK, linewidth=1.3, zorder=3)
    for end in (low, high):
        axes.plot(end, positions, "|", color=INK, markersize=7, markeredgewidth=1.3, zorder=3)


def _label(axes: Any, names: Sequence[str], values: Sequence[str]) -> None:
    for position, value in enumerate(values):
        axes.annotate(
            value, (1, position), xycoords=("axes fraction", "data"), xytext=(6, 0), textcoords="offset points",
            va="center", fontsize=9, color=INK, annotation_clip=False, parse_math=False,
        )  # fmt: skip
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names, fontsize=9, color=INK, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8.5, labelcolor=MUTED, color=RULE)
    axes.grid(axis="x", color=RULE, linewidth=0.5, alpha=0.6, zorder=1)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)


def _name(document: Document, bar: Document) -> str:
    """Return the label of a bar: the value alone if rows are grouped by one column."""
    by = document.get("by", [])
    return shown(bar["cell"][by[0]] if len(by) == 1 else label(bar), LONGEST_LABEL)


def _title(document: Document) -> str:
    statistic = {"sum": "Sum", "mean": "Mean", "deviation": "Standard deviation", "correlation": "Correlation"}.get(
        document["question"], "Rows"
    )
    columns = (
        document["columns"] if statistic == "Correlation" else [document["column"]] if "column" in document else []
    )
    of = f" of {shown(' and '.join(columns), LONGEST_LABEL)}" if columns else ""
    by = f" by {shown(', '.join(document['by']), LONGEST_LABEL)}" if document.get("by") else ""
    return statistic + of + by
