"""What a party does while it waits to be connected: once, and its time does not count."""

from __future__ import annotations

import threading
import time

import pytest

from tests.support.ports import free_port

pytestmark = pytest.mark.slow


def test_the_time_of_connecting_can_be_used_once_by_each_party(parties) -> None:  # type: ignore[no-untyped-def]
    called: list[str] = []
    listening, address = parties.listen(lambda link: None, meanwhile=lambda: called.append("alice"))
    dialling = parties.connect(address, lambda link: None, meanwhile=lambda: called.append("bob"))
    assert (listening.outcome(), dialling.outcome()) == (None, None)
    assert sorted(called) == ["alice", "bob"]


def test_it_is_used_once_although_the_first_call_finds_nobody(parties) -> None:  # type: ignore[no-untyped-def]
    port = free_port()
    called: list[threading.Thread] = []
    dialling = parties.connect(
        f"127.0.0.1:{port}", lambda link: "met", meanwhile=lambda: called.append(threading.current_thread())
    )
    time.sleep(0.2)
    listening, _ = parties.listen(lambda link: "met", listen=f"127.0.0.1:{port}")
    assert (listening.outcome(), dialling.outcome()) == ("met", "met")
    assert called == [dialling]


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_meanwhile_ends_the_party_that_had_it(parties, failing: int) -> None:  # type: ignore[no-untyped-def]
    def fail() -> None:
        raise ValueError("no such module")

    changes = [{"wait": 0.5}, {"wait": 0.5}]
    changes[failing]["meanwhile"] = fail  # type: ignore[assignment]
    listening, address = parties.listen(lambda link: None, **changes[0])
    dialling = parties.connect(address, lambda link: None, **changes[1])
    outcome = listening.outcome(), dialling.outcome()
    assert isinstance(outcome[failing], ValueError)
    assert isinstance(outcome[1 - failing], Exception)


def test_loading_may_take_longer_than_the_wait(parties) -> None:  # type: ignore[no-untyped-def]
    listening, address = parties.listen(lambda link: "met", meanwhile=lambda: time.sleep(2.5), wait=2.0)
    dialling = parties.connect(address, lambda link: "met", meanwhile=lambda: time.sleep(2.5), wait=2.0)
    assert (listening.outcome(), dialling.outcome()) == ("met", "met")
