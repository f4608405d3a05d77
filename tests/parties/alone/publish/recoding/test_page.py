"""The report as a page, and the curve on it: read back, and looked at by a browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from parties.alone.publish.cells import Cells
from parties.alone.publish.models.model import KAnonymity
from parties.alone.publish.recoding.anonymising import anonymised
from parties.alone.publish.recoding.dimensions import curve, first
from parties.alone.publish.recoding.report import to_html
from parties.alone.publish.settings import PublishPlan
from tests.support.anonymity import rows_of, tables
from tests.support.chromium import chromium


def plan_of(cells: Cells, algorithm: str = "flash", k: int = 2, most: float = 0.0) -> PublishPlan:
    columns = {h.column: {"role": "quasi-identifier"} for h in cells.hierarchies}
    columns |= {h.column: {"role": "sensitive"} for h in cells.sensitive_hierarchies}
    content = {"source": "t.csv", "columns": columns, "models": [{"model": "k-anonymity", "k": k}]}
    return PublishPlan.model_validate(content | {"algorithm": algorithm, "max_suppressed": most})


class _Reader(HTMLParser):
    """The tags with their attributes, and the rows of the tables by the section's name."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: dict[str, list[list[str]]] = {}
        self._section, self._cell = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "section":
            self._section = dict(attrs)["id"] or ""
        if tag == "tr":
            self.rows.setdefault(self._section, []).append([])
        if tag in ("td", "th"):
            self.rows[self._section][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[self._section][-1][-1] += data.strip()


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    return reader


@given(tables(public=True))
def test_a_table_of_fewer_columns(cells: Cells) -> None:
    for number in range(1, len(cells.hierarchies) + 1):
        part = first(cells, number)
        assert sorted(rows_of(part)) == sorted((*row[:number], row[-1]) for row in rows_of(cells))
        assert len(set(zip(*part.quasi.tolist(), *part.sensitive.tolist(), strict=True))) == len(part.counts)
        assert part.public is not None
        assert cells.public is not None
        assert part.public[1].sum() == cells.public[1].sum()


@given(tables())
def test_the_curve_ends_at_what_was_lost(cells: Cells) -> None:
    """And no flash solution of fewer columns loses by `ncp` more in sum than one of more columns loses in these."""
    models = [KAnonymity(min(2, cells.rows))]
    plan = plan_of(cells).model_copy(update={"utility": "ncp"})
    outcome = anonymised(cells, plan, models)
    points = curve(cells, plan, models, outcome.report["lost"])
    assert [point["column"] for point in points] == [h.column for h in cells.hierarchies]
    lost = list(outcome.report["lost"].values())
    assert points[-1]["lost"] == pytest.approx(np.mean(lost))
    for number, point in enumerate(points, 1):
        assert point["lost"] * number <= sum(lost[:number]) + 1e-9


def a_report() -> dict[str, object]:
    classes = {"least": 2, "most": 3, "classes": 4, "rows": 9}
    linkage = {"prosecutor_highest": 0.5, "marketer": 0.25}
    sensitive = {"<b>s": {"homogeneity": {"classes": 1}, "similarity": {"level 1": {"highest_share": 0.75}}}}
    return {
        "rows": 12345,
        "models": [{"model": "2-anonymity", "holds": False, "reached": [0.1, 1]}],
        "lost": {"<script>": 0.25, "b": 1.0},
        "class_sizes": [classes],
        "risks": {"linkage": linkage, "sensitive": sensitive, "membership": {"least": 0.1, "most": 0.2}},
        "dimensions": [
            {"number": n, "column": c, "lost": x} for n, c, x in ((1, "a", 0.0), (2, "c", None), (3, "b", 0.625))
        ],
    }


def test_a_page_says_what_the_report_says() -> None:
    page = to_html(a_report(), "x & y.csv")
    found = read(page)
    assert "<h1>x &amp; y.csv: " in page
    assert found.rows["models"][1:] == [["2-anonymity", "fails", "0.1 to 1"]]
    assert found.rows["table"] == [["rows", "12,345"]]
    assert found.rows["lost"][1:] == [["<script>", "", "25.0%"], ["b", "", "100.0%"]]
    assert found.rows["classes"][1:] == [["2 to 3", "", "4", "9"]]
    dimensions = [["1", "a", "0.0%"], ["2", "c", "models not reached"], ["3", "b", "62.5%"]]
    assert found.rows["dimensions"][1:] == dimensions
    risks = [["prosecutor highest", "0.5"], ["marketer", "0.25"], ["classes", "1"], ["highest share", "0.75"]]
    assert found.rows["risks"] == [*risks, ["least", "0.1"], ["most", "0.2"]]
    assert re.findall(r"<h3>(.*?)</h3>", page) == [
        "linkage",
        "homogeneity (&lt;b&gt;s)",
        "similarity (&lt;b&gt;s), level 1",
        "membership",
    ]


def test_a_page_fetches_nothing() -> None:
    found = read(to_html(a_report(), "x.csv"))
    assert not {tag for tag, _ in found.tags} & {"script", "link", "img", "iframe", "object", "embed"}
    links = [value for _, given in found.tags for name, value in given.items() if name in ("src", "href", "xlink:href")]
    assert all(value is not None and value.startswith("#") for value in links)


def test_a_report_without_rows_or_curve() -> None:
    report = a_report() | {
        "risks": {},
        "class_sizes": [],
        "lost": {},
        "dimensions": [{"number": 1, "column": "a", "lost": 0.5}],
    }
    page = to_html(report, "x.csv")
    assert "<svg" not in page
    assert "No rows are published" in page


def test_a_browser_shows_it(tmp_path: Path) -> None:
    """At the width of a telephone nothing sticks out; no error, no request; the curve takes the page's colours."""
    (tmp_path / "report.html").write_text(to_html(a_report(), "x.csv"))
    with chromium() as browser:
        inks = set()
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 320, "height": 700}, color_scheme=scheme)
            seen: list[str] = []
            page.on("console", lambda message, seen=seen: seen.append(message.text))
            page.on("request", lambda request, seen=seen: seen.append(request.url))
            page.goto((tmp_path / "report.html").as_uri())
            assert seen == [(tmp_path / "report.html").as_uri()], json.dumps(seen)
            assert page.evaluate("document.documentElement.scrollWidth") == 320
            box = page.locator("svg").bounding_box()
            assert 200 < box["width"] < 320
            assert 100 < box["height"] < 260
            inks.add(page.evaluate("getComputedStyle(document.querySelector('svg #line2d_1 path, svg text')).fill"))
        assert len(inks) == 2
