"""The page in a real browser: nothing it does may leave the address it was served at, or end up as an error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parties.link.address import Address
from parties.operator.interface import Verdict
from parties.trees.drawing import draw_svg
from parties.trees.tree import Leaf, Split
from parties.web.app import make_app
from parties.web.login import Logins
from parties.web.server import WebServer
from tests.support.chromium import chromium
from tests.support.fake_node import FakeNode, wide_tree

MARKUP = "<b>x</b> & <script>y</script> %{z} $1$"


class Site:
    """A node with its page, and a browser that records what goes wrong on it.

    All tests share one window.
    """

    def __init__(self, chromium: Any) -> None:
        self.node, self.logins = FakeNode(), Logins()
        self.server = WebServer(Address("127.0.0.1", 0), make_app(self.node, self.logins))
        self.server.start()
        self.origin = f"http://{self.server.address}"
        self._chromium = chromium
        self._window = self._open({})
        self._others: list[Any] = []
        self.begin()

    def begin(self) -> None:
        self.node.clear()
        self._window.clear_cookies()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.expected: list[str] = []  # parts of errors that a test provokes

    def page(self, **options: Any) -> Any:
        """A page in the window, or in another one with these options."""
        if options:
            self._others.append(self._open(options))
        page = (self._others[-1] if options else self._window).new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        return page

    def signed_in(self, **options: Any) -> Any:
        page = self.page(**options)
        page.goto(self.logins.link(self.origin))
        return page

    def end(self) -> None:
        for page in self._window.pages:
            page.close()
        while self._others:
            self._others.pop().close()
        assert [error for error in self.errors if not any(part in error for part in self.expected)] == []
        assert [url for url in self.requests if not url.startswith(self.origin)] == []

    def _open(self, options: dict[str, Any]) -> Any:
        window = self._chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        window.set_default_timeout(8000)
        return window


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    with chromium() as browser:
        site = Site(browser)
        yield site
        site.server.stop()


@pytest.fixture
def site(shared_site: Site) -> Iterator[Site]:
    shared_site.begin()
    yield shared_site
    shared_site.end()


def drawn(page: Any) -> Any:
    """The tree's picture, when it can be explored."""
    page.wait_for_selector("#tree-picture[data-explored]")
    return page.locator("#tree-picture")


def texts(picture: Any) -> list[str]:
    return list(picture.locator("text").all_text_contents())


