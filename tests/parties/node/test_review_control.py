"""A node's links: the standing one lives as long as the node, and every one is cut so that the peer understands."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from parties.link.channel import GrpcChannel
from parties.link.frames import FrameReader
from parties.link.outbox import Outbox
from parties.link.transport import Stream
from parties.node import control
from proto.exchange_pb2 import ABORT, DATA

from .test_control import End, eventually, listening

__all__ = ["listening"]


def test_an_error_over_a_statement_is_not_the_end_of_the_link(listening: Any, parties: Any) -> None:
    """A node that cannot write what it has heard (a full disk, say) must go on listening, or dial again."""
    alice, serve = listening
    bob = End(parties.options("bob", "alice", connect=serve()), [])
    tries: list[bytes] = []

    def fail_once(statement: bytes) -> None:
        tries.append(statement)
        if len(tries) == 1:
            raise OSError("no space left")

    bob.control._hear = fail_once
    bob.control.start()
    eventually(lambda: len(tries) >= 2 or (len(tries) == 1 and bob.control.connected and alice.control.connected))
    alice.control.say("news")
    eventually(lambda: b"news" in tries or len(tries) >= 2)
    assert bob.control.connected
    bob.control.stop()


def test_a_silent_link_is_kept_alive(listening: Any, parties: Any, monkeypatch: Any) -> None:
    """Without anything to say, a sign of life goes out before the peer would take the link for dead."""
    monkeypatch.setattr(control, "ALIVE_SECONDS", 0.2)
    monkeypatch.setattr(control, "SILENCE_SECONDS", 1.0)
    alice, serve = listening
    alice.control._options = control.control_options(alice.control._options)
    bob = End(parties.options("bob", "alice", connect=serve()), [])
    bob.control.start()
    eventually(lambda: alice.control.connected and bob.control.connected)
    meter = bob.control._stream or alice.control._stream
    assert meter is not None
    assert not meter.ended.wait(2.5)
    assert [up for up, _ in bob.news] == [True]
    bob.control.stop()


def test_who_falls_silent_is_cut_off(listening: Any, parties: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(control, "ALIVE_SECONDS", 60.0)
    monkeypatch.setattr(control, "SILENCE_SECONDS", 0.5)
    alice, serve = listening
    alice.control._options = control.control_options(alice.control._options)
    bob = End(parties.options("bob", "alice", connect=serve()), [])
    bob.control.start()
    eventually(lambda: len(alice.news) >= 2)
    assert [up for up, _ in alice.news][:2] == [True, False]
    bob.control.stop()


def test_a_link_that_is_cut_while_it_sends_ends_with_the_reason(monkeypatch: Any) -> None:
    """Who cuts a session is another thread than its own: the peer must read an end, not frames in disorder."""
    outbox = Outbox(1 << 20)
    channel = GrpcChannel(Stream(iter([]), outbox, lambda: None), "bob", 5.0)
    cutting = threading.Thread(target=channel.abort, args=("the node is stopping",))
    cut = channel._writer.cut

    def interrupted(step: str, payload: Any) -> Iterator[bytes]:
        for frame in cut(step, payload):
            cutting.start()
            cutting.join(0.3)  # it may have to wait for the frame to leave
            yield frame

    monkeypatch.setattr(channel._writer, "cut", interrupted)
    channel.send("labels", b"x" * 1000)
    cutting.join(10)
    channel.close()
    outbox._discarded.clear()
    reader = FrameReader()
    kinds = [reader.read(frame).kind for frame in outbox]
    assert kinds in ([DATA, ABORT], [ABORT])
