"""The form of a proposal: what becomes of it, what is wrong with it, what it offers."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from parties.jobs import kinds
from parties.jobs.settings import public_parameters
from parties.web.questions import MEANS
from tests.support.elements import Elements
from tests.support.fake_node import Browser, FakeNode
from tests.support.registry import registered


def test_a_proposal_becomes_a_job_file(node: FakeNode, browser: Browser) -> None:
    answer = browser.send_form(
        "/propose", table="visits", peer_table="besuche", purpose=" audit ", target="outcome",
        columns="age, sex,\nsmoker ,", tolerance="0.01", min_rows="5", max_depth="", max_rows="1000",
    )  # fmt: skip
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/jobs/{node.jobs()[0].id}"
    assert node.submitted == [
        {
            "protocol": "id3", "table": "visits", "peer_table": "besuche", "purpose": "audit", "target": "outcome",
            "columns": ["age", "sex", "smoker"], "tolerance": 0.01, "min_rows": 5, "max_rows": 1000,
        }
    ]  # fmt: skip


def test_a_permit_is_named_and_taken_along(node: FakeNode, browser: Browser) -> None:
    page = browser.get("/propose?kind=id3").text
    assert "such as 2026-17. Left as it is: The job names no permit." in page
    browser.send_form("/propose", table="visits", permit=" 2026-17 ", tolerance="0.01")
    assert node.submitted == [{"protocol": "id3", "table": "visits", "permit": "2026-17", "tolerance": 0.01}]
    page = browser.get(f"/propose?like={node.add(permit='2026-17').id}").text
    assert re.search(r'name="permit" value="2026-17"', page)


def test_a_permit_that_the_node_lacks_is_told_at_its_field(node: FakeNode, browser: Browser) -> None:
    node.trouble = "permit: permits has no permit '2026-71' (did you mean '2026-17'?)"
    page = browser.send_form("/propose", table="visits", permit="2026-71", tolerance="0.01").text
    wrong = {str(fields["id"]) for tag, fields in Elements(page).tags if "aria-invalid" in fields}
    assert wrong == {"permit"}


def test_holders_of_rows_are_chosen_from_the_peers(node: FakeNode, browser: Browser) -> None:
    assert "Holders of rows" not in browser.get("/propose?kind=id3").text
    node.peers = ["university", "anna", "bert"]
    ticks = {"holders:anna": "on", "holders:bert": "on", "to:bert": "on"}
    typed = {"table": "visits", "peer": "university", "compute_only": "yes", "holder_table": "besuche", **ticks}
    typed["wait_hours"] = "24"
    assert browser.send_form("/propose", **typed, tolerance="0.01").status_code == 303
    chosen: dict[str, Any] = {"holders": ["anna", "bert"], "to": ["bert"], "compute_only": True}
    chosen |= {"holder_table": "besuche", "wait_hours": 24}
    head = {"protocol": "id3", "table": "visits", "peer": "university"}
    assert node.submitted == [{**head, **chosen, "tolerance": 0.01}]
    page = browser.get(f"/propose?like={node.add(table='visits', holding=chosen).id}").text
    assert re.findall(r'name="((?:holders|to):\w+)" checked', page) == [*ticks]
    assert '<option value="yes" selected>' in page
    assert re.search(r'name="wait_hours"[^>]* value="24"', page)
    wrong = browser.send_form("/propose", **{**typed, "tolerance": "much"}).text
    assert 'name="holders:bert" checked' in wrong
    assert 'name="holders:university" checked' not in wrong


@pytest.mark.parametrize("tables", [["visits"], []])
def test_what_is_typed_needs_no_table(node: FakeNode, browser: Browser, tables: list[str]) -> None:
    node.tables = tables
    page = browser.get("/propose?kind=equality").text
    assert ('<option value="">none' in page) == bool(tables)
    answer = browser.send_form("/propose", protocol="equality", table="", purpose="audit", value="1000000")
    assert answer.status_code == 303
    assert node.submitted == [{"protocol": "equality", "purpose": "audit", "value": 1000000}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tolerance", "a bit", "Tolerance</a>: must be a number"),
        ("max_depth", "4.5", "Most levels</a>: must be a whole number"),
        ("max_rows", "9" * 5000, "Row bound</a>: must be a whole number"),
        ("min_rows", "<b>", "&lt;b&gt;"),
        ("table", "nowhere", "there is no table"),
    ],
)
def test_a_bad_proposal_comes_back_as_typed(node: FakeNode, browser: Browser, name: str, text: str, said: str) -> None:
    typed = {"table": "visits", "purpose": 'a "quoted" purpose', "columns": "age, sex", name: text}
    answer = browser.send_form("/propose", **typed)
    assert answer.status_code == 400
    assert said in answer.text
    assert "a &#34;quoted&#34; purpose" in answer.text
    assert 'name="columns:sex" checked' in answer.text
    if name != "table":
        assert f'value="{html.escape(text)}"' in answer.text
        assert '<option value="visits" selected>' in answer.text
    assert node.submitted == []


def test_a_proposal_like_another(node: FakeNode, browser: Browser) -> None:
    job = node.add(table="visits", purpose="again")
    page = browser.get(f"/propose?like={job.id}").text
    assert '<option value="visits" selected>' in page
    assert 'value="again"' in page
    assert page.count(" checked>") == 4
    assert re.search(r'id="tolerance"[^>]*value="0.001"', page)
    assert browser.get("/propose?like=ffffffff").status_code == 400


@pytest.mark.parametrize("purpose", ["p\u0430yments", "n\u0336o", "a\u202eb"])
def test_a_job_like_another_takes_no_marks_along(browser: Browser, node: FakeNode, purpose: str) -> None:
    page = browser.get(f"/propose?like={node.add(purpose=purpose).id}").text
    assert 'id="purpose"' in page
    assert purpose not in page


def test_columns_of_the_schema_are_picked_and_others_typed(node: FakeNode, browser: Browser) -> None:
    page = browser.get("/propose?kind=id3").text
    assert page.count('type="checkbox" name="columns:smoker"') == len(node.tables)
    assert '<option value="readmitted" data-of="patients"></option>' in page
    ticks = {"columns:sex": "on", "columns:age": "on"}
    browser.send_form("/propose", table="patients", purpose="p", columns="other", **ticks)
    assert node.submitted[-1]["columns"] == ["other", "sex", "age"]
    again = browser.get(f"/propose?like={node.add(target='age', columns=['sex', 'age', 'x']).id}").text
    assert 'name="columns:sex" checked' in again
    assert 'name="columns:age" checked' not in again, "it is the target"
    assert 'name="columns" value="x"' in again


def test_columns_are_proposed_wherever_a_setting_names_one(browser: Browser) -> None:
    """Of kinds of other packages, too: by what the field says, not by its name."""
    with registered(("overlap", "examples.overlap:Overlap")):
        for kind, named in (
            ("overlap", {"column"}),
            ("publish joint-table", {"by", "across", "sum"}),
            ("circuit", set()),
        ):
            fields = [
                fields for tag, fields in Elements(browser.get(f"/propose?kind={kind}").text).tags if tag == "input"
            ]
            assert {one["id"] for one in fields if one.get("list") == "all-columns"} == named


def test_every_wrong_field_is_marked(node: FakeNode, browser: Browser) -> None:
    page = browser.send_form("/propose", table="patients", purpose="p", tolerance="a little", min_rows="some").text
    wrong = [fields["id"] for tag, fields in Elements(page).tags if "aria-invalid" in fields]
    assert sorted(str(name) for name in wrong) == ["min_rows", "tolerance"]
    assert '<p class="wrong" id="tolerance-wrong">must be a number, with a point as in 0.001, not' in page
    assert "aria-invalid" not in browser.get("/propose?kind=id3").text


@pytest.mark.parametrize(
    ("said", "fields", "marked"),
    [
        (
            "",
            {"tolerance": "2", "min_rows": "-1", "columns": "a"},
            {
                "columns": "&#39;a&#39; is not an attribute",
                "tolerance": "must be &lt;= 1",
                "min_rows": "must be &gt;= 0",
            },
        ),
        ("", {"against": "nobody", "tolerance": "x"}, {"against": "must be", "tolerance": "must be a number"}),
        ("peer: there is no 'x'; there are 'a', 'b'", {}, {"peer": "there is no &#39;x&#39;; there are &#39;a&#39;"}),
        ("table: there is no table; target: is missing", {}, {"table": "there is no", "target": "is missing"}),
        ("min_rows asks for exact counts: leave it out", {}, {"min_rows": "min_rows asks for exact counts"}),
        ("the purpose is not allowed; tolerance: too small", {}, {"tolerance": "too small"}),
        ("nothing works", {}, {}),
    ],
)
def test_fields_are_marked_however_they_are_named(
    node: FakeNode, browser: Browser, said: str, fields: dict[str, str], marked: dict[str, str]
) -> None:
    node.trouble, node.peers = said, ["university", "registry"]
    page = browser.send_form("/propose", table="visits", peer="registry", purpose="kept", **fields).text
    found = {fields["id"] for _, fields in Elements(page).tags if "aria-invalid" in fields}
    assert found == set(marked)
    for name, text in marked.items():
        assert f'<p class="wrong" id="{name}-wrong">{text}' in page
        assert f"{name}-wrong" in str(next(one for _, one in Elements(page).tags if one.get("id") == name))
    kept = {"purpose": "kept", **fields}
    assert all(f'value="{text}"' in page for name, text in kept.items() if name not in ("columns", "against"))
    assert '<option value="registry" selected>' in page


@pytest.mark.parametrize("kind", kinds.names())
def test_every_form_can_be_understood(browser: Browser, kind: str) -> None:
    """Each field has a name of its own and a hint; what must be given is said and comes first; no words of commands."""
    page = browser.get(f"/propose?kind={kind}").text
    tags = Elements(page).tags
    ids = {fields["id"] for _, fields in tags if "id" in fields}
    named = [fields["for"] for tag, fields in tags if tag == "label" and "for" in fields]
    asked = [f["id"] for tag, f in tags if tag in ("input", "select", "textarea") and f.get("name") == f.get("id")]
    assert set(asked) <= set(named)
    hints = {hint for _, fields in tags for hint in str(fields.get("aria-describedby") or "").split()}
    assert hints <= ids
    settings = kinds.find(kind).Settings
    needed = [one for one in public_parameters(settings) if one.is_needed]
    assert page.count("<small>needed") == len(needed)
    fields = [name for name in asked if name in {one.key for one in public_parameters(settings)}]
    assert set(fields[: len(needed)]) == {one.key for one in needed}
    assert not re.search(r"--[a-z]|FILE", re.sub("<[^>]*>", " ", page))
    for choices in re.findall(r"<select.*?</select>", page, re.DOTALL):
        words = re.findall(r">([^<,]+)[^<]*</option>", choices)
        assert len(words) == len(set(words)), "no choice stands there twice"


def test_a_question_comes_before_its_form(browser: Browser) -> None:
    page = browser.get("/propose?table=visits&purpose=audit").text
    links = [html.unescape(str(fields["href"])) for tag, fields in Elements(page).tags if tag == "a"]
    asked = [link for link in links if link.startswith("/propose?")]
    assert sorted(link.rpartition("kind=")[2].replace("+", " ") for link in asked) == sorted(kinds.names())
    assert all("table=visits" in link and "purpose=audit" in link for link in asked)
    assert "How many rows meet a condition?" in page
    with registered(("overlap", "examples.overlap:Overlap")):
        assert "kind=overlap" in browser.get("/propose").text, "of another package"


@pytest.mark.parametrize("kind", kinds.names())
def test_a_form_shows_first_what_its_question_needs(browser: Browser, kind: str) -> None:
    page = browser.get(f"/propose?kind={kind}").text
    seen, folds = page.split("<main")[1], 1
    while folds:  # from within: one may be in another
        seen, folds = re.subn(r"<details(?:(?!<details).)*?</details>", "", seen, flags=re.DOTALL)
    fields = {
        str(one["id"]) for tag, one in Elements(seen).tags if tag in ("input", "select", "textarea") and "id" in one
    }
    assert {one.key for one in public_parameters(kinds.find(kind).Settings) if one.is_needed} <= fields
    assert len(fields) <= 12, fields
    folded = [one for one in public_parameters(kinds.find(kind).Settings) if one.key not in fields]
    assert [one.key for one in folded if one.key in MEANS and "Left as it is" not in page] == []
    assert [one.key for one in folded if one.key not in MEANS and not one.is_needed and one.key != "analyst"] == []


def test_folded_settings_open_when_something_is_typed_or_wrong(browser: Browser) -> None:
    assert '<details class="more">' in browser.get("/propose?kind=id3").text
    page = browser.send_form("/propose", table="patients", purpose="p", min_rows="some").text
    assert '<details class="more" open>' in page


def test_what_is_missing_and_what_is_wrong_is_told_at_once(node: FakeNode, browser: Browser) -> None:
    page = browser.send_form("/propose", protocol="release sum", table="patients", by="ward", max_rows="few").text
    wrong = {str(fields["id"]) for tag, fields in Elements(page).tags if "aria-invalid" in fields}
    assert wrong == {"column", "epsilon", "by", "max_rows"}
    page = browser.send_form(
        "/propose", protocol="release sum", table="patients", column="age", exact="yes", by="ward"
    ).text
    assert "aria-invalid" not in page, "without noise there is no epsilon; the node knows its columns"
    assert node.submitted == [
        {"protocol": "release sum", "table": "patients", "column": "age", "exact": True, "by": ["ward"]}
    ]


def test_clusters_may_take_the_bounds_of_the_schema(node: FakeNode, browser: Browser) -> None:
    job: dict[str, object] = {"protocol": "cluster", "table": "patients", "columns": ["age"], "epsilon": 1.0}
    browser.send_form("/propose", protocol="cluster", table="patients", columns="age", epsilon="1")
    assert node.submitted == [job]


def test_columns_keep_the_order_that_was_given(node: FakeNode, browser: Browser) -> None:
    """What goes with them, such as bounds, goes by it: only columns in the table's order are ticks."""
    given = {"protocol": "cluster", "parameters": {"bounds": "0:9, 0:99"}, "target": ""}
    like = browser.get(f"/propose?like={node.add(columns=['sex', 'age'], **given).id}").text
    assert 'name="columns" value="sex, age"' in like
    assert "checked" not in like
    like = browser.get(f"/propose?like={node.add(columns=['age', 'sex'], **given).id}").text
    assert 'name="columns:sex" checked' in like
