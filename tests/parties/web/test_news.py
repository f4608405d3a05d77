"""Server-sent events: who may listen, what makes news, and that a stream ends with session and server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from parties.base.address import Address
from parties.web import news
from parties.web.app import make_app
from parties.web.login import Logins
from parties.web.server import STOP_SECONDS, WebServer
from tests.support.fake_node import FakeNode
from tests.support.waiting import PATIENCE, eventually


class Listening:
    """Somebody signed in, whose streams are read in a thread."""

    def __init__(self) -> None:
        self.node, self.logins = FakeNode(), Logins()
        self.server = WebServer(Address("127.0.0.1", 0), make_app(self.node, self.logins))
        self.server.start()
        origin = f"http://{self.server.address}"
        self.client = httpx.Client(base_url=origin, timeout=PATIENCE)
        self.client.get(self.logins.link(origin))

    def hear(self, path: str = "/news") -> tuple[list[str], threading.Thread]:
        lines: list[str] = []

        def read() -> None:
            try:
                with self.client.stream("GET", path) as answer:
                    assert answer.headers["content-type"].startswith("text/event-stream")
                    for line in answer.iter_lines():
                        if line.startswith("data:"):
                            lines.append(line)
            except httpx.HTTPError:
                pass

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        eventually(lambda: bool(lines))
        return lines, thread


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listening]:
    monkeypatch.setattr(news, "LOOK_SECONDS", 0.02)
    made = Listening()
    yield made
    made.server.stop()


def test_strangers_hear_nothing(listening: Listening) -> None:
    assert httpx.get(f"http://{listening.server.address}/news").status_code == 401


def test_whatever_changes_is_news(listening: Listening) -> None:
    lines, _ = listening.hear()
    for change in (
        lambda: listening.node.add(),
        lambda: listening.node.run(listening.node.jobs()[0].id, 1.0, 2.0),
        lambda: listening.node.finish(listening.node.jobs()[0].id),
        lambda: setattr(listening.node, "connected", False),
    ):
        known = len(lines)
        change()
        eventually(lambda known=known: len(lines) > known)
    time.sleep(0.1)
    quiet = len(lines)
    time.sleep(0.1)
    assert len(lines) == quiet


def test_looks_for_news_make_no_views(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, views = [], []
    changes = listening.node.changes
    monkeypatch.setattr(listening.node, "changes", lambda: (looks.append(0), changes())[1])
    for call in ("jobs", "job"):
        monkeypatch.setattr(listening.node, call, views.append)
    listening.hear()
    eventually(lambda: len(looks) > 10)
    assert views == []


def test_a_stream_ends_with_the_session(listening: Listening) -> None:
    _, thread = listening.hear()
    listening.logins.sign_out(listening.logins._sessions[0])
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_too_many_streams_end_the_oldest(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "MOST", 2)
    threads = [listening.hear()[1] for _ in range(3)]
    threads[0].join(PATIENCE)
    assert [thread.is_alive() for thread in threads] == [False, True, True]


def test_an_open_stream_does_not_hold_up_the_servers_end(listening: Listening) -> None:
    _, thread = listening.hear()
    begun = threading.Event()
    threading.Timer(STOP_SECONDS - 0.5, begun.set).start()
    listening.server.stop()
    assert not begun.is_set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
