"""A request is over at its deadline, and lets go of what it has opened by itself."""

from __future__ import annotations

import ssl
import threading

import pytest

from parties.base.exchange import exchange
from tests.support.dripping import dripping
from tests.support.waiting import eventually


def asking() -> bool:
    return any(thread.name == "smc-http" for thread in threading.enumerate())


def test_an_answer_as_it_is_sent() -> None:
    for most, content in ((99, b"{}"), (0, b"{}")):
        with dripping(0.0) as server:
            context = ssl.create_default_context()
            found = exchange("POST", server.url, context, 30.0, most, content=b"x", headers={"Accept": "a/b"})
        assert found == (200, content)
        (head,) = server.got
        assert b"accept: a/b\r\n" in head.lower()
        assert b"accept-encoding: identity\r\n" in head.lower()
    eventually(lambda: not asking())


def test_a_server_that_drips_its_answer_is_cut() -> None:
    """Each byte comes in time; the thread has ended long before the last."""
    with dripping(0.02) as server:
        with pytest.raises(TimeoutError):
            exchange("GET", server.url, ssl.create_default_context(), 0.2, 99)
        eventually(lambda: not asking(), 30.0)
        assert not server.over.is_set()
        eventually(server.cut.is_set, 30.0)
