"""The page of jobs when there are many: words and states choose, pages follow on, nothing is lost or shown twice."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.operator.interface import Verdict
from parties.web import listing
from parties.web.listing import Choice
from tests.support.fake_node import Browser, FakeNode, job_view

APPROVED = Verdict(verdict="approved", by="proposer")


@pytest.fixture
def node() -> FakeNode:
    """Three hundred jobs of many kinds and states."""
    made = FakeNode()
    for i in range(300):
        job = made.add(purpose=f"study {i} of {'ward' if i % 3 else 'hearts'}", table="visits" if i % 2 else "patients")
        if i % 5 == 0:
            made.finish(job.id)
        elif i % 5 == 1:
            made.refuse(job.id, "no vote")
        elif i % 5 == 2:
            made.change(job.id, state="queued", ours=APPROVED)
        elif i % 5 == 3:
            made.cancel(job.id)
    return made


def rows(page: str) -> list[str]:
    return re.findall(r'<article class="row[^"]*" id="job-([0-9a-f]{32})"', page)


def all_rows(browser: Browser, path: str) -> list[str]:
    seen = []
    while path:
        page = browser.get(path).text
        seen += rows(page)
        assert len(rows(page)) <= listing.PAGE
        older = re.search(r'<a href="(/\?[^"]*)" rel="next">Older', page)
        path = older[1].replace("&amp;", "&") if older else ""
    return seen


@pytest.mark.parametrize(
    ("query", "takes"),
    [
        ("q=hearts", lambda i: i % 3 == 0),
        ("q=VISITS+hearts", lambda i: i % 6 == 3),
        ("state=done", lambda i: i % 5 == 0),
        ("state=ours", lambda i: i % 5 == 4),
        ("state=open", lambda i: i % 5 == 2),
        ("state=ended", lambda i: i % 5 in (0, 1, 3)),
        ("q=ward&state=refused", lambda i: i % 3 != 0 and i % 5 == 1),
        ("q=study+299", lambda i: i == 299),
        ("q=nothing+like+it", lambda i: False),
    ],
)
def test_words_and_states_choose_over_all_pages(node: FakeNode, browser: Browser, query: str, takes: object) -> None:
    jobs = node.jobs(300)[::-1]
    wanted = [job.id for i, job in enumerate(jobs) if takes(i)]  # type: ignore[operator]
    assert all_rows(browser, f"/?{query}") == wanted[::-1]


def test_the_first_page_has_the_newest_of_each_and_leads_to_the_rest(browser: Browser) -> None:
    page = browser.get("/").text
    assert len(rows(page)) == len(set(rows(page))) == 3 * listing.PAGE
    assert '<a href="/?state=ours">All 60</a>' in page
    assert '<a href="/?state=open">All 60</a>' in page
    assert len(page) < 400_000


def test_a_decision_leads_back_to_the_same_choice_and_says_what_happened(node: FakeNode, browser: Browser) -> None:
    job = node.jobs(1)[0]
    answer = browser.send_form(f"/jobs/{job.id}/refuse", page="overview", query="q=ward&state=ours", why="no")
    assert answer.headers["location"] == f"/?q=ward&state=ours&decided={job.id}"
    page = browser.get(answer.headers["location"]).text
    assert f">You refused “Decision tree for readmitted” ({job.purpose}).</p>" in page
    assert job.id not in rows(page)
    assert 'value="ours" selected' in page


def test_what_is_said_is_read_off_the_job(node: FakeNode, browser: Browser) -> None:
    done = next(job for job in node.jobs(300) if job.state == "done")
    assert "You approved “" in browser.get(f"/?decided={done.id}").text
    for other in ("ffffffff", "<b>x</b>"):
        assert (
            '<p id="said" class="said" role="status" tabindex="-1" data-keep></p>'
            in browser.get(f"/?decided={other}").text
        )


def test_not_all_jobs_are_searched_and_it_says_so(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "CHUNK", 20)
    monkeypatch.setattr(listing, "LOOKED_AT", 100)
    assert "Older jobs were not searched" in browser.get("/?q=visits+hearts").text


@given(st.text(max_size=30), st.sampled_from(list(listing.STATES)), st.text("0123456789abcdef", max_size=32))
def test_a_choice_survives_an_address(words: str, state: str, before: str) -> None:
    choice = Choice.read({"q": words, "state": state, "before": before})
    assert Choice.of(choice.query()) == choice


@given(st.text(max_size=60))
def test_no_query_leads_elsewhere(query: str) -> None:
    assert re.fullmatch(r"((q|state|before)=[\w.~%+*-]+&?)*", Choice.of(query).query(), re.ASCII)


def test_who_searches_or_turns_the_page_goes_on_at_the_list(node: FakeNode, browser: Browser) -> None:
    """With the keyboard alone: not at the top of the page again."""
    for _ in range(30):
        node.finish(node.add().id)
    for address, place in (("/", "over"), ("/?q=research", "found")):
        page = browser.get(address).text
        assert f'#{place}" rel="next">Older' in page
        assert f'<section id="{place}"' in page
        assert 'action="/#found"' in page


COSTS = {"a": 5, "b": 900, "c": 70}


def in_page(page: str) -> list[str]:
    """The jobs of a page, by the first letters of their peers."""
    return re.findall(r"by <bdi>([abc])", page)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", "cba"),
        ("-date", "abc"),
        ("peer", "abc"),
        ("-peer", "cba"),
        ("kind", "bca"),
        ("cost", "bca"),
        ("state", "bca"),
        ("nothing", "cba"),
    ],
)
def test_jobs_are_sorted_by_what_the_address_says(node: FakeNode, browser: Browser, sort: str, order: str) -> None:
    node.clear()
    kinds, states = {"a": "Zeta", "b": "Alpha", "c": "Beta"}, {"a": "failed", "b": "done", "c": "refused"}
    for day, peer in enumerate("abc", 1):
        cost = None if COSTS[peer] == 5 else job_view("0" * 32).cost.model_copy(update={"bytes": COSTS[peer]})
        ended = f"2026-03-0{day}T12:00:00+00:00"
        node.add(
            f"{day}" * 32,
            peer=peer,
            title=kinds[peer],
            state=states[peer],
            cost=cost,
            ended_at=ended,
        )
    assert "".join(in_page(browser.get(f"/?sort={sort}").text)) == order


def test_sorted_jobs_are_paged_and_the_order_is_kept(node: FakeNode, browser: Browser) -> None:
    node.clear()
    for number in range(60):
        node.add(f"{number:032x}", peer=f"p{(7 * number) % 60:02}", state="done", ended_at="2026-03-01T12:00:00+00:00")
    address, seen = "/?sort=peer&state=done", []
    while address:
        page = browser.get(address).text
        seen += re.findall(r"by <bdi>(p[0-9]{2})", page)
        following = re.search(r'href="([^"]*)" rel="next"', page)
        address = following[1].replace("&amp;", "&") if following else ""
    assert seen == [f"p{number:02}" for number in range(60)]
    assert 'name="sort" value="peer"' in page
    assert "sort=-peer" in page, "the link turns it round"
    assert browser.get("/?sort=peer&before=ffff").status_code == 404