def until(true: Callable[[], bool], seconds: float = 8.0) -> None:
    """Wait for something in the page; its policy does not let playwright's own way of waiting in."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def middle(picture: Any, text: str) -> tuple[float, float]:
    box = picture.locator("text", has_text=text).first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def height(picture: Any) -> float:
    """Of a letter, in pixels."""
    return float(picture.locator("text").first.bounding_box()["height"])


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
    page.locator("#under-way").get_by_text("both agree").wait_for()
    assert site.node.job(first.id).state == "queued"
    assert page.locator("#said").inner_text() == "You approved “first”: both agree: it starts next."
    assert page.evaluate("document.activeElement.href") == f"{site.origin}/jobs/{second.id}", "where one goes on"
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
    page = site.signed_in()
    page.goto(f"{site.origin}/jobs/{job.id}")
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


def test_the_tree_can_be_explored(site: Site) -> None:
    job = site.node.add()
    site.node.finish(job.id)
    page = site.signed_in()
    page.goto(f"{site.origin}/jobs/{job.id}")
    picture = drawn(page)
    assert {"age", "sex", "blood_pressure", "smoker", "yes", "no", "maybe", "over 60"} <= set(texts(picture))
    assert page.locator(".bars tbody tr").count() == 6
    way = picture.locator("g", has_text="maybe").locator("title").text_content()
    assert way.splitlines() == ["age = 40 to 60", "sex = male", "→ class maybe"]

    before, small = middle(picture, "maybe"), height(picture)
    page.get_by_role("button", name="Larger").click()
    assert height(picture) == pytest.approx(1.4 * small, abs=2)  # a letter's box is whole pixels
    picture.focus()
    page.keyboard.press("ArrowRight")
    assert middle(picture, "maybe") != pytest.approx(before, abs=2)
    page.keyboard.press("0")
    assert middle(picture, "maybe") == pytest.approx(before, abs=0.5)

    page.mouse.move(*before)
    page.mouse.down()
    page.mouse.move(before[0] + 80, before[1] + 30, steps=4)
    page.mouse.up()
    moved = (before[0] + 80, before[1] + 30)
    assert middle(picture, "maybe") == pytest.approx(moved, abs=1)
    page.mouse.wheel(0, -300)
    until(lambda: height(picture) > 1.3 * small)
    assert middle(picture, "maybe") == pytest.approx(moved, abs=1)  # what the pointer is on stays there


def test_the_wheel_is_the_pages_until_the_tree_is_clicked(site: Site) -> None:
    site.node.finish(site.node.add().id)
    page = site.signed_in()
    page.goto(f"{site.origin}/jobs/{site.node.jobs()[0].id}")
    picture = drawn(page)
    small = height(picture)
    page.mouse.move(*middle(picture, "age"))
    page.mouse.wheel(0, 40)
    until(lambda: page.evaluate("scrollY") > 0)
    assert height(picture) == small


def test_a_large_tree_opens_whole_on_a_phone(site: Site) -> None:
    site.node.finish(site.node.add().id, wide_tree(5, 3))
    page = site.signed_in(viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    page.goto(f"{site.origin}/jobs/{site.node.jobs()[0].id}")
    picture = drawn(page)
    frame = picture.bounding_box()
    assert frame["height"] <= 640
    for end in ("first", "last"):
        box = getattr(picture.locator("g"), end).bounding_box()
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert frame["y"] <= box["y"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"]


def test_a_tree_too_large_to_read_has_its_list_unfolded_two_levels(site: Site) -> None:
    site.node.finish(site.node.add().id, wide_tree(4, 3))
    site.node.finish(site.node.add().id)
    page = site.signed_in()
    small, large = site.node.jobs()
    page.goto(f"{site.origin}/jobs/{large.id}")
    drawn(page)
    summaries = page.locator(".outline summary")
    assert [summaries.get_by_text(f"question {level}?").first.is_visible() for level in range(4)] == [True] * 3 + [
        False
    ]
    assert page.get_by_text("So many leaves cannot be read").is_visible()
    page.goto(f"{site.origin}/jobs/{small.id}")
    drawn(page)
    assert not page.locator(".outline ul").first.is_visible()
    assert page.get_by_text("So many leaves cannot be read").count() == 0


def test_the_file_is_explored_like_the_page(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    path.write_text(draw_svg(wide_tree(3, 3), "readmitted", "A tree"))
    page = site.page()
    page.goto(path.as_uri())
    picture = page.locator("svg[data-explored]")
    small = height(picture)
    page.keyboard.press("+")
    assert height(picture) == pytest.approx(1.3 * small, abs=2)  # a letter's box is whole pixels
    page.keyboard.press("0")
    assert height(picture) == pytest.approx(small)
    site.requests.remove(path.as_uri())


def test_names_are_not_taken_for_markup_by_the_picture(site: Site) -> None:
    site.node.finish(site.node.add().id, Split(MARKUP, {MARKUP: Leaf(MARKUP), "plain": Leaf("other")}))
    page = site.signed_in()
    page.goto(f"{site.origin}/jobs/{site.node.jobs()[0].id}")
    picture = drawn(page)
    assert texts(picture).count(MARKUP) == 3
    assert picture.locator("title").last.text_content().splitlines()[0] == f"{MARKUP} = plain"
    page.get_by_text("The tree as a list").click()
    assert page.locator(".outline summary").get_by_text(MARKUP + "?").is_visible()


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
    for path in ("/", f"/jobs/{job.id}", f"/jobs/{done.id}", "/audit", "/budget", "/tables", "/propose"):
        page.goto(site.origin + path)
        if path.endswith(done.id):
            drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == (scheme == "dark")


def test_without_scripts_all_is_there(site: Site) -> None:
    job, waiting = site.node.add(), site.node.add()
    site.node.finish(job.id)
    page = site.signed_in(java_script_enabled=False)
    page.goto(f"{site.origin}/jobs/{job.id}")
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
    site.expected.append("400")
    page.get_by_label("Purpose").focus()
    page.keyboard.type("quality of care")
    page.get_by_label("Delta").fill("a little")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("delta: must be a number").wait_for()
    assert page.get_by_label("Purpose").input_value() == "quality of care"
    page.get_by_label("Delta").fill("0.01")
    page.keyboard.press("Enter")
    page.get_by_text("waits for the peer’s consent").wait_for()
    job = {"protocol": "id3", "table": "patients", "purpose": "quality of care", "delta": 0.01}
    assert site.node.submitted == [job]


def test_ticked_columns_are_those_of_the_table_that_is_chosen(site: Site) -> None:
    site.node.columns = {"patients": ["age", "sex", "smoker"], "visits": ["age", "ward"]}
    page = site.signed_in()
    page.goto(f"{site.origin}/propose")
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
    page = site.signed_in()
    page.goto(f"{site.origin}/audit")
    assert page.locator("#state.good").inner_text().startswith("The log is whole: 1 entry")
    site.node.tamper(1, by="somebody else")
    page.reload()
    assert "entry 1 was changed" in page.get_by_role("alert").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_pages_have_no_fault_of_accessibility(site: Site, width: int, scheme: str) -> None:
    """By axe-core, which is kept beside the tests (axe-4.14.1.min.js, MPL 2.0)."""
    waiting = site.node.add(parameters={"min_rows": 0, "max_depth": None})
    site.node.add(ours=Verdict(verdict="approved", by="operator"))
    site.node.run(site.node.add().id, 4.0, 9.0)
    done = site.node.finish(site.node.add().id)
    page = site.signed_in(viewport={"width": width, "height": 800}, color_scheme=scheme)
    axe = (Path(__file__).parents[2] / "vectors" / "axe-4.14.1.min.js").read_text("utf-8")
    jobs = (f"/jobs/{waiting.id}", f"/jobs/{done.id}")
    paths = ("/", "/?q=no+such+job", *jobs, "/propose", "/audit", "/budget", "/tables")
    for path in paths if scheme == "light" else paths[:4:2]:
        page.goto(site.origin + path)
        for closed in page.locator("details.look:not([open]) > summary").all():
            closed.click()
        page.evaluate(axe)
        found = page.evaluate("axe.run().then(({violations}) => violations.map((v) => [v.id, v.nodes[0].html]))")
        assert found == [], path


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
    page.locator("#said", has_text="You approved “second”").wait_for()
    until(lambda: page.evaluate("document.activeElement.innerText") == "first")  # where one goes on
    tab_to(f"#look-{first.id} > summary")
    page.keyboard.press("Enter")
    tab_to(f"#with-refuse-{first.id} > summary")
    page.keyboard.press("Enter")
    tab_to(f"#refuse-{first.id}")
    page.keyboard.type("no vote")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#said", has_text="You refused “first”.").wait_for()
    assert [site.node.job(job.id).state for job in (first, second)] == ["refused", "queued"]


def test_what_tells_more_than_usual_is_asked_about_where_one_is(site: Site) -> None:
    site.node.finish(site.node.add().id)
    job = site.node.add(exact=True)
    page = site.signed_in()
    page.locator(f"#look-{job.id} > summary").click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("alert").get_by_text("joint numbers exactly").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "Approve all the same"
    page.keyboard.press("Enter")
    page.locator("#said", has_text="You approved").wait_for()
