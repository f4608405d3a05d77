"""What the channel does when a party gives up, is silent, floods, does not read, or the stream is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from parties.link.channel import GrpcChannel
from parties.link.exchange_pb2 import ABORT, DATA
from parties.link.frames import FrameReader, FrameWriter
from parties.link.outbox import Outbox, OutboxClosedError, OutboxStuckError
from parties.link.transport import Stream
from smc.errors import InputError, LinkError, ProtocolError
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

SECRET = "salary 123456"


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ProtocolError("frame 7 is odd"), "frame 7 is odd"),
        (KeyboardInterrupt(), "interrupted"),
        (InputError(SECRET), "an error in its own input"),
        (ValueError(SECRET), "internal error"),
        (LinkError("two\nlines"), "two lines"),
    ],
)
@pytest.mark.parametrize("failing", [0, 1])
def test_reason_of_giving_up_reaches_the_peer_but_no_secret(parties, failure, reason, failing):
    def program(link):
        link.channel.send("first", b"1")
        link.channel.receive("first", 1)
        if link.party == failing:
            raise failure
        link.channel.receive("next", 1)

    outcome = parties.run(program, program)
    assert outcome[failing] is failure
    name = ("alice", "bob")[failing]
    assert str(outcome[1 - failing]) == f"{name} gave up at step 'first': {reason}"
    assert type(outcome[1 - failing]) is LinkError


@pytest.mark.parametrize("failing", [0, 1])
def test_giving_up_stops_a_peer_that_only_sends(parties, failing):
    def program(link):
        if link.party == failing:
            raise ValueError
        for _ in range(500):
            link.channel.send("flood", bytes(1024 * 1024))
        link.channel.receive("end", 1)

    error = parties.run(program, program)[1 - failing]
    assert isinstance(error, LinkError)


@pytest.mark.parametrize("waiting", [0, 1])
def test_silent_peer_is_an_error_that_names_it_step_and_seconds(parties, waiting):
    ready = threading.Event()

    def program(link):
        if link.party == waiting:
            try:
                link.channel.receive("answer", 1)
            finally:
                ready.set()
        assert ready.wait(PATIENCE)
        link.channel.receive("more", 1)

    outcome = parties.run(program, program, timeout=0.4)
    names = ("alice", "bob")
    assert str(outcome[waiting]) == f"{names[1 - waiting]} was silent for 0.4 s at step 'answer'"
    assert isinstance(outcome[1 - waiting], LinkError)


def test_sender_to_a_peer_that_does_not_read_blocks_and_then_fails_with_bounded_memory(parties):
    stop = threading.Event()
    sent = 0
    process = psutil.Process()

    def left(link):
        nonlocal sent
        before = process.memory_info().rss
        try:
            for _ in range(1000):
                link.channel.send("flood", bytes(1024 * 1024))
                sent += 1
        finally:
            left.grown = process.memory_info().rss - before
            stop.set()

    def right(link):
        assert stop.wait(PATIENCE)

    error = parties.run(left, right, timeout=0.5, buffer=4 * 1024 * 1024, goodbye=0.5)[0]
    assert str(error) == "bob accepted no data for 0.5 s at step 'flood'"
    assert 4 <= sent < 64
    assert left.grown < 128 * 1024 * 1024


def test_slow_reader_is_waited_for_longer_than_the_timeout_while_it_reads(parties):
    def left(link):
        for _ in range(24):
            link.channel.send("flood", bytes(1024 * 1024))

    def right(link):
        for _ in range(24):
            time.sleep(0.15)
            link.channel.receive("flood", 1024 * 1024)

    assert parties.run(left, right, timeout=3.0, buffer=1024 * 1024) == (None, None)


def test_send_after_the_end_is_a_link_error():
    outbox = Outbox(10)
    outbox.close()
    stream = SimpleNamespace(outbox=outbox, cause="the connection ended", take=lambda: None)
    channel = GrpcChannel(stream, "bob", 1.0)
    with pytest.raises(LinkError, match="lost the peer bob at step 's': the connection ended"):
        channel.send("s", b"")
    channel.close()


def test_a_link_that_is_cut_while_it_sends_ends_with_the_reason(monkeypatch: Any) -> None:
    """Who cuts a session is another thread than its own: the peer must read an end, not frames in disorder."""
    outbox = Outbox(1 << 20)
    channel = GrpcChannel(Stream(iter([]), outbox, lambda: None), "bob", 5.0)
    cutting = threading.Thread(target=channel.abort, args=("the node is stopping",))
    cut = FrameWriter.cut

    def interrupted(writer: FrameWriter, step: str, payload: Any) -> Iterator[bytes]:
        for frame in cut(writer, step, payload):
            cutting.start()
            cutting.join(0.3)  # it may have to wait for the frame to leave
            yield frame

    monkeypatch.setattr(FrameWriter, "cut", interrupted)
    channel.send("labels", b"x" * 1000)
    cutting.join(PATIENCE)
    reader = FrameReader()
    kinds = [reader.read(frame).kind for frame in outbox]
    channel.close()
    assert kinds in ([DATA, ABORT], [ABORT])


def _is_closed(outbox: Outbox) -> bool:
    try:
        outbox.admit(0.0)
    except OutboxStuckError:
        return False
    except OutboxClosedError:
        return True
    return False


def test_a_reason_overtakes_what_waits_to_be_sent() -> None:
    """A cut waits one second for its reason to leave; on a slow line a message of some megabytes takes longer."""
    outbox = Outbox(1 << 20)
    channel = GrpcChannel(Stream(iter([]), outbox, lambda: None), "bob", 5.0)
    channel.send("labels", b"x" * (3 << 20))
    reader, sent = FrameReader(), iter(outbox)
    assert reader.read(next(sent)).kind == DATA
    cutting = threading.Thread(target=channel.abort, args=("the node is stopping",))
    cutting.start()
    while not _is_closed(outbox):
        assert cutting.is_alive()
    frames = [reader.read(frame) for frame in sent]
    cutting.join(PATIENCE)
    channel.close()
    assert [(frame.kind, bytes(frame.payload)) for frame in frames] == [(ABORT, b"the node is stopping")]


def test_a_reason_behind_unread_messages_is_found_by_a_party_that_sends() -> None:
    """The stream is over while this party sends; the peer's reason has arrived, after messages that it has not read."""
    writer, outbox = FrameWriter(), Outbox(1 << 20)
    arrived = [*writer.cut("labels", b"x"), writer.write(ABORT, "labels", b"the node is stopping")]
    channel = GrpcChannel(Stream(iter(arrived), outbox, lambda: None), "bob", 5.0)
    outbox.close()
    with pytest.raises(LinkError, match="bob gave up at step 'labels': the node is stopping"):
        channel.send("labels", b"x")
    channel.close()
