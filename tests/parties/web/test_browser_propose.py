"""The form of a proposal in a real browser, for every kind of job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.jobs import kinds
from tests.support.site import Site

AXE = (Path(__file__).parents[2] / "vectors" / "axe-4.14.1.min.js").read_text("utf-8")
OFTEN = ("cluster", "publish joint-table")  # with lists of columns, with a picture
FAULTS = "axe.run('main').then(({violations}) => violations.map((one) => [one.id, one.nodes[0].html]))"


def faults(page: Any, path: str) -> list[Any]:
    """What axe-core finds on a form with everything open, and whether a phone's window is too narrow for it."""
    page.goto(path)
    page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], path
    page.evaluate(AXE)
    return list(page.evaluate(FAULTS))


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in OFTEN else pytest.mark.campaign) for kind in kinds.names()]
)
def test_no_form_has_a_fault_of_accessibility(site: Site, kind: str) -> None:
    page = site.signed_in(viewport={"width": 320, "height": 800})
    assert faults(page, f"{site.origin}/propose?kind={kind}") == []


def test_the_choice_of_holders_has_no_fault_of_accessibility(site: Site) -> None:
    site.node.peers = ["university", "anna", "bert"]
    page = site.signed_in(viewport={"width": 320, "height": 800})
    assert faults(page, f"{site.origin}/propose?kind=release+count") == []


def test_another_kind_of_job_keeps_what_it_is_about(site: Site) -> None:
    page = site.signed_in()
    page.goto(f"{site.origin}/propose?kind=id3")
    page.get_by_label("Purpose").fill("quality of care")
    page.get_by_label("Our table").select_option("visits")
    page.get_by_label("Question").select_option("majority")
    page.get_by_role("button", name="Choose").click()
    page.get_by_role("heading", name="Which class do most rows").wait_for()
    assert page.get_by_label("Purpose").input_value() == "quality of care"
    assert page.get_by_label("Our table").input_value() == "visits"


def test_the_first_wrong_field_is_where_one_goes_on(site: Site) -> None:
    site.expected.append("400")
    page = site.signed_in()
    page.goto(f"{site.origin}/propose?kind=cluster")
    page.locator("fieldset[data-of=patients]").get_by_label("age").check()
    page.get_by_text("More:").click()
    page.get_by_label("Row bound").fill("none")
    page.get_by_role("button", name="Propose", exact=True).click()
    page.get_by_role("alert").get_by_role("link", name="Epsilon").wait_for()
    assert page.evaluate("document.activeElement.id") == "epsilon"
    assert page.locator("[aria-invalid]").evaluate_all("all => all.map((one) => one.id)") == [
        "epsilon",
        "max_rows",
    ]
    assert page.locator("fieldset[data-of=patients]").get_by_label("age").is_checked()
    page.get_by_role("alert").get_by_role("link", name="Row bound").press("Enter")
    assert page.evaluate("document.activeElement.id || location.hash") in ("max_rows", "#max_rows")
