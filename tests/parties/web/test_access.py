"""Who may use the page, and what every answer tells the browser: logins, sessions, forms, hosts, headers, errors."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from parties.web import api, login
from parties.web.app import make_app
from parties.web.guard import HEADERS
from parties.web.login import Logins, is_from
from parties.web.visits import MAX_FORM
from tests.support.fake_node import ORIGIN, Browser, FakeNode

PATHS = [
    "/",
    "/propose",
    "/audit",
    "/budget",
    "/tables",
    "/jobs/abcd",
    "/jobs/abcd/tree.json",
    "/jobs/abcd/picture",
]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def token(link: str) -> str:
    return link.split("token=")[1]


def test_a_link_works_once_and_leaves_the_address() -> None:
    browser = Browser(FakeNode(), signed_in=False)
    link = browser.logins.link(ORIGIN)
    answer = browser.get(link)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert re.match(r"smc-session-7080=[\w-]{43}; HttpOnly; Path=/; SameSite=strict$", cookie)
    assert browser.get("/").status_code == 200
    again = Browser(FakeNode(), browser.logins, signed_in=False).get(link)
    assert again.status_code == 401
    assert "smc web" in again.text
    assert "has been used" in again.text
    assert "set-cookie" not in again.headers


def test_looking_at_a_link_does_not_use_it_up() -> None:
    browser = Browser(FakeNode(), signed_in=False)
    link = browser.logins.link(ORIGIN)
    assert browser.head(link).status_code == 200
    assert browser.get(link).status_code == 303


@pytest.mark.parametrize("wrong", ["", "x", "é" * 40, "\0", "a" * 100_000])
def test_a_wrong_token_is_no_way_in(wrong: str) -> None:
    logins = Logins()
    logins.link(ORIGIN)
    assert logins.sign_in(wrong) is None
    assert logins.session(wrong) is None


def test_links_and_sessions_expire() -> None:
    clock = Clock()
    logins = Logins(clock)
    late = token(logins.link(ORIGIN))
    clock.now += login.LINK_SECONDS
    assert logins.sign_in(late) is None
    session = logins.sign_in(token(logins.link(ORIGIN)))
    assert session is not None
    clock.now += login.SESSION_SECONDS - 1
    assert logins.session(session.secret) is session  # and its time begins anew
    clock.now += login.SESSION_SECONDS - 1
    assert logins.session(session.secret, in_use=False) is session  # a page that updates itself is no use
    clock.now += 2
    assert logins.session(session.secret) is None


def test_only_so_many_links_and_sessions() -> None:
    logins = Logins()
    links = [token(logins.link(ORIGIN)) for _ in range(login.MAX_LINKS + 1)]
    assert logins.sign_in(links[0]) is None
    assert logins.sign_in(links[1]) is not None
    sessions = [logins.sign_in(token(logins.link(ORIGIN))) for _ in range(login.MAX_SESSIONS + 1)]
    assert sessions[0] is not None
    assert sessions[-1] is not None
    assert logins.session(sessions[0].secret) is None
    assert logins.session(sessions[-1].secret) is sessions[-1]


def test_sessions_know_only_their_own_forms() -> None:
    logins = Logins()
    one, two = (logins.sign_in(token(logins.link(ORIGIN))) for _ in range(2))
    assert one is not None
    assert two is not None
    assert is_from(one, one.form_token)
    assert not is_from(one, two.form_token)
    assert not is_from(one, "")
    assert len({one.secret, one.form_token, two.secret, two.form_token}) == 4


@pytest.mark.parametrize("path", PATHS)
def test_strangers_see_nothing(node: FakeNode, path: str) -> None:
    job = node.add(purpose="a secret purpose")
    browser = Browser(node, signed_in=False)
    browser.cookies.set("smc-session-7080", "made up")
    answer = browser.get(path.replace("abcd", job.id))
    assert answer.status_code == 401
    assert "smc web" in answer.text
    assert "secret" not in answer.text
    assert browser.post(f"/jobs/{job.id}/approve", data={}).status_code == 401
    assert node.job(job.id).state == "waiting"


def test_a_page_that_updates_itself_does_not_keep_the_session(node: FakeNode) -> None:
    clock = Clock()
    browser = Browser(node, Logins(clock))
    clock.now += login.SESSION_SECONDS - 1
    assert browser.get("/", headers={"X-Live": "1"}).status_code == 200
    clock.now += 2
    assert browser.get("/", headers={"X-Live": "1"}).status_code == 401


def test_signing_out(node: FakeNode) -> None:
    browser = Browser(node)
    assert browser.post("/logout", data={"form_token": "wrong"}).status_code == 400
    assert browser.get("/").status_code == 200
    assert browser.send_form("/logout").status_code == 303
    assert browser.get("/").status_code == 401


@pytest.mark.parametrize("action", ["approve", "refuse", "cancel", "withdraw"])
@pytest.mark.parametrize("given", [{}, {"form_token": ""}, {"form_token": "x" * 43}])
def test_forms_of_other_pages_do_nothing(node: FakeNode, action: str, given: dict[str, str]) -> None:
    job = node.add()
    browser = Browser(node)
    answer = browser.post(f"/jobs/{job.id}/{action}", data={**given, "why": "kept text"})
    assert answer.status_code == 400
    assert "nothing has been done" in answer.text
    assert "kept text" in answer.text or action != "refuse"
    assert node.job(job.id).state == "waiting"
    assert Browser(node, browser.logins).get("/propose?kind=id3").text.count(browser.form_token) == 0


def test_a_proposal_from_another_session_is_not_made_but_kept(node: FakeNode) -> None:
    answer = Browser(node).post("/propose", data={"table": "visits", "purpose": "kept text"})
    assert answer.status_code == 400
    assert 'value="kept text"' in answer.text
    assert node.submitted == []


@pytest.mark.parametrize(
    "host", ["evil.example:7080", "127.0.0.1", "127.0.0.1:7081", "localhost.evil.example:7080", ""]
)
def test_other_hosts_are_refused(node: FakeNode, host: str) -> None:
    browser = Browser(node)
    assert browser.get("/", headers={"Host": host}).status_code == 403
    assert browser.get("/static/style.css", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:7080", "127.0.0.1:7080", "[::1]:7080", "LOCALHOST:7080"])
def test_all_names_of_this_machine_are_served(node: FakeNode, host: str) -> None:
    answer = Browser(node, signed_in=False).get("/", headers={"Host": host})
    assert answer.status_code == 401


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:7081", "https://127.0.0.1:7080"])
def test_other_origins_are_refused(node: FakeNode, origin: str) -> None:
    job = node.add()
    browser = Browser(node)
    fields = {"form_token": browser.form_token}
    assert browser.post(f"/jobs/{job.id}/approve", data=fields, headers={"Origin": origin}).status_code == 403
    assert node.job(job.id).state == "waiting"
    assert browser.post(f"/jobs/{job.id}/approve", data=fields, headers={"Origin": ORIGIN}).status_code == 303


@pytest.mark.parametrize(
    "path", ["/", "/login", "/nowhere", "/favicon.ico", "/static/style.css", "/static/explore.js", "/audit"]
)
def test_every_answer_has_the_headers(node: FakeNode, path: str) -> None:
    answer = Browser(node).get(path)
    expected = {**HEADERS, **({"Cache-Control": "no-cache"} if "/static/" in path else {})}
    assert {name: answer.headers[name] for name in expected} == expected
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_a_link_on_a_page_elsewhere_is_asked_for_again(node: FakeNode) -> None:
    browser = Browser(node, signed_in=False)
    answer = browser.get("/audit", headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, answer.headers["refresh"]) == (200, "0")
    assert browser.get("/audit", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 401


@pytest.mark.parametrize("path", ["/nowhere", "/jobs/ffffffff", "/jobs/%3Cscript%3E", "/jobs/abcd/tree.exe", "/jobs//"])
def test_what_is_not_there_is_a_plain_404(node: FakeNode, path: str) -> None:
    node.add()
    answer = Browser(node).get(path)
    assert answer.status_code == 404
    assert "<h1>Not Found</h1>" in answer.text
    assert "<script>" not in answer.text


def test_wrong_methods_and_long_forms_are_plain_pages(node: FakeNode) -> None:
    browser = Browser(node)
    assert browser.delete("/").status_code == 405
    assert "Method Not Allowed" in browser.post("/audit").text
    answer = browser.post("/propose", data={"purpose": "x" * (MAX_FORM + 1)})
    assert answer.status_code == 413
    assert "64 KiB" in answer.text


def test_the_api_is_served_beside_the_page(node: FakeNode) -> None:
    logins = Logins()
    app = make_app(node, logins, api.routes(node, "the key", lambda: logins.link(ORIGIN)))
    client = TestClient(app, base_url=ORIGIN, follow_redirects=False)
    assert client.get("/api/node").status_code == 401
    headers = {"Authorization": "Bearer the key"}
    assert client.get("/api/node", headers=headers).json()["name"] == "hospital"
    assert client.get("/api/node", headers={**headers, "Host": "evil.example:7080"}).status_code == 403
    link = client.post("/api/login", headers=headers).json()["url"]
    assert client.get(link).headers["location"] == "/"
    assert client.get("/").status_code == 200


def test_a_fault_inside_shows_no_traceback(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    browser = Browser(node)
    monkeypatch.setattr(node, "verify", lambda: 1 / 0)
    answer = browser.get("/audit")
    assert answer.status_code == 500
    assert "inside the node" in answer.text
    assert "ZeroDivision" not in answer.text
    assert "GET /audit failed" in caplog.text
    assert "ZeroDivision" in caplog.text
    assert answer.headers["X-Frame-Options"] == "DENY"
