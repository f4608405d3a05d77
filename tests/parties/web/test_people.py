"""People who sign in by name: attacks on log-ins and sessions, and what a page shows and takes of whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.operator.accounts import Accounts
from parties.web import login
from parties.web.login import Logins
from smc.errors import InputError
from tests.support.fake_node import ORIGIN, Browser, FakeNode
from tests.support.people import password, people, quick


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failures() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def known(tmp_path: Path) -> Accounts:
    return people(tmp_path, anna="approve", bert="propose", carl="see", dora="administer audit")


@pytest.fixture
def logins(known: Accounts, clock: Clock, failures: list[tuple[str, str]]) -> Logins:
    return Logins(clock, known, lambda name, why: failures.append((name, why)))


def stranger(node: FakeNode, logins: Logins) -> Browser:
    return Browser(node, logins, signed_in=False)


def typed(browser: Browser, name: str, text: str | None = None, **headers: str) -> Any:
    fields = {"name": name, "password": password(name) if text is None else text}
    return browser.post("/login", data=fields, headers=headers)


def signed_in(node: FakeNode, logins: Logins, name: str) -> Browser:
    browser = stranger(node, logins)
    assert typed(browser, name).status_code == 303
    return browser


def test_a_name_and_its_password_open_the_page(node: FakeNode, logins: Logins) -> None:
    browser = stranger(node, logins)
    shown = browser.get("/")
    assert shown.status_code == 401
    assert 'type="password"' in shown.text
    answer = typed(browser, "anna")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"].endswith("; HttpOnly; Path=/; SameSite=strict")
    assert '<bdi id="person">anna</bdi>' in browser.get("/").text


def test_wrong_ones_get_one_answer(node: FakeNode, logins: Logins, failures: list[tuple[str, str]]) -> None:
    browser = stranger(node, logins)
    answers = [typed(browser, *pair) for pair in (("anna", "wrong"), ("zoe", "wrong"), ("anna", ""), ("", ""))]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert all("set-cookie" not in answer.headers for answer in answers)
    assert failures == [
        ("anna", "wrong password"), ("", "no such name"), ("anna", "wrong password"), ("", "no such name")
    ]  # fmt: skip
    assert "wrong" not in answers[0].text
    assert browser.get("/").status_code == 401


@pytest.mark.parametrize("name", ["anna", "zoe"])
def test_failures_of_a_name_are_slowed(
    logins: Logins, clock: Clock, failures: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for _ in range(login.FAILURES):
        with pytest.raises(InputError, match="no account has this name and password"):
            logins.log_in(name, "wrong")
    with pytest.raises(InputError, match="wait a minute"):  # also with the right one: it is not looked at
        logins.log_in(name, password(name))
    assert failures[-1][1] == "too many have failed"
    assert logins.log_in("bert", password("bert")).person.name == "bert"
    clock.now += login.FAILURE_SECONDS
    with pytest.raises(InputError, match="no account has this name and password"):
        logins.log_in(name, "wrong")
    with pytest.raises(InputError, match="wait a minute"):
        logins.log_in(name, "wrong")


def test_a_right_password_is_no_failure(logins: Logins) -> None:
    for _ in range(3 * login.ALL_FAILURES):
        logins.log_in("anna", password("anna"))


def test_failures_of_all_names_are_slowed_and_bounded(logins: Logins, clock: Clock) -> None:
    """No flood of made-up names lets anybody try one name more often: no more are counted than all may fail."""
    for _ in range(login.FAILURES):
        with pytest.raises(InputError):
            logins.log_in("anna", "wrong")
    refused = 0
    for i in range(3 * login.MAX_NAMES):
        with pytest.raises(InputError) as error:
            logins.log_in(f"name{i}" + "x" * 10_000, "wrong")
        refused += "wait" in str(error.value)
    assert refused == 3 * login.MAX_NAMES - (login.ALL_FAILURES - login.FAILURES)
    clock.now += login.ALL_SECONDS
    with pytest.raises(InputError, match="wait a minute"):
        logins.log_in("anna", password("anna"))
    assert len(logins._rates) <= login.MAX_NAMES
    assert max(map(len, logins._rates)) <= login.MAX_NAME


def test_names_whose_failures_are_forgotten_have_none_left() -> None:
    until_forgotten = login.FAILURES * login.FAILURE_SECONDS
    assert login.ALL_FAILURES + until_forgotten / login.ALL_SECONDS < login.MAX_NAMES


def test_a_session_is_never_one_that_was_there_before(node: FakeNode, logins: Logins) -> None:
    """Fixation: whoever plants a cookie knows none after the log-in, also if it was a session of the planter's own."""
    planted = signed_in(node, logins, "carl").cookies["smc-session-7080"]
    victim = stranger(node, logins)
    victim.cookies.set("smc-session-7080", planted, domain="127.0.0.1", path="/")
    assert typed(victim, "anna").status_code == 303
    cookies = [cookie.value for cookie in victim.cookies.jar]
    assert len(cookies) == 1
    assert cookies != [planted]
    assert logins.session(planted) is None  # and it is over
    assert logins.session("made up") is None


def test_a_log_in_from_another_page_is_none(node: FakeNode, logins: Logins) -> None:
    assert typed(stranger(node, logins), "anna", Origin="http://evil.example").status_code == 403


