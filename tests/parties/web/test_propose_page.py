"""The form of a proposal: what becomes of it, what is wrong with it, what it offers."""

from __future__ import annotations

import html
import re

import pytest

from tests.support.elements import Elements
from tests.support.fake_node import Browser, FakeNode
from tests.support.registry import registered


def test_a_proposal_becomes_a_job_file(node: FakeNode, browser: Browser) -> None:
    answer = browser.send_form(
        "/propose", table="visits", peer_table="besuche", purpose=" audit ", target="outcome",
        columns="age, sex,\nsmoker ,", delta="0.01", min_rows="5", max_depth="", max_rows="1000",
    )  # fmt: skip
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/jobs/{node.jobs()[0].id}"
    assert node.submitted == [
        {
            "protocol": "id3", "table": "visits", "peer_table": "besuche", "purpose": "audit", "target": "outcome",
            "columns": ["age", "sex", "smoker"], "delta": 0.01, "min_rows": 5, "max_rows": 1000,
        }
    ]  # fmt: skip


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
        ("delta", "a bit", "delta: must be a number"),
        ("max_depth", "4.5", "max_depth: must be a whole number"),
        ("max_rows", "9" * 5000, "max_rows: must be a whole number"),
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
    assert 'name="column:sex" checked' in answer.text
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
    assert re.search(r'id="delta"[^>]*value="0.001"', page)
    assert browser.get("/propose?like=ffffffff").status_code == 400


def test_columns_of_the_schema_are_picked_and_others_typed(node: FakeNode, browser: Browser) -> None:
    page = browser.get("/propose").text
    assert page.count('type="checkbox" name="column:smoker"') == len(node.tables)
    assert '<option value="readmitted" data-of="patients"></option>' in page
    ticks = {"column:sex": "on", "column:age": "on"}
    browser.send_form("/propose", table="patients", purpose="p", columns="other", **ticks)
    assert node.submitted[-1]["columns"] == ["other", "sex", "age"]
    again = browser.get(f"/propose?like={node.add(target='age', columns=['sex', 'age', 'x']).id}").text
    assert 'name="column:sex" checked' in again
    assert 'name="column:age" checked' not in again, "it is the target"
    assert 'name="columns" value="x"' in again


def test_columns_are_proposed_wherever_a_setting_names_one(browser: Browser) -> None:
    """Of kinds of other packages, too: by what the field says, not by its name."""
    with registered(("overlap", "examples.overlap:Overlap")):
        for kind, named in (
            ("overlap", {"column"}),
            ("publish-joint-table", {"by", "across", "sum"}),
            ("circuit", set()),
        ):
            fields = [
                fields for tag, fields in Elements(browser.get(f"/propose?kind={kind}").text).tags if tag == "input"
            ]
            assert {one["id"] for one in fields if one.get("list") == "all-columns"} == named


def test_every_wrong_field_is_marked(node: FakeNode, browser: Browser) -> None:
    page = browser.send_form("/propose", table="patients", purpose="p", delta="a little", min_rows="some").text
    wrong = [fields["id"] for tag, fields in Elements(page).tags if "aria-invalid" in fields]
    assert sorted(str(name) for name in wrong) == ["delta", "min_rows"]
    assert '<p class="wrong" id="delta-wrong">must be a number, with a point as in 0.001, not' in page
    assert "aria-invalid" not in browser.get("/propose").text


@pytest.mark.parametrize(
    ("said", "fields", "marked"),
    [
        (
            "",
            {"delta": "2", "min_rows": "-1", "columns": "a"},
            {"delta": "must be &lt;= 1", "min_rows": "must be &gt;= 0"},
        ),
        ("", {"against": "nobody", "delta": "x"}, {"against": "must be", "delta": "must be a number"}),
        ("peer: there is no 'x'; there are 'a', 'b'", {}, {"peer": "there is no &#39;x&#39;; there are &#39;a&#39;"}),
        ("table: there is no table; target: is missing", {}, {"table": "there is no", "target": "is missing"}),
        ("min_rows asks for exact counts: leave it out", {}, {"min_rows": "min_rows asks for exact counts"}),
        ("the purpose is not allowed; delta: too small", {}, {"delta": "too small"}),
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
