"""Serving the page: where, and what stands in the way."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from parties.base.address import Address
from parties.web.connection import Connection
from parties.web.server import WebServer
from smc.errors import InputError
from tests.support.waiting import PATIENCE


def app(wait: threading.Event | None = None) -> Starlette:
    def hello(_: Request) -> PlainTextResponse:
        if wait is not None:
            wait.wait(PATIENCE)
        return PlainTextResponse("hello")

    return Starlette(routes=[Route("/", hello)])


def test_no_part_of_an_answer_waits_for_word_of_the_part_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nagle's algorithm and delayed acknowledgement together make 40 ms of every answer on a connection that stays."""
    delayed: list[bool] = []
    begin = Connection.connection_made

    def made(self: Connection, transport: asyncio.Transport) -> None:
        accepted = transport.get_extra_info("socket")
        delayed.append(not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        begin(self, transport)

    monkeypatch.setattr(Connection, "connection_made", made)
    server = WebServer(Address("127.0.0.1", 0), app())
    server.start()
    httpx.get(f"http://{server.address}/")
    server.stop()
    assert delayed == [False]


def test_it_serves_until_it_is_stopped(capfd: pytest.CaptureFixture[str]) -> None:
    server = WebServer(Address("127.0.0.1", 0), app())
    server.stop()  # not started: nothing to do
    server.start()
    assert server.address.port > 0
    answer = httpx.get(f"http://{server.address}/")
    assert answer.text == "hello"
    assert "server" not in answer.headers
    server.stop()
    server.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{server.address}/")
    assert capfd.readouterr() == ("", "")


def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=rf"^the web page cannot be served at 127\.0\.0\.1:{port}: [^:(]+; is another"
        ):
            WebServer(Address("127.0.0.1", port), app()).start()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "node.example"])
def test_other_addresses_than_loopback_are_refused(host: str) -> None:
    with pytest.raises(InputError, match="for this machine only"):
        WebServer(Address(host, 0), app()).start()


def test_unless_told_otherwise() -> None:
    server = WebServer(Address("0.0.0.0", 0), app(), loopback_only=False)
    server.start()
    assert httpx.get(f"http://127.0.0.1:{server.address.port}/").text == "hello"
    server.stop()


def test_stopping_does_not_wait_for_long_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parties.web.server.STOP_SECONDS", 0.2)
    release = threading.Event()
    server = WebServer(Address("localhost", 0), app(release))
    server.start()

    def ask() -> None:
        with suppress(httpx.TransportError):
            httpx.get(f"http://{server.address}/", timeout=PATIENCE)

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.2)
    server.stop()  # within seconds, while the answer is still being made
    assert not release.is_set()
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://{server.address}/")
    release.set()
    asking.join(PATIENCE)
    assert not asking.is_alive()
