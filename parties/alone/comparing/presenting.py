"""Presentation of a comparison of a synthetic table with the party's rows, as text, picture and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parties.base.pictures import INK, MUTED, PALETTE, RULE, style, svg
from parties.base.report import Report

Data = Mapping[str, Any]
Lines = list[tuple[str, str, str]]
COLUMNS = {"": "", "synthetic": ">", "own": ">"}
SYNTHETIC, OWN = PALETTE[6], PALETTE[1]
WIDTH = 0.38  # of a bar; a pair of bars has width 1
FAR = 6  # this and greater distances share one bar
NEAR = 3  # number of distances with a line of their own

EXACT = "These figures are exact: they are for this party, not for publication."
ABOUT = {
    "copies": "Unique own rows that also occur among the synthetic rows. Independent rows of the same distribution hit "
    "some by chance. More hits than by chance are copies of people.",
    "marginals": "Total variation distance between the shares of rows in a marginal's cells: 0 if the tables agree, 1 "
    "if no cell has rows of both. The distance of two halves of the own rows shows the effect of chance.",
    "accuracy": "Share of own rows whose class is predicted rightly by a model learnt from the synthetic rows. In "
    "comparison, a model learnt from four fifths of the own rows predicts the last fifth.",
    "distances": "Number of columns in which the nearest own row differs. If synthetic rows are nearer to own rows "
    "than other own rows are, they may be copies. If not, that does not prove privacy: only the noise does.",
}


def report_of(data: Data) -> Report:
    """Return the figures as a table with a column for the synthetic rows and a column for the party's rows."""
    report, rows = Report(data), Lines()
    for title, _, lines in figures(data):
        indented = [(f"  {name}", synthetic, own) for name, synthetic, own in lines]
        rows += [(title, "", ""), *indented] if title else lines
    report.table(COLUMNS, rows)
    report.line(EXACT)
    return report


def to_html(data: Data, name: str) -> str:
    """Return a comparison as an HTML document.

    Args:
        data: The comparison, as `comparison.compare` returns it.
        name: Name of the synthetic table, for the title.
    """
    page = Report(data)
    page.section("", key="picture")
    label = "Accuracy of models and distances to the nearest own row; the tables below have the figures"
    page.picture(draw_svg(data), label)
    for title, about, lines in figures(data):
        page.section(title or "rows", about)
        page.table(COLUMNS, lines)
    return page.html(f"{name} beside own rows")


def figures(report: Data) -> Iterator[tuple[str, str, Lines]]:
    """Yield the sections of a comparison.

    Each has a title, an explanation, and lines: a name, and the figures of the synthetic table and the party's rows.
    """
    row_counts = report["rows"]
    yield "", EXACT, [("rows", f"{row_counts['synthetic']:,}", f"{row_counts['own']:,}")]
    part = report["copies"]
    lines = [("unique own rows", "", f"{part['alone']:,}")]
    lines += [("of these, also synthetic", f"{part['copied']:,}", "COPIES" if part["found"] else "no more than chance")]
    lines += [("synthetic rows equal to them", f"{part['synthetic_rows']:,}", f"{part['by_chance']:.1f} (chance)")]
    yield "people that the synthetic rows copy", ABOUT["copies"], lines
    part = report["marginals"]
    lines = [(f"average of {part['tables']:,}", f"{part['average']:.3f}", f"{part['own_halves']:.3f} (halves)")]
    lines += [(", ".join(error["columns"]), f"{error['distance']:.3f}", "") for error in part["worst"]]
    yield f"error of marginals of {part['ways']} columns", ABOUT["marginals"], lines
    if (models := report.get("models")) is not None:
        lines = [("most frequent class", "", f"{models['majority']:.1%}")]
        lines += [
            (accuracy["model"], f"{accuracy['synthetic']:.1%}", f"{accuracy['own']:.1%}")
            for accuracy in models["accuracy"]
        ]
        yield f"accuracy for {models['target']}, on own rows", ABOUT["accuracy"], lines
    synthetic, original = report["distances"]["synthetic"], report["distances"]["own"]
    lines = [("on average", f"{synthetic['mean']:.2f}", f"{original['mean']:.2f}")]
    near = range(min(NEAR, len(original["shares"])))
    lines += [(name_of(k), f"{synthetic['shares'][k]:.1%}", f"{original['shares'][k]:.1%}") for k in near]
    yield "columns that differ from the nearest own row", ABOUT["distances"], lines


def name_of(distance: int) -> str:
    """Return the distance between two rows as text for people."""
    return {0: "none: the same row", 1: "1 column"}.get(distance, f"{distance} columns")


def draw_svg(report: Data) -> str:
    """Return the drawing of a comparison as an SVG document. Equal reports give equal documents."""
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
            panels[0].set_title("share of own rows predicted rightly", parse_math=False)
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
