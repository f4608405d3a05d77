"""A node with its page on a port, and a real browser that nothing may leave and that no error may reach."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from parties.base.address import Address
from parties.web.app import make_app
from parties.web.login import Logins
from parties.web.server import WebServer
from tests.support.fake_node import FakeNode
from tests.support.waiting import PATIENCE


class Site:
    """A node with its page, and a browser that records what goes wrong on it.

    All tests share one window.
    """

    def __init__(self, chromium: Any) -> None:
        self.node, self.logins = FakeNode(), Logins()
        self.server = WebServer(Address("127.0.0.1", 0), make_app(self.node, self.logins))
        self.server.start()
        self.origin = f"http://{self.server.address}"
        self.chromium = chromium
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

    def signed_in(self, path: str = "/", **options: Any) -> Any:
        """A page that shows this path; the link was asked for besides, and no page is drawn of it."""
        page = self.page(**options)
        page.context.request.get(self.logins.link(self.origin), max_redirects=0)
        page.goto(self.origin + path)
        return page

    def end(self) -> None:
        for page in self._window.pages:
            page.close()
        while self._others:
            self._others.pop().close()
        assert [error for error in self.errors if not any(part in error for part in self.expected)] == []
        assert [url for url in self.requests if not url.startswith(self.origin)] == []

    def _open(self, options: dict[str, Any]) -> Any:
        window = self.chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        window.set_default_timeout(1000 * PATIENCE)
        return window


def until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait for something in the page; its policy does not let playwright's own way of waiting in."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def drawn(page: Any) -> Any:
    """The tree's picture, when it can be explored."""
    page.wait_for_selector("#tree-picture[data-explored]")
    return page.locator("#tree-picture")


def texts(picture: Any) -> list[str]:
    return list(picture.locator("text").all_text_contents())
