"""Plots of the measurements in a document of `bench.survey`: costs by batch size, round trip and phase.

Colours are Okabe and Ito's, which people with any colour vision can distinguish; lines also differ in their markers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parties.base.pictures import INK, MUTED, PALETTE, style, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

SHORT = {  # labels of lines and bars
    "yao extension half": "Yao, half-gates",
    "yao extension three-halves": "Yao, three-halves",
    "gmw extension depth": "GMW, SoftSpoken",
    "gmw ferret depth": "GMW, Ferret",
    "mixed extension half": "mixed",
    "mixed ferret three-halves": "mixed, Ferret, 3/2",
    "lean extension depth": "lean",
    "lean ferret depth": "lean, Ferret",
}
LINES = {  # colour and marker of each line
    "yao extension half": (PALETTE[6], "o"),
    "yao extension three-halves": (PALETTE[0], "s"),
    "gmw extension depth": (PALETTE[5], "^"),
    "gmw ferret depth": (PALETTE[1], "D"),
}
PHASES = {  # colours of the phases, in the order of the bars
    "base ot": "#B4BCC6",
    "triples": PALETTE[1],
    "inputs": PALETTE[4],
    "leaves": PALETTE[2],
    "entropy": PALETTE[4],  # inputs of the logarithm; its steps follow
    "normalise": PALETTE[6],
    "look up": PALETTE[0],
    "series": PALETTE[5],
    "times x": "#7A5195",
    "argmin": "#8C564B",
    "opening": PALETTE[3],
    "other": "#3A424C",
}
STYLE: Any = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": "#E3E7EC",
    "legend.frameon": False,
}
TITLES = {
    "batch": "Seconds and bytes against the size of a batch",
    "crossover": "Yao and GMW against the round trip",
    "phases": "What x ln x and ID3 spend where",
}


def render(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the plots of a document's measurements as SVG, by file name."""
    with style(STYLE):
        figures: dict[str, Figure] = {}
        if document.get("batches"):
            figures["batch"] = _batches(document["batches"])
        if document.get("crossover"):
            figures["crossover"] = _crossover(document["crossover"])
        figures |= _phase_figures(document)
        return {f"{name}.svg": svg(figure, Title=TITLES[name]) for name, figure in figures.items()}


def _figure(width: float, height: float, panels: int = 1) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _batches(rows: Sequence[Row]) -> Figure:
    """Draw seconds and bytes of a batch of comparisons by its size."""
    figure, (left, right) = _figure(9.0, 4.0, panels=2)
    for profile, (colour, marker) in LINES.items():
        mine = sorted((row for row in rows if row["profile"] == profile), key=lambda row: row["batch"])
        if not mine:
            continue
        batches = [row["batch"] for row in mine]
        style = {"color": colour, "marker": marker, "markersize": 5, "label": SHORT[profile]}
        left.plot(batches, [row["seconds"] for row in mine], **style)
        low, high = ([row[f"seconds_{end}"] for row in mine] for end in ("min", "max"))
        left.fill_between(batches, low, high, color=colour, alpha=0.15, linewidth=0)
        right.plot(batches, [row["bytes_sent"] + row["bytes_received"] for row in mine], **style)
    left.set_title("seconds, median (band: least to most)")
    right.set_title("bytes, both ways")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("comparisons of 32-bit integers in one batch")
        _plain_ticks(axes.xaxis)
        axes.grid(True)
    _unit_ticks(left.yaxis, "s", (1, 2, 5))
    _unit_ticks(right.yaxis, "B")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=len(LINES))
    return figure


def _crossover(crossover: Row) -> Figure:
    """Draw seconds by round trip: predicted lines, measured points."""
    figure, (axes,) = _figure(7.5, 4.4)
    for line in crossover["lines"]:
        profile = line["profile"]
        colour, marker = LINES[profile]
        trips = [1e3 * trip for trip in line["round_trips"]]
        axes.plot(trips, line["seconds"], color=colour, label=SHORT[profile])
        points = [point for point in crossover["points"] if point["profile"] == profile]
        middle = [point["seconds"] for point in points]
        spread = [[abs(point["seconds"] - point[f"seconds_{end}"]) for point in points] for end in ("min", "max")]
        axes.errorbar(
            [1e3 * point["round_trip"] for point in points], middle, spread,
            fmt=marker, color=colour, markersize=6, markeredgecolor="white", capsize=3, linewidth=1,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("round trip, milliseconds, at 1 Gbit/s")
    axes.set_title(
        f"{crossover['protocol']}, {crossover['batch']} blocks at once: predicted (lines), measured (points)"
    )
    _plain_ticks(axes.xaxis)
    _unit_ticks(axes.yaxis, "s", (1, 2, 5))
    axes.grid(True)
    axes.legend(loc="upper left")
    return figure


def _phase_figures(document: Mapping[str, Any]) -> dict[str, Figure]:
    """Draw costs by phase of x ln x and ID3 on the first link, if it has both."""
    from matplotlib.figure import Figure

    link = next(iter(document["links"]), None)
    here = [row for row in document["rows"] if row["link"] == link]
    groups = [[row for row in here if row["protocol"].startswith(name)] for name in ("x ln x", "ID3")]
    if not all(groups):
        return {}
    heights = [1.7 + 0.33 * len(group) for group in groups]
    figure = Figure(figsize=(9.0, sum(heights)), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=heights)
    for part, group in zip(parts, groups, strict=True):
        left, right = part.subplots(1, 2)
        batch = f", {group[0]['batch']:,} at once" if group[0]["batch"] > 1 else ""
        part.suptitle(f"{group[0]['protocol']}{batch}", fontweight="bold", fontsize=11, x=0.01, ha="left")
        _stack(left, group, "bytes", 1e6, "megabytes, both ways")
        _stack(right, group, "seconds", 1.0, f"seconds on {link}")
        right.set_yticklabels([])
        handles, names = left.get_legend_handles_labels()
        columns = len(names) if len(names) < 10 else -(-len(names) // 2)  # as many as fit the width
        part.legend(handles, names, loc="outside lower center", ncols=columns, columnspacing=1.2, handlelength=1.2)
    return {"phases": figure}


def _stack(axes: Axes, rows: Sequence[Row], key: str, unit: float, title: str) -> None:
    """Draw a horizontal bar for each row, of the phases' numbers `key` divided by `unit`, with the total at the end."""
    places = range(len(rows))
    starts = [0.0] * len(rows)
    for phase, colour in PHASES.items():
        if not any(phase in row["phases"] for row in rows):
            continue
        sizes = [max(0.0, row["phases"].get(phase, {}).get(key, 0.0)) / unit for row in rows]
        axes.barh(places, sizes, left=starts, color=colour, label=phase.replace(" ot", " OT"), height=0.72)
        starts = [start + size for start, size in zip(starts, sizes, strict=True)]
    for place, end in zip(places, starts, strict=True):
        text = f"{end:,.0f}" if end >= 100 else f"{end:.3g}"
        axes.annotate(text, (end, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8.5)
    axes.set_title(title)
    axes.set_yticks(places, [SHORT.get(str(row["profile"]), str(row["profile"])) for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.16 * max(starts))
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)


def _plain_ticks(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _unit_ticks(axis: Any, unit: str, steps: Sequence[int] = (1,)) -> None:
    """Set an axis's ticks at the multiples `steps` of the powers of ten, with labels such as 10 ms or 1 MB."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(EngFormatter(unit=unit, sep=" "))
    axis.set_minor_formatter(NullFormatter())
