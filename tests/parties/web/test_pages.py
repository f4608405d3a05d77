"""What the pages say: jobs, results, the log, the form; and that nobody's text is taken for markup."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from parties.operator.budget import Price
from parties.operator.interface import Asked, Verdict
from parties.trees.text import to_dot, to_text
from parties.trees.tree import Noise, TreeFile, size
from parties.web import listing, results, words
from tests.support.fake_node import ORIGIN, Browser, FakeNode, tree, wide_tree
from tests.support.hostile import HOSTILE

APPROVED = Verdict(verdict="approved", by="proposer", at="2026-03-01T12:00:00+00:00")
WAITING = Verdict(verdict="waiting")


class Elements(HTMLParser):
    """All start tags with their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def node() -> FakeNode:
    return FakeNode()


@pytest.fixture
def browser(node: FakeNode) -> Browser:
    return Browser(node)


SVG = {"id", "class", "xmlns", "viewbox", "preserveaspectratio", "width", "height", "font-family", "tabindex", "role"}
SVG |= {"aria-hidden", "aria-label"}


@pytest.mark.parametrize("text", [*HOSTILE, "long " * 20_000])
def test_what_others_wrote_is_text(node: FakeNode, browser: Browser, text: str) -> None:
    fields: dict[str, Any] = {
        "purpose": text, "peer": text, "target": text, "table": text, "peer_table": text, "why": text,
        "columns": [text, "other"], "reveals": [text], "protocol": "id3", "parameters": {text: text, "delta": 0.1},
        "theirs": Verdict(verdict="approved", by=f"rule {text}", reason=text, at=text),
    }  # fmt: skip
    waiting = node.add(**fields)
    running = node.add(**fields)
    node.run(running.id, 1.0, None)
    over = node.add(**fields)
    node.refuse(over.id, text)
    done = node.add(**{**fields, "target": "readmitted"})
    node.finish(done.id)
    node.note(text, text, **{"field": text, text: [text]})
    pages = ["/", "/audit", "/budget", "/tables", "/propose"]
    pages += [f"/jobs/{job.id}" for job in (waiting, running, over, done)]
    for path in [*pages, f"/propose?like={waiting.id}"]:
        answer = browser.get(path)
        assert answer.status_code == 200
        elements = Elements(answer.text)
        assert {tag for tag, _ in elements.tags} & {"script", "img", "b", "svg"} <= {"script", "svg", "img"}
        for tag, attributes in elements.tags:
            assert not any(name.startswith("on") or name == "style" for name in attributes)
            assert tag != "script" or (attributes["src"] or "").startswith("/static/")
            assert tag != "img" or (attributes["src"] or "").startswith(("/jobs/", "/static/"))
            assert tag != "svg" or set(attributes) <= SVG
        if path != f"/propose?like={waiting.id}":  # fields must hold what was written
            assert not re.search("[\u200f\u202e\u2066\0\x1b]", answer.text)
        assert len(answer.text) < 400_000


def test_short_hostile_texts_are_still_readable(node: FakeNode, browser: Browser) -> None:
    node.add(purpose=HOSTILE[0])
    assert HOSTILE[0] in Elements(browser.get("/").text).text
    assert "safe\\u202eevil" in words.shown(HOSTILE[3])
    assert words.shown("אבג \u200c ü 漢") == "אבג \u200c ü 漢"


def test_the_overview_puts_what_waits_for_us_first(node: FakeNode, browser: Browser) -> None:
    node.finish(node.add(purpose="purpose-done").id)
    node.add(purpose="purpose-theirs", ours=APPROVED, theirs=WAITING)
    node.run(node.add(purpose="purpose-running").id, 10.0, 5.0)
    node.add(purpose="purpose-ours")
    page = browser.get("/").text
    order = [page.index(f"purpose-{which}") for which in ("ours", "running", "theirs", "done")]
    assert order == sorted(order)
    assert page.count("/approve") == 1
    assert "<title>(1) Jobs" in page


def test_a_job_that_a_rule_permits_asks_for_what_is_typed(node: FakeNode, browser: Browser) -> None:
    rule = Verdict(verdict="approved", by="rule small questions")
    asked = [Asked(name="value", title="Number", help="Own number, private")]
    job = node.add(protocol="equality", state="queued", ours=rule, asked=asked)
    page = browser.get("/").text
    assert "waits for your input" in page
    assert "<title>(1) Jobs" in page
    assert 'name="typed-value"' in page.partition('id="for-us"')[2].partition("</section>")[0]
    browser.send_form(f"/jobs/{job.id}/approve", page="job", **{"typed-value": "12"})
    assert node.typed == {"value": 12}


