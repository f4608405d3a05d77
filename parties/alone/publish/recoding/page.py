"""The report of a publication as one page: nothing is fetched from elsewhere, no script runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from parties.alone.publish.recoding.drawing import curve_svg
from parties.alone.publish.recoding.report import attacks, figure, particulars
from parties.base.templates import environment
from parties.base.text import printable

MEANINGS = {
    "linkage": "Somebody who knows that a person is in the table, and the person's quasi-identifiers, names the right "
    "row with this probability (prosecutor); somebody who links all rows is right in this share of them (marketer).",
    "membership": "How likely it is that somebody of the public table is in this one.",
    "homogeneity": "Rows that look alike and have one sensitive value: who is among them is told.",
    "inference": "How often the most frequent value is right: that of the table, and that of a person's class; and how "
    "often naive Bayes is, learnt from the published rows, which guesses of people who are not among them, too.",
    "strongest": "The strongest of the attacks on this value, and how much it gains beyond the most frequent value.",
    "worst-hit": "The people in whose classes a value is raised most: of how many it is guessed rightly, and whether "
    "that is more than chance makes.",
    "skewness": "How many times more frequent a value is in some class than in the table, and how far the farthest "
    "class is from the table.",
    "similarity": "Classes whose sensitive values lie in one subtree: what kind of value somebody has is told.",
}


@cache
def _template() -> Any:
    templates = environment("parties.alone.publish.recoding")
    templates.filters |= {"figure": figure, "printable": printable}
    return templates.get_template("report.html")


def to_html(report: Mapping[str, Any], name: str) -> str:
    """Return the report on the rows called `name`, as an HTML document."""
    points = report.get("dimensions", [])
    drawn = sum(point["lost"] is not None for point in points) > 1
    sizes = report["class_sizes"]
    page: str = _template().render(
        name=name,
        report=report,
        particulars=list(particulars(report)),
        lost=report.get("lost", {}),
        levels=report.get("levels", {}),
        sizes=sizes,
        most_classes=max((part["classes"] for part in sizes), default=1),
        attacks=[(title, MEANINGS[title.split()[0].rstrip(",")], rows) for title, rows in attacks(report["risks"])],
        points=points,
        curve=curve_svg(points) if drawn else "",
    )
    return page
