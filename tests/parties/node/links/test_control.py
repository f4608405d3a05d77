"""The standing link of two nodes over real gRPC: what is said is heard, in any order of starts, and after any break."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator

import grpc
import numpy as np
import pytest

from parties.base.address import Address
from parties.link.exchange_pb2 import ABORT, DATA, GOODBYE
from parties.link.listening import Port, RefusedError, Take
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.node.links import control
from parties.node.links.control import Control, control_options
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


class End:
    """One node's end of the link, and what it has heard."""

    def __init__(self, options: LinkOptions, greeting: list[str], hear: Callable[[bytes], None] | None = None) -> None:
        self.heard: list[bytes] = []
        self.news: list[tuple[bool, str | None]] = []
        self.control = Control(
            control_options(options),
            hear or self.heard.append,
            lambda: greeting,
            str.encode,
            lambda *news: self.news.append(news),
        )

    def admit(self, label: str) -> tuple[Outbox, Take]:
        if label != control.LABEL:
            raise RefusedError("not this one")
        return self.control.admit()


@pytest.fixture
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds between signs of life, and without one before the link is dead."""
    alive, silence = request.param
    monkeypatch.setattr(control, "ALIVE_SECONDS", alive)
    monkeypatch.setattr(control, "SILENCE_SECONDS", silence)


@pytest.fixture
def listening(parties, identities) -> Iterator[tuple[End, Callable[[], str]]]:
    """Alice's node, and a function that opens its port (again) and tells the address."""
    alice = End(parties.options("alice", "bob", listen="127.0.0.1:0", timeout=60.0), ["from alice"])
    ports: list[Port] = []

    def serve() -> str:
        number = 0
        if ports:
            number = ports[-1].address.port
            ports[-1].close()
        address = Address("127.0.0.1", number)
        ports.append(Port(address, identities["alice"], {identities["bob"].certificate: alice.admit}, 10.0))
        return str(ports[-1].address)

    yield alice, serve
    alice.control.stop()
    for port in ports:
        port.close()


def test_greetings_and_news_are_heard(listening, parties) -> None:
    alice, serve = listening
    bob = End(parties.options("bob", "alice", connect=serve()), ["from bob", "x" * 300_000])
    assert bob.control.trouble
    bob.control.start()
    eventually(lambda: len(alice.heard) == 2 and bob.heard and alice.news and bob.news)
    assert alice.heard == [b"from bob", b"x" * 300_000]
    assert bob.heard == [b"from alice"]
    assert alice.control.connected
    assert bob.control.connected
    assert alice.news == [(True, "127.0.0.1")]
    assert bob.news == [(True, None)]
    many = [chr(i + 33) * (i + 1) for i in range(90)]
    threads = [threading.Thread(target=alice.control.say, args=(statement,)) for statement in many]
    for thread in threads:
        thread.start()
    eventually(lambda: len(bob.heard) == 91)
    assert sorted(bob.heard[1:]) == sorted(map(str.encode, many))
    bob.control.stop()
    assert not bob.control.connected
    assert bob.news == [(True, None), (False, None)]
    eventually(lambda: not alice.control.connected and not bob.control.connected)
    assert alice.control.trouble == "it hung up: the node is stopping"


def test_a_planned_renewal_is_no_alarm(listening, parties) -> None:
    """The peer has begun to use the certificate that it has announced: the first of the two fails, and nobody hears."""
    alice, serve = listening
    told: list[str] = []
    bob = End(parties.options("bob", "mallory", connect=serve()), ["from bob"])
    bob.control._troubled = told.append
    bob.control._successor = control_options(parties.options("bob", "alice", connect=bob.control._options.connect))
    bob.control.start()
    eventually(lambda: alice.heard)
    assert not told
    bob.control.stop()


def test_why_a_link_is_down_is_known_when_that_is_told(listening, parties) -> None:
    alice, serve = listening
    seen: list[tuple[bool, str]] = []
    alice.control._changed = lambda up, _: seen.append((up, alice.control.trouble))
    bob = End(parties.options("bob", "alice", connect=serve()), [])
    bob.control.start()
    eventually(lambda: seen)
    bob.control.stop()
    eventually(lambda: len(seen) == 2)
    assert seen == [(True, ""), (False, "it hung up: the node is stopping")]


def test_what_cannot_be_written_is_not_said_and_ends_the_link(listening, parties) -> None:
    """What would be said may be gone after a power cut: with the next link it is said, if it is there."""
    alice, serve = listening
    troubles: list[str] = []
    bob = End(parties.options("bob", "alice", connect=serve()), [])
    alice.control._troubled = troubles.append

    def read(key: str) -> bytes:
        if not troubles:
            raise sqlite3.OperationalError("disk I/O error")
        return key.encode()

    bob.control._read = read
    bob.control.start()
    eventually(lambda: bob.control.connected)
    bob.control.say("lost")
    eventually(lambda: any(control.UNWRITTEN in why for why in troubles))
    eventually(lambda: bob.control.connected and alice.control.connected)
    bob.control.say("there")
    eventually(lambda: alice.heard == [b"there"])
    bob.control.stop()