def test_empty_pages_say_what_to_do(node: FakeNode, browser: Browser) -> None:
    assert "Propose one" in browser.get("/").text
    assert "Nothing has happened yet" in browser.get("/audit").text
    assert not any('class="paging"' in browser.get(path).text for path in ("/", "/audit"))
    node.tables = []
    assert "[tables.NAME]" in browser.get("/propose").text


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [(WAITING, APPROVED, "your"), (APPROVED, WAITING, "the peer’s"), (WAITING, WAITING, "both")],
)
def test_whose_consent_is_missing(node: FakeNode, browser: Browser, ours: Any, theirs: Any, said: str) -> None:
    job = node.add(ours=ours, theirs=theirs)
    assert f"waits for {said} consent" in browser.get(f"/jobs/{job.id}").text


def test_a_job_shows_all_that_is_to_be_agreed_on(node: FakeNode, browser: Browser) -> None:
    job = node.add(purpose="quality of care")
    text = " ".join(Elements(browser.get(f"/jobs/{job.id[:6]}").text).text.split())
    facts = ["predicts readmitted", "age, sex, smoker, blood_pressure", "patients", "patienten", "quality of care",
             "0.001", "65,535", job.digest, job.id, "9.4 MB", "172", "100 Mbit/s, 20 ms", *job.reveals]  # fmt: skip
    assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize("page", ["overview", "job"])
def test_decisions_lead_back_to_their_page(node: FakeNode, browser: Browser, page: str) -> None:
    yes, no, stop = (node.add() for _ in range(3))
    node.change(stop.id, state="queued", ours=APPROVED)

    def place(job: Any) -> str:
        return f"{'/' if page == 'overview' else f'/jobs/{job.id}'}?decided={job.id}"

    answer = browser.send_form(f"/jobs/{yes.id}/approve", page=page)
    assert (answer.status_code, answer.headers["location"]) == (303, place(yes))
    answer = browser.send_form(f"/jobs/{no.id}/refuse", page=page, why="  too early ")
    assert (answer.status_code, answer.headers["location"]) == (303, place(no))
    answer = browser.send_form(f"/jobs/{stop.id}/cancel", page=page, why="")
    assert (answer.status_code, answer.headers["location"]) == (303, place(stop))
    assert [node.job(job.id).state for job in (yes, no, stop)] == ["queued", "refused", "cancelled"]
    assert node.job(no.id).ours.reason == "too early"


@pytest.mark.parametrize("page", ["overview", "job"])
def test_what_the_node_refuses_is_said_where_one_is(node: FakeNode, browser: Browser, page: str) -> None:
    job = node.add(purpose="the only purpose")
    node.trouble = "the peer has just <withdrawn> this job"
    answer = browser.send_form(f"/jobs/{job.id}/refuse", page=page, why="typed text")
    assert answer.status_code == 400
    assert "the peer has just &lt;withdrawn&gt; this job" in answer.text
    assert ">typed text</textarea>" in answer.text
    assert "the only purpose" in answer.text
    assert f'data-news="/news{"" if page == "overview" else f"?job={job.id}"}"' in answer.text


