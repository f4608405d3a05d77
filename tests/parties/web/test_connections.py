"""Connections to the page and to the metrics: those that say too little or take too little keep nobody out."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from io import StringIO

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.server import ServerState

from parties.base import bounds
from parties.base.address import Address
from parties.node import events
from parties.node.events import Events
from parties.web import connection
from parties.web.metrics import make_metrics
from parties.web.server import WebServer
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

LARGE = 64 * 1024 * 1024
Serve = Callable[[Starlette], WebServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(app: Starlette) -> WebServer:
            server = WebServer(Address("127.0.0.1", 0), app)
            server.start()
            stack.callback(server.stop)
            return server

        yield start


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What the answer at /late waits for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def app(release: threading.Event) -> Starlette:
    async def body(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    def late(_: Request) -> PlainTextResponse:
        release.wait(PATIENCE)
        return PlainTextResponse("at last")

    def large(_: Request) -> PlainTextResponse:
        return PlainTextResponse("x" * LARGE)

    return Starlette(routes=[Route("/", body, methods=["GET", "POST"]), Route("/late", late), Route("/large", large)])


def connect(server: WebServer, said: bytes = b"") -> socket.socket:
    stranger = socket.create_connection(server.address, timeout=PATIENCE)
    stranger.sendall(said)
    return stranger


def is_cut(stranger: socket.socket) -> bool:
    """Whether the other end has closed the connection; waits for that."""
    try:
        return not stranger.recv(1)
    except ConnectionResetError:
        return True


def state(server: WebServer) -> ServerState:
    assert server._server is not None
    return server._server.server_state


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHo"])
def test_half_a_request_has_a_deadline(serve: Serve, app: Starlette, monkeypatch, said: bytes) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.3)
    with connect(serve(app), said) as stranger:
        assert is_cut(stranger)


def test_half_a_body_is_answered_and_in_the_log(serve: Serve, app: Starlette, monkeypatch, caplog) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.3)
    begun = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
    with connect(serve(app), begun) as stranger, stranger.makefile("rb") as answer:
        assert answer.readline() == b"HTTP/1.1 408 Request Timeout\r\n"
        assert b"nothing came of it" in answer.read()  # to its end: it is cut
    assert "a request broke off: silent for 0.3 s" in caplog.text


def test_a_body_may_take_longer_than_that(serve: Serve, app: Starlette, monkeypatch) -> None:
    """A deadline on silence, not on length: three deadlines pass while the body comes."""
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 1.0)
    passed = threading.Semaphore(0)
    look = connection.Connection._look

    def looking(self: connection.Connection) -> None:
        look(self)
        passed.release()

    monkeypatch.setattr(connection.Connection, "_look", looking)
    piece = b"x" * connection.LEAST_BYTES
    length = 10_000 * len(piece)
    with connect(serve(app), b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length) as sender:
        sent = deadlines = 0
        while deadlines < 3 and sent < length - len(piece):
            sender.sendall(piece)
            sent += len(piece)
            deadlines += passed.acquire(timeout=0.05)
        assert deadlines == 3
        sender.sendall(b"x" * (length - sent))
        with sender.makefile("rb") as answer:
            assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
            while answer.readline().strip():
                pass
            assert answer.read(len(str(length))) == str(length).encode()


def test_a_trickle_is_silence(serve: Serve, app: Starlette, monkeypatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.3)
    begun = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n"
    with connect(serve(app), begun) as sender, suppress(ConnectionError):
        for _ in range(5000):
            sender.sendall(b"x")
            time.sleep(0.02)
        raise AssertionError("a byte at a time holds a connection")


def test_so_has_the_next_one_of_a_connection(serve: Serve, app: Starlette, monkeypatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.3)
    with connect(serve(app), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as stranger:
        with stranger.makefile("rb") as answer:
            while answer.readline().strip():
                pass
            assert answer.read(1) == b"0"
        stranger.sendall(b"GET /")
        assert is_cut(stranger)


def test_an_answer_may_take_longer_than_that(serve: Serve, app: Starlette, release, monkeypatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.1)
    server = serve(app)
    threading.Timer(0.5, release.set).start()
    assert httpx.get(f"http://{server.address}/late").text == "at last"


def test_a_reader_that_takes_nothing_is_left(serve: Serve, app: Starlette, monkeypatch) -> None:
    monkeypatch.setattr(connection, "STALLED_SECONDS", 0.3)
    server = serve(app)
    with connect(server, b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n") as stranger:
        eventually(lambda: bool(state(server).tasks))
        eventually(lambda: not state(server).connections)
        received = 0
        with suppress(ConnectionResetError):
            while piece := stranger.recv(1 << 20):
                received += len(piece)
        assert received < LARGE
    assert len(httpx.get(f"http://{server.address}/large").content) == LARGE  # who reads on gets all of it


def test_the_oldest_half_request_gives_way(serve: Serve, app: Starlette, monkeypatch) -> None:
    monkeypatch.setattr(bounds, "local_connections", lambda: 4)
    server = serve(app)
    with ExitStack() as stack:
        strangers = [stack.enter_context(connect(server, b"GET / HT")) for _ in range(20)]
        assert httpx.get(f"http://{server.address}/").text == "0"
        assert all(is_cut(stranger) for stranger in strangers[:16])
        strangers[-1].sendall(b"TP/1.1\r\nHost: x\r\n\r\n")
        assert strangers[-1].recv(1000).startswith(b"HTTP/1.1 200")


def test_a_request_that_is_being_answered_does_not(serve: Serve, app: Starlette, release, monkeypatch) -> None:
    monkeypatch.setattr(bounds, "local_connections", lambda: 2)
    server = serve(app)
    with ExitStack() as stack:
        asking = [stack.enter_context(connect(server, b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")) for _ in range(2)]
        eventually(lambda: len(state(server).tasks) == 2)
        with connect(server) as newcomer:
            assert is_cut(newcomer)
        release.set()
        assert all(one.recv(1000).startswith(b"HTTP/1.1 200") for one in asking)


def test_metrics_answer_this_machine_only_and_make_no_thread_a_connection(serve: Serve) -> None:
    figures = Events(StringIO())
    figures.connected.set(True)
    server = serve(make_metrics(figures.registry))
    url = f"http://{server.address}/metrics"
    answer = httpx.get(url)
    assert "smc_connected 1.0" in answer.text.splitlines()
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert httpx.get(url, headers={"Host": "page.example"}).status_code == 403
    assert httpx.get(url, headers={"Origin": "http://page.example"}).status_code == 403
    assert httpx.get(f"http://{server.address}/").status_code == 404
    before = threading.active_count()
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connect(server, b"GET /metrics HT"))
        assert httpx.get(url).status_code == 200
        assert threading.active_count() == before


@pytest.fixture
def loggers() -> Iterator[None]:
    """The loggers that a node takes over, as in a new process, and given back; servers of other tests set levels."""
    named = [logging.getLogger(name) for name in ("parties", "uvicorn", "uvicorn.error", "asyncio")]
    kept = [(logger, logger.handlers, logger.propagate, logger.level) for logger in named]
    for logger in named:
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)
    hook = threading.excepthook
    yield
    threading.excepthook = hook
    for logger, handlers, propagate, level in kept:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.mark.usefixtures("loggers")
def test_what_repeats_itself_is_told_once_in_a_while(monkeypatch) -> None:
    now = 100.0
    monkeypatch.setattr(events.time, "monotonic", lambda: now)
    stream = StringIO()
    Events(stream).watch_process()
    for _ in range(1000):
        logging.getLogger("asyncio").error("out of %s", "files", exc_info=(OSError, OSError("secret"), None))
    logging.getLogger("uvicorn.error").warning("another matter")
    now += events.QUIET_SECONDS
    logging.getLogger("asyncio").error("again", exc_info=(OSError, OSError("secret"), None))
    logging.getLogger("asyncio").error("and again", exc_info=(OSError, OSError("secret"), None))
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["where"], line["error"], line.get("repeated")) for line in told] == [
        ("asyncio", "OSError", None),
        ("uvicorn.error", "none", None),
        ("asyncio", "OSError", 999),
    ]
    assert "secret" not in stream.getvalue()