def test_the_listening_node_may_come_later_and_come_back(listening, parties) -> None:
    alice, serve = listening
    address = serve()
    bob = End(parties.options("bob", "alice", connect=address), ["from bob"])
    bob.control.start()
    eventually(lambda: alice.heard)
    serve()  # the port is closed, which cuts the link, and opened again
    eventually(lambda: len(alice.heard) == 2 and bob.control.connected)
    assert [up for up, _ in bob.news] == [True, False, True]
    bob.control.stop()


def test_a_peer_that_comes_to_have_its_new_certificate_is_dialled_by_that(parties, identities) -> None:
    """By turns with the former one; once it has answered with it, it is told of and goes on alone."""
    alice = End(parties.options("mallory", "bob", listen="127.0.0.1:0", timeout=60.0), ["from alice"])
    port = Port(Address("127.0.0.1", 0), identities["mallory"], {identities["bob"].certificate: alice.admit}, 10.0)
    bob, told = End(parties.options("bob", "alice", connect=str(port.address)), []), list[str]()
    new = control_options(parties.options("bob", "mallory", connect=str(port.address)))
    bob.control._successor, bob.control._succeeded = new, lambda: told.append(bob.control.trouble)
    try:
        bob.control.start()
        eventually(lambda: bob.heard == [b"from alice"])
        assert len(told) == 1
        assert told[0] != ""  # before anybody hears that there is a link
        assert bob.control._options is new
        assert bob.control._successor is None
    finally:
        bob.control.stop()
        alice.control.stop()
        port.close()


def test_a_newer_link_replaces_the_older(listening, parties) -> None:
    alice, serve = listening
    address = serve()
    bob = End(parties.options("bob", "alice", connect=address), ["newer"])
    with parties.rogue(address, label=control.LABEL) as older:  # which does not dial again
        older.hello()
        eventually(lambda: alice.control.connected)
        bob.control.start()
        eventually(lambda: alice.heard == [b"newer"])
        assert older.ended() == grpc.StatusCode.CANCELLED
    assert bob.control.connected
    assert alice.control.connected
    bob.control.stop()


def size(number: int) -> bytes:
    return np.array([number], dtype=np.int64).tobytes()


@pytest.mark.parametrize(
    "frames",
    [
        [(DATA, "statement.size", size(control.MAX_BYTES + 1))],
        [(DATA, "statement.size", size(-1))],
        [(DATA, "statement.size", b"")],
        [(DATA, "statement", b"{}")],
        [(DATA, "statement.size", size(2)), (DATA, "statement", b"{}}")],
        [(ABORT, "", b"no")],
        [(GOODBYE, "", b"")],
    ],
)
def test_a_peer_that_does_not_keep_to_it_is_cut_off(listening, parties, frames) -> None:
    alice, serve = listening
    address = serve()
    with parties.rogue(address, label=control.LABEL) as peer:
        peer.hello()
        for number, (kind, step, payload) in enumerate(frames, start=1):
            peer.frame(sequence=number, kind=kind, step=step, payload=payload)
        eventually(lambda: [up for up, _ in alice.news] == [True, False])
    assert not alice.heard
    assert alice.control.trouble
    bob = End(parties.options("bob", "alice", connect=address), ["from bob"])
    bob.control.start()
    eventually(lambda: alice.heard == [b"from bob"])
    bob.control.stop()


def test_another_kind_of_stream_is_refused_with_the_reason(listening, parties) -> None:
    _, serve = listening
    with parties.rogue(serve(), label="something else") as peer, pytest.raises(grpc.RpcError) as refused:
        peer.read()
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refused.value.details() == "not this one"


def test_an_error_over_a_statement_is_not_the_end_of_the_link(listening, parties) -> None:
    """A node that cannot write what it has heard (a full disk, say) must go on listening, or dial again."""
    alice, serve = listening
    tries: list[bytes] = []

    def fail_once(statement: bytes) -> None:
        tries.append(statement)
        if len(tries) == 1:
            raise OSError("no space left")

    bob = End(parties.options("bob", "alice", connect=serve()), [], fail_once)
    bob.control.start()
    eventually(lambda: len(tries) >= 2 or (len(tries) == 1 and bob.control.connected and alice.control.connected))
    alice.control.say("news")
    eventually(lambda: b"news" in tries or len(tries) >= 2)
    assert bob.control.connected
    bob.control.stop()


@pytest.mark.parametrize("patience", [(0.2, 1.0)], indirect=True)
def test_a_silent_link_is_kept_alive(patience, listening, parties) -> None:
    """Without anything to say, a sign of life goes out before the peer would take the link for dead."""
    alice, serve = listening
    bob = End(parties.options("bob", "alice", connect=serve()), [])
    bob.control.start()
    eventually(lambda: alice.control.connected and bob.control.connected)
    time.sleep(2.5)
    assert alice.news == [(True, "127.0.0.1")]
    assert bob.news == [(True, None)]
    bob.control.stop()


@pytest.mark.parametrize("patience", [(60.0, 0.5)], indirect=True)
def test_who_falls_silent_is_cut_off(patience, listening, parties) -> None:
    alice, serve = listening
    bob = End(parties.options("bob", "alice", connect=serve(), timeout=60.0), [])
    bob.control.start()
    eventually(lambda: len(alice.news) >= 2)
    assert [up for up, _ in alice.news][:2] == [True, False]
    bob.control.stop()
