"""What the pages say: jobs, results, the log; and that nobody's text is taken for markup."""

from __future__ import annotations

import re
from typing import Any

import pytest

from parties.operator.budget import LeftFor, Price
from parties.operator.interface import Asked, Verdict
from parties.web import listing, words
from tests.support.elements import Elements
from tests.support.fake_node import ORIGIN, Browser, FakeNode
from tests.support.hostile import HOSTILE

APPROVED = Verdict(verdict="approved", by="proposer", at="2026-03-01T12:00:00+00:00")
WAITING = Verdict(verdict="waiting")


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


def test_a_certificate_that_ends_is_a_note_above_the_jobs(node: FakeNode, browser: Browser) -> None:
    note = "university's certificate ends on 2026-04-01 12:00 UTC: ask university for a new one"
    assert "certificate ends" not in browser.get("/").text
    node.peers, node.warning = ["university", "registry"], note  # of two peers, and told once
    assert Elements(browser.get("/").text).text.count(f"Note: {note}") == 1


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


def test_a_tab_names_page_and_node(node: FakeNode, browser: Browser) -> None:
    job = node.add(protocol="id3", state="done", ours=APPROVED, theirs=APPROVED)
    signed_out = Browser(node, signed_in=False)
    paths = ["/", "/tables", "/budget", "/audit", "/propose", "/propose?kind=id3", "/propose?kind=equality"]
    pages = [*map(browser.get, (*paths, f"/jobs/{job.id}", "/nothing")), signed_out.get("/")]
    titles = [re.search("<title>(.*)</title>", page.text)[1] for page in pages]  # type: ignore[index]
    assert all(title.endswith(" – hospital") for title in titles), titles
    assert len(set(titles)) == len(titles), "no two tabs are alike"
    assert titles[-3:] == ["Decision tree for readmitted – hospital", "Not Found – hospital", "Sign in – hospital"]


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
    assert "[tables.NAME]" in browser.get("/propose?kind=id3").text


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
    facts = ["predicts readmitted", "age, sex, smoker, blood_pressure, readmitted", "patients", "patienten",
             "quality of care", "0.001", "65,535", job.digest, job.id, "9.4 MB", "172", "100 Mbit/s, 20 ms",
             *job.reveals]  # fmt: skip
    assert [fact for fact in facts if fact not in text] == []


def test_many_columns_are_folded_and_all_are_there(node: FakeNode, browser: Browser) -> None:
    names = [f"c{i}" for i in range(57)]
    page = browser.get(f"/jobs/{node.add(columns=names).id}").text
    before, _, after = page.partition('<details id="more-columns"><summary>45 more</summary>')
    shown = [[name for name in names if f'<bdi class="name">{name}</bdi>' in part] for part in (before, after)]
    assert shown == [names[:12], names[12:]]
    assert "more-columns" not in browser.get(f"/jobs/{node.add(columns=names[:12]).id}").text


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


def test_a_result_is_withdrawn_once(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    assert "/withdraw" not in browser.get(f"/jobs/{job.id}").text
    node.change(job.id, state="done", ours=APPROVED, withdrawn=["by clinic, 2026-03-01: a <patient>"])
    assert '<span class="badge">withdrawn</span>' in browser.get("/").text
    form = browser.get(f"/jobs/{job.id}").text.partition(f'action="/jobs/{job.id}/withdraw"')[2]
    assert 'maxlength="500" required></textarea>' in form
    answer = browser.send_form(f"/jobs/{job.id}/withdraw", page="job", why="art. 17")
    assert answer.status_code == 303
    page = browser.get(answer.headers["location"])
    assert "You withdrew the result of" in page.text
    assert "not to be used: <bdi>by us, " in page.text
    assert ": art. 17</bdi>" in page.text
    assert "/withdraw" not in page.text


@pytest.mark.parametrize("page", ["overview", "job"])
def test_what_the_node_refuses_is_said_where_one_is(node: FakeNode, browser: Browser, page: str) -> None:
    job = node.add(purpose="the only purpose")
    node.trouble = "the peer has just <withdrawn> this job"
    answer = browser.send_form(f"/jobs/{job.id}/refuse", page=page, why="typed text")
    assert answer.status_code == 400
    assert "the peer has just &lt;withdrawn&gt; this job" in answer.text
    assert ">typed text</textarea>" in answer.text
    assert "the only purpose" in answer.text
    assert 'data-news="/news"' in answer.text


def test_a_refusal_needs_a_reason(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    answer = browser.send_form(f"/jobs/{job.id}/refuse", page="job", why="  ")
    assert answer.status_code == 400
    assert "give a reason for the refusal" in answer.text
    assert node.job(job.id).state == "waiting"


def test_a_decision_on_a_job_that_is_gone_is_a_404(browser: Browser) -> None:
    assert browser.send_form("/jobs/ffffffff/approve", page="job").status_code == 404


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


def test_one_peer_of_several_is_away(node: FakeNode, browser: Browser) -> None:
    node.peers, node.away = ["university", "registry", "lab"], ["lab"]
    text = " ".join(Elements(browser.get("/").text).text.split())
    assert "2 of 3 peers connected, not lab" in text
    assert text.count("its jobs wait until it is") == 1
    node.away = []
    assert "connected to university, registry, lab" in " ".join(Elements(browser.get("/").text).text.split())


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
        older = re.search(r'<a href="(/\?before=[0-9a-f]{32})#over" rel="next">Older</a>', page)
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
        form = browser.get(f"/propose?kind=id3&table={name}").text
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
    assert "against.svg" in browser.get("/propose?kind=id3").text
    answer = browser.get("/static/against.svg")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")


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


def test_rules_without_bounds_and_what_would_be_left_are_shown(node: FakeNode, browser: Browser) -> None:
    node.unbounded = ["rule 'all' permits without a bound: it lacks epsilon.at_most"]
    assert "permits without a bound" in browser.get("/").text
    left = [LeftFor(what="noisy count", epsilon=0.1, times=7)]
    price = Price(
        epsilon=1, at=0, rho=0.5, delta=0, adjacency="add-remove", uses=[], left=3.0, after=2.0, enough_for=left
    )
    job = node.add(price=price)
    for path in ("/", f"/jobs/{job.id}"):
        form = re.search(r'action="/jobs/[0-9a-f]+/approve".*?</form>', browser.get(path).text, re.DOTALL)
        assert form is not None
        assert "epsilon 3 is left, after it 2, enough for 7 noisy counts of epsilon 0.1" in form[0]
    node.change(job.id, price=price.model_copy(update={"left": None}))
    assert "is left" not in browser.get("/").text