def test_sessions_end(logins: Logins, clock: Clock) -> None:
    session = logins.log_in("anna", password("anna"))
    clock.now += login.IDLE_SECONDS - 1
    assert logins.session(session.secret, in_use=False) is session  # a page that updates itself is no use
    clock.now += 2
    assert logins.session(session.secret) is None
    session, begun = logins.log_in("anna", password("anna")), clock.now
    while clock.now < begun + login.SESSION_SECONDS:
        assert logins.session(session.secret) is session
        clock.now += login.IDLE_SECONDS / 2
    assert logins.session(session.secret) is None  # however much it is used


@pytest.mark.parametrize("change", ["removed", "password", "again"])
def test_an_account_that_has_changed_ends_its_sessions(
    node: FakeNode, logins: Logins, known: Accounts, tmp_path: Path, change: str
) -> None:
    browser, other = signed_in(node, logins, "anna"), signed_in(node, logins, "bert")
    link = logins.link(ORIGIN, known.all()["anna"].person("anna"))
    job = node.add()
    fields = {"form_token": browser.form_token}
    accounts = dict(known.all())
    renewed = people(tmp_path, anna="approve").all()["anna"]
    known.write({name: account for name, account in accounts.items() if name != "anna"})
    if change != "removed":
        known.write({**accounts, "anna": renewed})
    assert browser.get("/").status_code == 401
    assert browser.post(f"/jobs/{job.id}/approve", data=fields).status_code == 401
    assert node.job(job.id).state == "waiting"
    assert stranger(node, logins).get(link).status_code == 401
    assert other.get("/").status_code == 200


def test_a_role_that_is_taken_away_is_gone_at_once(node: FakeNode, logins: Logins, known: Accounts) -> None:
    browser, job = signed_in(node, logins, "anna"), node.add()
    known.write({**known.all(), "anna": known.all()["anna"].model_copy(update={"roles": ("see",)})})
    answer = browser.send_form(f"/jobs/{job.id}/approve")
    assert "anna may not do this" in answer.text
    assert node.job(job.id).state == "waiting"


def test_what_was_before_names_ends_with_the_first(node: FakeNode, tmp_path: Path) -> None:
    """Nameless links and sessions are of nobody as soon as people have names, and names of nobody when none has."""
    known = Accounts(tmp_path)
    logins = Logins(accounts=known)
    browser, link = Browser(node, logins), logins.link(ORIGIN)
    people(tmp_path, anna="approve")
    assert browser.get("/").status_code == 401
    assert stranger(node, logins).get(link).status_code == 401
    named = signed_in(node, logins, "anna")
    known.write({})
    assert named.get("/").status_code == 401
    assert Browser(node, logins).get("/").status_code == 200


PAGES = {  # the roles that each needs besides `see`
    "/": None, "/tables": None, "/budget": None, "/jobs/{}": None, "/audit": "audit", "/propose": "propose",
    "/propose?kind=id3": "propose", "/propose?like={}": "propose", "/tables/patients/prepare": "administer",
}  # fmt: skip
FORMS = {
    "approve": {"approve"}, "refuse": {"approve"}, "cancel": {"approve", "propose"}, "withdraw": {"administer"},
}  # fmt: skip
ROLES = {"anna": "approve", "bert": "propose", "carl": "see", "dora": "administer"}


@pytest.mark.parametrize("name", ROLES)
def test_pages_and_forms_by_role(node: FakeNode, logins: Logins, name: str) -> None:
    browser, job = signed_in(node, logins, name), node.add()
    roles = {ROLES[name], "audit"} if name == "dora" else {ROLES[name]}
    for path, role in PAGES.items():
        answer = browser.get(path.format(job.id))
        refused = f"{name} may not do this: it needs the role" in answer.text
        assert (answer.status_code == 403, refused) == ((role is not None and role not in roles),) * 2, path
    token = logins.session(next(cookie.value for cookie in browser.cookies.jar))
    assert token is not None
    for action, needed in FORMS.items():
        job = node.add(state="done" if action == "withdraw" else "waiting")
        shown = f'action="/jobs/{job.id}/{action}"' in browser.get(f"/jobs/{job.id}").text
        if action == "cancel":  # shown of what waits for the peer
            waits = node.add(proposed_by="us", ours=node.job(job.id).theirs, theirs=node.job(job.id).ours)
            shown = f'action="/jobs/{waits.id}/{action}"' in browser.get(f"/jobs/{waits.id}").text
        before = node.job(job.id)
        answer = browser.post(f"/jobs/{job.id}/{action}", data={"form_token": token.form_token, "why": "so"})
        assert shown == bool(roles & needed), action
        assert (node.job(job.id) != before) == bool(roles & needed), action
        assert ("may not do this" in answer.text) != bool(roles & needed), action
    fields = {"form_token": token.form_token, "protocol": "id3", "table": "patients", "plain": "yes"}
    browser.post("/propose", data=fields)
    assert bool(node.submitted) == ("propose" in roles)
    wrong = browser.post("/propose", data=fields | {"k": "many"})  # which is shown once more, with our rows
    assert (wrong.status_code == 403) != ("propose" in roles)


def test_a_damaged_file_of_accounts_lets_nobody_in(node: FakeNode, logins: Logins, tmp_path: Path) -> None:
    browser = signed_in(node, logins, "anna")
    (tmp_path / "operators.json").write_text("{}}")
    assert browser.get("/").status_code == 400
    assert typed(browser, "anna").status_code == 400
    assert "Jobs" not in browser.get("/").text
