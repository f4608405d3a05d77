"""Report of a publication for people, as text and as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parties.alone.publish.models.model import missing_rule
from parties.base.pictures import style, svg
from parties.base.report import Report

NAMES = 27  # characters for the names of figures
# Stand-ins for the page's colours: matplotlib accepts numbers only.
INK, RULE, LINE = "#010203", "#040506", "#070809"
PAGE = {INK: "var(--muted)", RULE: "var(--rule)", LINE: "var(--link)"}
MEANINGS = {
    "linkage": "Somebody who knows that a person is in the table, and the person's quasi-identifiers, names the right "
    "row with this probability (prosecutor); somebody who links all rows is right in this share of them (marketer).",
    "membership": "Probability that a person of the public table is in this one.",
    "homogeneity": "Classes with only one sensitive value: it is disclosed for everybody in them.",
    "inference": "Share of right guesses by the most frequent value of the table, and by each attacker of smc attack "
    "infer, who knows the people's quasi-identifiers.",
    "strongest": "The strongest of the attacks on this value, and how much it gains beyond the most frequent value.",
    "worst-hit": "The people whose classes raise the frequency of a value most: right guesses among them, and whether "
    "their number exceeds chance.",
    "skewness": "Greatest ratio of a value's frequency in a class to that in the table, and the greatest distance of a "
    "class from the table.",
    "similarity": "Classes whose sensitive values lie in one subtree: the kind of value is disclosed.",
}
LOST = (
    "The share of a column's values that a published cell may stand for, on average: 0% is the value itself, 100% "
    "is no information. A suppressed row counts 100%."
)
DIMENSIONS = (
    "Average loss over the columns if only this number of quasi-identifiers is recoded, the first ones. Each further "
    "column that an attacker may know increases the loss in all columns."
)
CLASSES = "Rows that look alike are a class. In a larger class, a row is harder to assign to a person."


def report_of(data: Mapping[str, Any]) -> Report:
    """Return the report with a line for each figure, and for each attack and sensitive column."""
    report = Report(data, width=NAMES)
    for model in data["models"]:
        verdict = "holds" if model["holds"] else "FAILS"
        report.line(f"{verdict}: {model['model']} (reached: {figure(model['reached'])})")
    if "missing" in data:
        report.line(missing_rule(data["missing"]))
    for name, value in particulars(data):
        report.fact(name, value)
    levels = data.get("levels", {})
    for column, loss in data.get("lost", {}).items():
        level = f", level {levels[column]}" if column in levels else ""
        report.fact(f"lost of {column}", f"{loss:.1%}{level}")
    for name, figures in attacks(data["risks"]):
        report.fact(name, ", ".join(f"{key} {value}" for key, value in figures))
    return report


def to_html(data: Mapping[str, Any], name: str) -> str:
    """Return the report as an HTML document.

    Args:
        data: The report.
        name: Name of the table, for the title.
    """
    page, levels = Report(data), data.get("levels", {})
    page.section("models", key="models")
    rows = [(m["model"], "holds" if m["holds"] else "fails", figure(m["reached"])) for m in data["models"]]
    page.table({"model": "", "verdict": "", "reached": ">"}, rows)
    if "missing" in data:
        page.line(missing_rule(data["missing"]))
    page.section("table", key="table")
    for title, value in particulars(data):
        page.fact(title, value)
    if lost := data.get("lost", {}):
        page.section("lost, by column", LOST, "lost")
        level = {"level": ">{level}"} if levels else {}
        shares = [{"column": column, "level": levels.get(column), "lost": share} for column, share in lost.items()]
        page.table({"column": "{column}", **level, "": "|{lost:.1%}", "lost": ">{lost:.1%}"}, shares)
    if points := data.get("dimensions", []):
        page.section("the curse of dimensionality", DIMENSIONS, "dimensions")
        _add_curve(page, points)
    page.section("classes, by their rows", CLASSES, "classes")
    most = max((part["classes"] for part in data["class_sizes"]), default=1)
    sizes = [part | {"each": _range(part), "share": part["classes"] / most} for part in data["class_sizes"]]
    columns = {"rows each": "{each}", "": "|{share:.1%}", "classes": ">{classes:,}", "rows": ">{rows:,}"}
    page.table(columns, sizes)
    page.section("what an attacker could do", key="risks")
    if not data["risks"]:
        page.line("No rows are published.")
    for title, figures in attacks(data["risks"]):
        page.heading(title, MEANINGS[title.split()[0].rstrip(",")])
        page.table([("", ""), ("", ">")], figures)
    return page.html(f"{name}: information loss and remaining risk", is_wide=True)


def _add_curve(page: Report, points: list[dict[str, Any]]) -> None:
    if sum(point["lost"] is not None for point in points) > 1:
        label = "Information lost against the number of quasi-identifiers; the table below has the figures"
        page.picture(curve_svg(points), label)
    lost = ["models not reached" if point["lost"] is None else f"{point['lost']:.1%}" for point in points]
    rows = [(point["number"], point["column"], share) for point, share in zip(points, lost, strict=True)]
    page.table({"number": "", "with": "", "lost": ">"}, rows)


def _range(part: Mapping[str, Any]) -> str:
    return figure([part["least"], part["most"]] if part["most"] > part["least"] else part["least"])


def particulars(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and value of the figures about the whole table."""
    for name, value in report.items():
        if name not in ("models", "risks", "lost", "levels", "minimal", "class_sizes", "dimensions"):
            yield name.replace("_", " "), figure(value)


def attacks(risks: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each attack, with its sensitive column in brackets, if any, and the name and value of its figures."""
    for attack, figures in risks.items():
        if attack != "sensitive":
            yield from _figures(attack, figures)
            continue
        for column, by_name in figures.items():
            for name, part in by_name.items():
                yield from _figures(f"{name.replace('_', '-')} ({column})", part)


def _figures(name: str, figures: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    parts = []
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from _figures(f"{name}, {key}", value)
        else:
            parts.append((key.replace("_", " "), figure(value)))
    if parts:
        yield name, parts


def figure(value: Any) -> str:
    """Return a figure in a few digits, two figures as a range, or yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " to ".join(map(figure, value))
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def curve_svg(points: Sequence[dict[str, Any]]) -> str:
    """Return the points of `dimensions.curve` as an SVG element for a page with the variables of `PAGE`."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    with style({"axes.edgecolor": RULE}):
        figure = Figure(figsize=(4.2, 2.7), layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0)
        axes.spines[["top", "right"]].set_visible(False)
        known_points = [(point["number"], point["lost"]) for point in points if point["lost"] is not None]
        axes.plot(*zip(*known_points, strict=True), color=LINE, marker="o", markersize=5, linewidth=2, clip_on=False)
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
