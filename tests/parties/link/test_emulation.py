"""The emulated link. Time is checked from below only: nothing may arrive before the link could have carried it."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from parties.link.emulation import FRAME_OVERHEAD_BYTES, Line
from parties.link.frames import CHUNK_BYTES
from parties.link.outbox import Outbox
from smc.errors import LinkError, PeerLeftError, ProtocolError
from smc.link_shape import LinkShape
from smc.local import run_local
from tests.support.emulated import EmulatedLink
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

KB = 1000


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("parties.link.emulation.time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_frames_leave_one_after_the_other_and_travel_together(clock: Clock) -> None:
    line = Line(LinkShape(rate=8e6, delay=0.5))  # a megabyte a second
    size = 10 * KB - FRAME_OVERHEAD_BYTES
    assert line.carry(size) == pytest.approx(100.51)
    assert line.carry(size) == pytest.approx(100.52)
    clock.now = 100.015
    assert line.carry(size) == pytest.approx(100.53)  # still behind the second one
    clock.now = 200.0
    assert line.carry(size) == pytest.approx(200.51)  # an idle link owes nothing
    assert line.capacity == 500 * KB


def test_a_shape_without_rate_or_delay(clock: Clock) -> None:
    assert Line(LinkShape()).carry(10**9) == clock.now
    assert Line(LinkShape(delay=0.25)).carry(10**9) == clock.now + 0.25
    assert Line(LinkShape(rate=8.0)).carry(0) == pytest.approx(clock.now + FRAME_OVERHEAD_BYTES)
    assert [Line(LinkShape(rate, delay)).capacity for rate, delay in ((None, 1.0), (8.0, None))] == [0, 0]


def test_the_wan_holds_half_a_round_trip_of_bytes() -> None:
    assert Line(LinkShape.parse("wan")).capacity == 250 * KB


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 5])
def test_an_in_memory_run_takes_what_the_link_demands(size: int) -> None:
    shape = LinkShape(rate=400e6, delay=0.02)
    message = np.random.default_rng(size).bytes(size)

    def program(session):  # type: ignore[no-untyped-def]
        start = time.monotonic()
        if session.party == 0:
            session.channel.send("there", message)
            assert bytes(session.channel.receive("back", 3)) == b"yes"
        else:
            assert bytes(session.channel.receive("there", size)) == message
            session.channel.send("back", b"yes")
        return time.monotonic() - start

    frames = max(1, -(-size // CHUNK_BYTES))
    demanded = 8 * (size + 3 + (frames + 1) * FRAME_OVERHEAD_BYTES) / 400e6 + shape.round_trip
    assert run_local(program, wrap=EmulatedLink(shape))[0] >= demanded


def test_messages_are_under_way_together_in_memory() -> None:
    """Twenty messages sent before one is awaited: one round trip, where twenty would be four seconds."""
    sent_at: list[float] = []

    def program(session):  # type: ignore[no-untyped-def]
        for index in range(20):
            session.channel.send(str(index), b"x")
        sent_at.append(time.monotonic())
        for index in range(20):
            session.channel.receive(str(index), 1)
        return time.monotonic()

    start = time.monotonic()
    ends = run_local(program, wrap=EmulatedLink(LinkShape(delay=0.2)))
    assert min(ends) - start >= 0.2
    assert max(sent_at) < min(ends)  # sending did not wait for the line


def test_errors_pass_through_the_emulated_channel() -> None:
    def wrong(session):  # type: ignore[no-untyped-def]
        session.channel.send("a" if session.party else "b", b"x")
        session.channel.receive("c", 1)

    with pytest.raises(ProtocolError, match="while this party is at step 'c'"):
        run_local(wrong, wrap=EmulatedLink(LinkShape(delay=0.001)))

    def leaving(session):  # type: ignore[no-untyped-def]
        if session.party:
            session.channel.receive("never", 1)

    with pytest.raises(PeerLeftError):
        run_local(leaving, wrap=EmulatedLink(LinkShape(delay=0.001)))


# -- over gRPC ---------------------------------------------------------------------------------------------------


def test_over_grpc_it_takes_what_the_link_demands(parties) -> None:  # type: ignore[no-untyped-def]
    shape = LinkShape(rate=80e6, delay=0.02)
    size = 1000 * KB

    def program(link):  # type: ignore[no-untyped-def]
        times = []
        for _ in range(3):
            start = time.monotonic()
            if link.party == 0:
                link.channel.send("ping", b"x")
                link.channel.receive("pong", 1)
            else:
                link.channel.receive("ping", 1)
                link.channel.send("pong", b"x")
            times.append(time.monotonic() - start)
        start = time.monotonic()
        if link.party == 0:
            link.channel.send("bulk", bytes(size))
            link.channel.receive("done", 0)
        else:
            assert bytes(link.channel.receive("bulk", size)) == bytes(size)
            link.channel.send("done", b"")
        return min(times), time.monotonic() - start

    outcome = parties.run(program, program, shape=shape)
    assert isinstance(outcome[0], tuple), outcome
    assert outcome[0][0] >= shape.round_trip
    assert outcome[0][1] >= 8 * size / 80e6 + shape.round_trip
    assert outcome[1] is not None


def test_each_party_shapes_what_it_sends(parties) -> None:  # type: ignore[no-untyped-def]
    def program(link):  # type: ignore[no-untyped-def]
        start = time.monotonic()
        link.channel.send("x", b"x")
        link.channel.receive("x", 1)
        if link.party == 0:
            link.channel.receive("y", 1)
        else:
            link.channel.send("y", b"y")
        return time.monotonic() - start

    listening, address = parties.listen(program)
    dialling = parties.connect(address, program, shape=LinkShape(delay=0.3))
    assert listening.outcome() >= 0.3
    assert isinstance(dialling.outcome(), float)


def test_giving_up_interrupts_what_is_on_the_line(parties) -> None:  # type: ignore[no-untyped-def]
    """Minutes of bytes wait on a slow line; nobody waits for them once a party has given up."""

    def program(link):  # type: ignore[no-untyped-def]
        link.channel.send("first", b"1")
        link.channel.receive("first", 1)
        if link.party == 0:
            link.channel.send("slow", bytes(4_000_000))
            raise ValueError
        link.channel.receive("slow", 4_000_000)

    outcome = parties.run(program, program, shape=LinkShape(rate=100e3), timeout=60.0)
    assert isinstance(outcome[0], ValueError)
    assert isinstance(outcome[1], LinkError)


def test_an_outbox_with_a_wire_bounds_what_waits_beyond_what_travels() -> None:
    outbox = Outbox(10, Line(LinkShape(rate=8e3, delay=0.02)))  # 20 bytes travel
    for _ in range(3):
        outbox.admit(0.01)
        outbox.append(bytes(10))
    waiter = threading.Thread(target=outbox.admit, args=(20.0,), daemon=True)
    waiter.start()
    start = time.monotonic()
    assert next(outbox) == bytes(10)  # 112 bytes at 1000 a second
    assert time.monotonic() - start > 0.05
    waiter.join(PATIENCE)
    assert not waiter.is_alive()
    outbox.close(discard=True)
    assert list(outbox) == []
