"""The page in a real browser: nothing it does may leave the address it was served at, or end up as an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.base.address import Address
from parties.link.identity import Identity
from parties.operator.interface import Verdict
from parties.operator.oidc import Provider
from parties.web.app import make_app
from parties.web.login import Logins
from parties.web.server import WebServer
from parties.web.sign_on import SignOn
from tests.support import oidc
from tests.support.fake_node import wide_tree
from tests.support.ledgers import paired
from tests.support.people import desk, password, people, quick
from tests.support.site import Site, drawn, texts, until

pytestmark = pytest.mark.slow

ROWS = [{"of": f"{of} = a value", "value": 8, "noisy": 8, "low": 0, "high": 26} for of in ("sex", "age", "outcome")]
COUNT = {"question": "count", "where": "all of these", "epsilon": 1.0, "adjacency": "add-remove", "numbers": ROWS}
COUNT |= {"law": "discrete Gaussian", "sigma": 9.26644}


def test_a_link_signs_in_once(site: Site) -> None:
    link = site.logins.link(site.origin)
    page = site.page()
    page.goto(link)
    assert page.url == site.origin + "/"
    assert page.get_by_text("No job has been proposed yet").is_visible()
    site.expected.append("401")
    other = site.page(locale="en")
    other.goto(link)
    assert "smc web" in other.content()
    assert other.get_by_role("alert").inner_text().startswith("This link has been used")
    page.get_by_role("button", name="Sign out").click()
    assert page.get_by_role("heading", name="Sign in").is_visible()


def test_a_link_from_another_site_finds_the_session(site: Site) -> None:
    page = site.signed_in()
    elsewhere = site.origin.replace("127.0.0.1", "localhost")
    site.expected.append("401")
    page.goto(elsewhere)
    page.evaluate(f"document.body.innerHTML = '<a href=\"{site.origin}/audit\">there</a>'")
    page.get_by_text("there").click()
    page.get_by_role("heading", name="Audit log").wait_for()
    site.requests = [url.replace(elsewhere, site.origin) for url in site.requests]


def test_approving_and_refusing(site: Site) -> None:
    first, second = site.node.add(purpose="first"), site.node.add(purpose="second")
    page = site.signed_in()
    page.locator(f"#look-{first.id} > summary").click()
    page.locator(f"#job-{first.id}").get_by_role("button", name="Approve").click()
    page.locator("#said", has_text="You approved “Decision tree for readmitted” (first): both agree.").wait_for()
    assert page.locator("#under-way").get_by_text("both agree").is_visible()
    assert site.node.job(first.id).state == "queued"
    until(
        lambda: page.evaluate("document.activeElement.href") == f"{site.origin}/jobs/{second.id}"
    )  # where one goes on
    page.get_by_role("link", name="second").click()
    assert page.url.endswith(second.id)
    page.get_by_text("Refuse …").click()
    page.get_by_label("Why? The proposer will read it.").fill("no ethics vote <yet>")
    page.get_by_role("button", name="Refuse", exact=True).click()
    page.locator("#consent").get_by_text("no ethics vote <yet>").wait_for()
    assert site.node.job(second.id).ours.reason == "no ethics vote <yet>"
    assert page.get_by_role("button", name="Approve").count() == 0


def test_what_the_node_says_stays_on_the_page_with_what_was_typed(site: Site) -> None:
    job = site.node.add()
    page = site.signed_in()
    site.expected.append("400")
    page.get_by_text("your decision").click()
    page.get_by_text("Refuse …").click()
    page.get_by_label("Why?").fill("typed")
    site.node.trouble = "the peer is gone"
    page.get_by_role("button", name="Refuse", exact=True).click()
    page.get_by_role("alert").get_by_text("the peer is gone").wait_for()
    site.node.add(purpose="one more")
    page.get_by_role("link", name="one more").wait_for()  # the page still keeps itself up to date
    assert page.get_by_role("alert").inner_text() == "the peer is gone"
    assert page.locator(f"#refuse-{job.id}").input_value() == "typed"


def test_progress_comes_by_itself_and_disturbs_nobody(site: Site) -> None:
    waiting = site.node.add()
    job = site.node.add(purpose="slow one")
    site.node.run(job.id, 3.0, None, depth=0)
    page = site.signed_in()
    page.evaluate("window.untouched = true")
    progress = page.locator(f"#progress-{job.id}")
    assert "not known yet" in progress.inner_text()
    page.get_by_text("your decision").first.click()
    page.get_by_text("Refuse …").first.click()
    field = page.locator(f"#refuse-{waiting.id}")
    field.type("still typ")
    site.node.run(job.id, 12.0, 36.0, depth=3)
    progress.get_by_text("36 s").wait_for()
    assert progress.locator("progress").evaluate("bar => bar.position") == pytest.approx(0.25)
    page.keyboard.type("ing")
    site.node.add(purpose="a new one")
    page.get_by_role("link", name="a new one").wait_for()
    assert page.title().startswith("(2)")
    assert field.input_value() == "still typing"
    assert field.evaluate("area => document.activeElement === area")
    site.node.change(job.id, state="failed", why="the peer fell silent", progress=None)
    page.locator("#over").get_by_text("the peer fell silent").wait_for()
    assert progress.count() == 0
    assert page.evaluate("window.untouched")


def test_a_running_job_turns_into_its_result(site: Site) -> None:
    job = site.node.add()
    site.node.run(job.id, 5.0, 1.0)
    page = site.signed_in(f"/jobs/{job.id}")
    page.evaluate("window.untouched = true")
    site.node.finish(job.id)
    assert "smoker" in texts(drawn(page))
    assert page.evaluate("window.untouched")
    assert not page.evaluate("document.body.hasAttribute('data-news')")


def test_a_page_says_that_it_is_out_of_date(site: Site) -> None:
    page = site.signed_in()
    site.expected += ["ERR_FAILED", "401"]
    page.route("**/*", lambda route: route.abort())
    site.node.add(purpose="while nobody answers")
    page.get_by_text("The node does not answer").wait_for()
    page.unroute("**/*")
    page.locator("#stale").wait_for(state="hidden")
    page.get_by_role("link", name="while nobody answers").wait_for()
    page.context.clear_cookies()
    site.node.add()
    page.get_by_text("You are signed out").wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1600, "light")])
def test_pages_fit_small_and_large_windows(site: Site, width: int, scheme: str) -> None:
    long = "a_very_long_column_name_without_any_space_" * 6
    job = site.node.add(purpose="x" * 3000, target=long, columns=[long, "age"], peer="p" * 300)
    site.node.add(ours=Verdict(verdict="approved", by="b" * 300, reason="r" * 500))
    site.node.finish(site.node.add().id, wide_tree(3, 3))
    done = site.node.jobs()[0]
    page = site.signed_in()
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    for path in (
        "/",
        f"/jobs/{job.id}",
        f"/jobs/{done.id}",
        "/audit",
        "/budget",
        "/tables",
        "/propose",
        "/propose?kind=id3",
    ):
        page.goto(site.origin + path)
        if path.endswith(done.id):
            drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == (scheme == "dark")


def test_without_scripts_all_is_there(site: Site) -> None:
    job, waiting = site.node.add(), site.node.add()
    site.node.finish(job.id)
    page = site.signed_in(f"/jobs/{job.id}", java_script_enabled=False)
    picture = page.locator("#tree-picture")
    assert picture.is_visible()
    assert picture.bounding_box()["width"] > 200
    page.goto(f"{site.origin}/jobs/{waiting.id}")
    page.get_by_text("Refuse …").click()
    page.get_by_label("Why?").fill("by hand")
    page.get_by_role("button", name="Refuse", exact=True).click()
    assert site.node.job(waiting.id).ours.reason == "by hand"


def test_proposing_by_keyboard(site: Site) -> None:
    page = site.signed_in()
    page.get_by_role("link", name="Propose", exact=True).click()
    page.get_by_role("link", name="Which rules predict a column?").press("Enter")
    site.expected.append("400")
    page.get_by_label("Purpose").focus()
    page.keyboard.type("quality of care")
    page.get_by_text("More:").press("Enter")
    page.get_by_label("Tolerance").fill("a little")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("Tolerance: must be a number").wait_for()
    page.wait_for_function("document.activeElement.id === 'tolerance'")
    assert page.get_by_label("Purpose").input_value() == "quality of care"
    page.get_by_label("Tolerance").fill("0.01")
    page.keyboard.press("Enter")
    page.get_by_text("waits for the peer’s consent").wait_for()
    job = {"protocol": "id3", "table": "patients", "purpose": "quality of care", "tolerance": 0.01}
    assert site.node.submitted == [job]


def test_ticked_columns_are_those_of_the_table_that_is_chosen(site: Site) -> None:
    site.node.columns = {"patients": ["age", "sex", "smoker"], "visits": ["age", "ward"]}
    page = site.signed_in("/propose?kind=id3")
    assert not page.get_by_label("ward", exact=True).is_visible()
    page.locator("fieldset[data-of=patients]").get_by_label("age").check()
    page.get_by_label("smoker").check()
    page.get_by_label("Our table").select_option("visits")
    assert page.get_by_label("ward", exact=True).is_visible()
    assert not page.get_by_label("smoker").is_visible()
    assert page.locator("fieldset[data-of=visits]").get_by_label("age").is_checked(), "both have it"
    page.get_by_label("ward", exact=True).check()
    page.get_by_role("button", name="Propose", exact=True).click()
    page.get_by_text("waits for the peer’s consent").wait_for()
    assert site.node.submitted[0]["columns"] == ["age", "ward"]
    assert site.node.submitted[0]["table"] == "visits"


def test_a_changed_log_is_seen(site: Site) -> None:
    site.node.add()
    page = site.signed_in("/audit")
    assert page.locator("#state.good").inner_text().startswith("The log is whole: 1 entry")
    site.node.tamper(1, by="somebody else")
    page.reload()
    assert "entry 1 was changed" in page.get_by_role("alert").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_pages_have_no_fault_of_accessibility(site: Site, width: int, scheme: str) -> None:
    """By axe-core, which is kept beside the tests (axe-4.14.1.min.js, MPL 2.0)."""
    waiting = site.node.add(parameters={"plain": True, "k": 1, "l": 1.0})
    site.node.add(ours=Verdict(verdict="approved", by="operator"))
    site.node.run(site.node.add().id, 4.0, 9.0)
    done = site.node.finish(site.node.add().id)
    page = site.signed_in(viewport={"width": width, "height": 800}, color_scheme=scheme)
    axe = (Path(__file__).parents[2] / "vectors" / "axe-4.14.1.min.js").read_text("utf-8")
    jobs = (f"/jobs/{waiting.id}", f"/jobs/{done.id}")
    paths = ("/", "/?q=no+such+job", *jobs, "/propose", "/propose?kind=id3", "/audit", "/budget", "/tables")
    for path in paths if scheme == "light" else paths[:4:2]:
        page.goto(site.origin + path)
        for closed in page.locator("details.look:not([open]) > summary").all():
            closed.click()
        page.evaluate(axe)
        faults = "({violations}) => violations.map((v) => [v.id, v.nodes[0].html])"
        found = page.evaluate(f"axe.run({{resultTypes: ['violations']}}).then({faults})")
        assert found == [], path


def test_a_table_and_its_picture_keep_their_shape_on_a_phone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """They move in a frame of their own: no line of the table is broken, and the page is no wider than the phone."""
    done = site.node.finish(site.node.add(protocol="release count").id)
    result = site.node.result(done.id).model_copy(update={"protocol": "release count", "document": COUNT})
    monkeypatch.setattr(site.node, "result", lambda identifier: result)
    page = site.signed_in(f"/jobs/{done.id}", viewport={"width": 320, "height": 800})
    until(lambda: page.evaluate("document.querySelector('.drawn img').naturalWidth > 0"))
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert (
        page.evaluate("[...document.querySelectorAll('.cells')].map((line) => line.getClientRects().length)") == [1] * 4
    )


def test_the_keyboard_alone_approves_and_refuses(site: Site) -> None:
    first, second = site.node.add(purpose="first"), site.node.add(purpose="second")
    page = site.signed_in()

    def tab_to(selector: str) -> None:
        for _ in range(60):
            if page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"no way to {selector}")

    tab_to(f"#look-{second.id} > summary")
    page.keyboard.press("Enter")
    tab_to(f"#job-{second.id} button.good")
    page.keyboard.press("Enter")
    page.locator("#said", has_text="You approved “Decision tree for readmitted” (second)").wait_for()
    until(lambda: page.evaluate("document.activeElement.innerText").endswith("first"))  # where one goes on
    tab_to(f"#look-{first.id} > summary")
    page.keyboard.press("Enter")
    tab_to(f"#with-refuse-{first.id} > summary")
    page.keyboard.press("Enter")
    tab_to(f"#refuse-{first.id}")
    page.keyboard.type("no vote")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#said", has_text="You refused “Decision tree for readmitted” (first).").wait_for()
    assert [site.node.job(job.id).state for job in (first, second)] == ["refused", "queued"]


def test_what_tells_more_than_usual_is_asked_about_where_one_is(site: Site) -> None:
    site.node.finish(site.node.add().id)
    job = site.node.add(exact=True)
    page = site.signed_in()
    page.locator(f"#look-{job.id} > summary").click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("alert").get_by_text("joint numbers exactly").wait_for()
    page.locator(f"#job-{site.node.add(purpose='news').id}").wait_for()  # what is new takes the question from nobody
    assert page.evaluate("document.activeElement.innerText") == "Approve all the same"
    page.keyboard.press("Enter")
    page.locator("#said", has_text="You approved").wait_for()


def test_a_log_in_at_another_site(shared_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser goes to the log-in provider, another site for it, and comes back to a session."""
    quick(monkeypatch)
    known = people(tmp_path, anna="approve")
    known.write({"anna": known.all()["anna"].model_copy(update={"oidc": "anna@example.org"})})
    logins = Logins(accounts=known)
    with oidc.running() as provider:
        provider.issuer = provider.issuer.replace("127.0.0.1", "localhost")
        sign_on = SignOn(Provider(provider.settings(tmp_path)), logins, known)
        server = WebServer(Address("127.0.0.1", 0), make_app(shared_site.node, logins, sign_on=sign_on))
        server.start()
        window = shared_site.chromium.new_context()
        try:
            page = window.new_page()
            page.set_default_timeout(8000)
            page.goto(f"http://{server.address}/")
            page.click("text=Sign in at localhost")
            assert page.url.startswith(provider.issuer)
            page.fill("input[name=sub]", "anna")
            page.click("button:has-text('Authorize')")
            page.locator("#person").wait_for()
            assert page.url == f"http://{server.address}/"
            assert page.locator("#person").inner_text() == "anna"
            session = {cookie["name"]: cookie for cookie in window.cookies()}
            assert [cookie["sameSite"] for cookie in session.values()] == ["Strict"]
        finally:
            window.close()
            server.stop()