def test_a_refusal_needs_a_reason(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    answer = browser.send_form(f"/jobs/{job.id}/refuse", page="job", why="  ")
    assert answer.status_code == 400
    assert "say why you refuse" in answer.text
    assert node.job(job.id).state == "waiting"


def test_a_decision_on_a_job_that_is_gone_is_a_404(browser: Browser) -> None:
    assert browser.send_form("/jobs/ffffffff/approve", page="job").status_code == 404


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


def test_a_result_in_words_and_files(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    node.finish(job.id)
    text = " ".join(Elements(browser.get(f"/jobs/{job.id}").text).text.split())
    for fact in ("6 questions, 12 leaves, depth 4", "chosen attribute5", "Both have signed", "5.1 MB", "as agreed"):
        assert fact in text
    file = browser.get(f"/jobs/{job.id}/tree.json")
    assert TreeFile.parse(file.json()).tree == tree()
    assert file.headers["content-disposition"] == f'attachment; filename="tree-{job.id[:8]}.json"'
    assert browser.get(f"/jobs/{job.id}/tree.txt").text == to_text(tree())
    assert browser.get(f"/jobs/{job.id}/tree.dot").text == to_dot(tree(), "readmitted")
    assert "<title>Decision tree for readmitted</title>" in browser.get(f"/jobs/{job.id}/tree.svg").text
    assert browser.get(f"/jobs/{job.id}/result.json").json()["opened"] == node.result(job.id).opened


def test_a_forest_with_noise_in_words(node: FakeNode, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    job = node.add()
    node.finish(job.id)
    made = TreeFile("5" * 64, "readmitted", None, tree(), Noise(0.5, "replace", "gini"), (tree(), tree()))
    result = node.result(job.id).model_copy(update={"document": made.fields()})
    monkeypatch.setattr(node, "result", lambda identifier: result)
    text = " ".join(Elements(browser.get(f"/jobs/{job.id}").text).text.split())
    assert "18 questions, 36 leaves, depth 4." in text
    assert "3 trees, each of rows of its own, vote." in text
    assert "with epsilon 0.5 for a row replaced, attributes compared by gini." in text
    assert "tree 3" in browser.get(f"/jobs/{job.id}/tree.txt").text


@pytest.mark.parametrize("name", ["tree.json", "tree.svg", "picture"])
def test_there_is_no_result_before_the_end(node: FakeNode, browser: Browser, name: str) -> None:
    job = node.add()
    assert browser.get(f"/jobs/{job.id}/{name}").status_code == 404


def test_the_outline_is_well_nested(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    node.finish(job.id)
    page = browser.get(f"/jobs/{job.id}").text
    outline = page[page.index('<details class="outline"') : page.index('<p class="downloads"')]
    open_tags: list[str] = []
    for closing, tag in re.findall(r"<(/?)(ul|li|details|summary|strong|bdi)\b", outline):
        if closing:
            assert open_tags.pop() == tag
        else:
            open_tags.append(tag)
    assert open_tags == []
    assert outline.count("<li>") == size(tree()).nodes
    lines = results.brought(node.result(job.id)).shown.outline
    assert lines is not None
    assert lines[-1].ends == 2


def test_large_trees_are_files_only(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    node.finish(job.id, wide_tree(6, 4))
    page = browser.get(f"/jobs/{job.id}").text
    assert "too large to draw" in page
    assert 'class="tree-picture"' not in page
    assert browser.get(f"/jobs/{job.id}/tree.json").status_code == 200


def test_a_tree_that_cannot_be_read_is_said(node: FakeNode, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    job = node.add()
    node.finish(job.id)
    result = node.result(job.id).model_copy(update={"document": {"class": "yes"}})
    monkeypatch.setattr(node, "result", lambda identifier: result)
    answer = browser.get(f"/jobs/{job.id}")
    assert answer.status_code == 200
    assert "the tree of this job cannot be read" in answer.text


def test_the_audit_log_in_pages(node: FakeNode, browser: Browser) -> None:
    for i in range(120):
        node.note("tick", None, count=i)
    first = browser.get("/audit").text
    assert "The log is whole: 120 entries" in first
    assert re.findall(r'id="entry-(\d+)"', first) == [str(i) for i in range(120, 70, -1)]
    second = browser.get("/audit?before=71").text
    assert re.findall(r'id="entry-(\d+)"', second) == [str(i) for i in range(70, 20, -1)]
    last = browser.get("/audit?before=21").text
    assert "?before=" not in last
    assert "Newest" in last
    assert browser.get("/audit?before=nonsense").text.count("<tr id=") == 50
    node.tamper(100, count="<i>x</i>")
    page = browser.get("/audit").text
    assert "not whole" in page
    assert "entry 100 was changed" in page


def test_a_lost_peer_is_said(node: FakeNode, browser: Browser) -> None:
    node.connected = False
    page = browser.get("/").text
    assert "not connected" in page
    assert "192.0.2.7:7000 does not answer" in page


def test_the_browser_needs_the_login_for_the_live_page_only(node: FakeNode) -> None:
    assert Browser(node, signed_in=False).get("/static/explore.js").status_code == 200
    assert Browser(node).get(f"{ORIGIN}/static/../app.py").status_code == 404


def test_the_jobs_in_pages(node: FakeNode, browser: Browser) -> None:
    """However many have ended, a page shows some, and what is open is on the first whatever came after it."""
    assert listing.PAGE < 60
    waiting = node.add(ours=WAITING, theirs=APPROVED)
    over = [node.add() for _ in range(60)]
    for job in over:
        node.cancel(job.id)
    seen: list[str] = []
    path: str | None = "/"
    while path is not None:
        page = browser.get(path).text
        assert len(page) < 120_000
        assert (waiting.id in page) == (path == "/")
        seen += re.findall(r'<article class="row" id="job-([0-9a-f]{32})"', page)
        older = re.search(r'<a href="(/\?before=[0-9a-f]{32})" rel="next">Older</a>', page)
        path = older[1] if older else None
    assert seen == [job.id for job in reversed(over)]
    assert browser.get("/?before=" + "0" * 32).status_code == 404


def test_budgets_are_a_bar_a_table_and_what_each_job_cost(node: FakeNode, browser: Browser) -> None:
    page = browser.get("/budget").text
    assert page.count("<progress ") == 1, "a table without a budget has no bar"
    assert 'max="4.0" value="2.25"' in page
    assert "permute and flip: epsilon 0.75, delta 1e-12" in page
    assert "over: it counts no more" in page
    assert "none: nothing is refused" in page
    assert page.count('<path class="spent"') == page.count('<path class="bound"') == 1, "nothing is spent of the other"
    assert "up to 2.5; the line is the budget, 4<" in page


def test_our_tables_with_their_columns_and_ways_on(node: FakeNode, browser: Browser) -> None:
    page = browser.get("/tables").text
    columns = node.node().columns
    assert page.count("<section") == len(columns) > 0
    for name, of in columns.items():
        assert all(f"<bdi>{column}</bdi>" in page for column in of)
        form = browser.get(f"/propose?table={name}").text
        assert f'href="/propose?table={name}"' in page
        assert re.search(rf'<option[^>]*value="{name}"[^>]* selected|<option value="{name}" selected', form)


def test_the_price_of_a_job(node: FakeNode, browser: Browser) -> None:
    known = {"at": 0.0, "rho": 0.5, "delta": 0.0, "adjacency": "add-remove", "uses": ["discrete Laplace: epsilon 1"]}
    price = Price(epsilon=1.0, **known)
    spent = node.add(price=price.model_copy(update={"charged_at": "2026-03-01T12:00:00+00:00"}))
    again = node.add(price=price.model_copy(update={"repeats": spent.id}))
    for job in (spent, again):
        node.finish(job.id)
    assert "spent, <time" in browser.get(f"/jobs/{spent.id}").text
    assert f"it returns the result of job {spent.id[:8]}" in browser.get(f"/jobs/{again.id}").text
    rows = re.findall(r'<span data-label="epsilon">(.*?)</span>', browser.get("/").text)
    assert rows == ["0", "1"]


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"k": 5, "l": 1.0, "t": 1.0, "against": "peer"}, True),
        ({"k": 1, "l": 2.0, "t": 1.0, "against": "public"}, True),
        ({"k": 1, "l": 1.0, "t": 0.3, "against": "public"}, True),
        ({"k": 1, "l": 1.0, "t": 1.0, "against": "peer"}, False),  # there is no rule
        ({"k": 5}, False),
    ],
)
def test_rules_come_with_a_picture_of_whom_they_are_against(
    node: FakeNode, parameters: dict[str, Any], shown: bool
) -> None:
    job = node.add(parameters=parameters)
    browser = Browser(node)
    pictures = [tag for tag in Elements(browser.get(f"/jobs/{job.id}").text).tags if tag[0] == "img"]
    assert [tag[1]["src"] for tag in pictures] == (["/static/against.svg"] if shown else [])
    assert "against.svg" in browser.get("/propose").text
    answer = browser.get("/static/against.svg")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")


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


@pytest.mark.parametrize(
    ("entries", "said"), [(50, None), (51, "1 earlier entry is not"), (1300, "1,250 earlier entries are not")]
)
def test_the_audit_says_how_many_entries_it_hides(
    node: FakeNode, browser: Browser, entries: int, said: str | None
) -> None:
    for _ in range(entries):
        node.note("tick", None)
    page = browser.get("/audit").text
    assert (said is None) == ('id="hidden"' not in page)
    assert said is None or said in page
    assert ("Older entries are like that" in browser.get("/audit?q=tick").text) == (entries > 50)


def test_the_audit_log_in_words_and_searched(node: FakeNode, browser: Browser) -> None:
    for i in range(130):
        node.note("tick" if i % 2 else "tock", None, count=i, nothing=None, names=["a", "b"], digest="9" * 64)
    page = browser.get("/audit?q=tick").text
    assert re.findall(r'id="entry-(\d+)"', page) == [str(i) for i in range(130, 30, -2)]
    assert 'href="/audit?q=tick&amp;before=32"' in page.replace("&before", "&amp;before")
    older = browser.get("/audit?q=tick&before=32").text
    assert re.findall(r'id="entry-(\d+)"', older) == [str(i) for i in range(30, 0, -2)]
    assert "<bdi>a, b</bdi>" in page
    assert "nothing" not in page
    assert f"<bdi>{'9' * 23}…</bdi>" in page
    assert "No entry is like that" in browser.get("/audit?q=absent").text
