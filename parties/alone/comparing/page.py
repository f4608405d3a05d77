"""A comparison as one page: nothing is fetched from elsewhere, no script runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from parties.alone.comparing.drawing import draw_svg
from parties.alone.comparing.presenting import ABOUT, EXACT, figures
from parties.base.templates import environment
from parties.base.text import printable


@cache
def _template() -> Any:
    templates = environment("parties.alone.comparing")
    templates.filters["printable"] = printable
    return templates.get_template("comparison.html")


def to_html(report: Mapping[str, Any], name: str) -> str:
    """Return the report on the synthetic rows called `name`, as an HTML document."""
    picture = draw_svg(report)
    parts = list(figures(report))
    keys = ["", "copies", "marginals", *(["accuracy"] if "models" in report else []), "distances"]
    page: str = _template().render(
        name=name,
        parts=[
            (title or "Rows", ABOUT.get(key, EXACT), lines) for key, (title, lines) in zip(keys, parts, strict=True)
        ],
        picture=picture[picture.index("<svg") :],
    )
    return page