def test_four_eyes(
    shared_site: Site, tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people sign in by name at a node with a real ledger, and a job runs when both have approved it."""
    quick(monkeypatch)
    known = people(tmp_path, anna="approve", bert="approve")
    with paired(tmp_path, identities) as pair:
        alice, bob = pair.parties
        bob.ledger.gate.approvals = 2
        job = alice.ledger.decisions.propose({"table": "days", "plain": True}).id
        pair.deliver()
        server = WebServer(Address("127.0.0.1", 0), make_app(desk(bob), Logins(accounts=known)))
        server.start()
        windows = [shared_site.chromium.new_context() for _ in range(2)]
        try:
            for page, name in zip([window.new_page() for window in windows], ("anna", "bert"), strict=True):
                page.set_default_timeout(8000)
                page.goto(f"http://{server.address}/jobs/{job}")
                page.fill("#name", name)
                page.fill("#password", password(name))
                page.click("button:has-text('Sign in')")
                assert page.locator("#person").inner_text() == name
                page.goto(f"http://{server.address}/jobs/{job}")
            anna, bert = (window.pages[0] for window in windows)
            anna.click("#consent button:has-text('Approve')")
            until(lambda: "1 of 2: anna" in anna.locator("#consent table").inner_text())
            assert "Somebody else must approve it now" in anna.locator("#consent").inner_text()
            assert anna.locator("#consent button:has-text('Approve')").count() == 0
            assert bob.state(job) == "waiting"
            bert.reload()
            assert "1 of 2: anna" in bert.locator("#consent table").inner_text()
            bert.click("#consent button:has-text('Approve')")
            until(lambda: "operator anna, bert" in bert.locator("#consent table").inner_text())
            bert.locator("#said", has_text="You approved").wait_for()  # news of it may have come before the answer
            pair.deliver()
            assert alice.state(job) == "queued"
        finally:
            for window in windows:
                window.close()
            server.stop()
