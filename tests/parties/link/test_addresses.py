"""Host names with several addresses, and which addresses a listening party opens."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from parties.base.address import parse_address
from parties.link import preflight
from smc.errors import LinkError
from tests.support.links import Parties
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

NAME = "peer.example"
Resolves = Callable[..., None]


@pytest.fixture
def resolves(monkeypatch: pytest.MonkeyPatch) -> Resolves:
    """Let `NAME` stand for these addresses, in this order."""
    real = socket.getaddrinfo

    def to(*hosts: str) -> None:
        def looked_up(host: Any, *arguments: Any, **named: Any) -> Any:
            if host != NAME:
                return real(host, *arguments, **named)
            return [entry for one in hosts for entry in real(one, *arguments, **named)]

        monkeypatch.setattr(socket, "getaddrinfo", looked_up)

    return to


@contextmanager
def silent(host: str, port: int) -> Iterator[None]:
    """Take no connection at an address, without a word: its queue is full."""
    with socket.socket() as hole, socket.socket() as first, socket.socket() as second:
        hole.bind((host, port))
        hole.listen(0)
        for call in (first, second):
            call.setblocking(False)
            call.connect_ex((host, port))
        yield


@pytest.mark.parametrize(
    ("hosts", "listens"),
    [
        (("127.0.0.1", "127.0.0.2"), "127.0.0.2"),
        (("127.0.0.2", "127.0.0.1"), "127.0.0.2"),
        (("::1", "127.0.0.2"), "127.0.0.2"),
        (("127.0.0.1", "::1"), "[::1]"),
    ],
)
def test_a_peer_is_met_at_whichever_address_it_has(
    parties: Parties, resolves: Resolves, hosts: tuple[str, ...], listens: str
) -> None:
    resolves(*hosts)
    listening, address = parties.listen(lambda link: "left", listen=f"{listens}:0")
    dialling = parties.connect(f"{NAME}:{parse_address(address).port}", lambda link: "right")
    assert (listening.outcome(), dialling.outcome()) == ("left", "right")


@pytest.mark.parametrize("listens", ["127.0.0.2", "[::1]"])
def test_it_may_come_later_than_who_dials_it(parties: Parties, resolves: Resolves, listens: str) -> None:
    resolves("127.0.0.1", "127.0.0.2", "::1")
    port = free_port()
    dialling = parties.connect(f"{NAME}:{port}", lambda link: "right")
    dialling.join(1.0)
    assert dialling.is_alive()
    listening, _ = parties.listen(lambda link: "left", listen=f"{listens}:{port}")
    assert (listening.outcome(), dialling.outcome()) == ("left", "right")


def test_an_address_that_says_nothing_is_not_in_the_way(parties: Parties, resolves: Resolves) -> None:
    resolves("127.0.0.1", "127.0.0.2")
    listening, address = parties.listen(lambda link: "left", listen="127.0.0.2:0")
    port = parse_address(address).port
    with silent("127.0.0.1", port):
        assert _seen(parties, port)
        dialling = parties.connect(f"{NAME}:{port}", lambda link: "right")
        assert (listening.outcome(), dialling.outcome()) == ("left", "right")


def test_somebody_elses_machine_at_one_address_is_not_in_the_way(parties: Parties, resolves: Resolves) -> None:
    resolves("127.0.0.1", "127.0.0.2")
    port = free_port()
    parties.listen(lambda link: None, own="mallory", listen=f"127.0.0.1:{port}", wait=1.0)
    listening, _ = parties.listen(lambda link: "left", listen=f"127.0.0.2:{port}")
    assert _seen(parties, port)
    dialling = parties.connect(f"{NAME}:{port}", lambda link: "right")
    assert (listening.outcome(), dialling.outcome()) == ("left", "right")


def test_what_is_said_of_addresses_at_which_it_is_not(parties: Parties, resolves: Resolves) -> None:
    resolves("127.0.0.1", "127.0.0.2")
    port = free_port()
    alone = parties.connect(f"{NAME}:{port}", lambda link: None, wait=0.5).outcome()
    assert isinstance(alone, LinkError)
    assert "(127.0.0.1: Connection refused; 127.0.0.2: Connection refused)" in str(alone)
    parties.listen(lambda link: None, own="mallory", listen=f"127.0.0.2:{port}", wait=1.0)
    other = parties.connect(f"{NAME}:{port}", lambda link: None).outcome()
    assert isinstance(other, LinkError)
    assert str(other).startswith(f"the peer at 127.0.0.2:{port} presents certificate")


@pytest.mark.parametrize(
    ("listens", "open_to"), [("0.0.0.0", {"127.0.0.1"}), ("[::]", {"127.0.0.1", "::1"})], ids=["ipv4", "both"]
)
def test_a_listening_party_opens_what_its_address_says(parties: Parties, listens: str, open_to: set[str]) -> None:
    listening, address = parties.listen(lambda link: "left", listen=f"{listens}:0")
    port = parse_address(address).port
    reached = set()
    for host in ("127.0.0.1", "::1"):
        with suppress(ConnectionRefusedError), socket.create_connection((host, port)):
            reached.add(host)
    assert reached == open_to
    again = parties.listen  # the port is free again afterwards, with old connections
    dialling = parties.connect(f"127.0.0.1:{port}", lambda link: "right")
    assert (listening.outcome(), dialling.outcome()) == ("left", "right")
    listening, _ = again(lambda link: "left", listen=f"{listens}:{port}")
    dialling = parties.connect(f"127.0.0.1:{port}", lambda link: "right")
    assert (listening.outcome(), dialling.outcome()) == ("left", "right")


def _seen(parties: Parties, port: int) -> bool:
    """Return whether the dialling party's look at its peer finds it."""
    bob, alice = parties.identities["bob"], parties.identities["alice"].certificate
    return preflight._attempt(parse_address(f"{NAME}:{port}"), bob, alice, 5.0, look=True)
