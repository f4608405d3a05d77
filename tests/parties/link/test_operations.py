"""Frames sent and taken by gRPC's own operations: the same messages as by its iterators, at both ends or at one."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from parties.link import listening, operations, transport
from parties.link.emulation import Line
from parties.link.outbox import SHORT_BYTES, Outbox
from smc.errors import LinkError
from smc.link_shape import LinkShape
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow

SIZES = (0, 16, SHORT_BYTES - 100, SHORT_BYTES, 3 << 20)
GIVING_UP = 20  # links: at a few of them gRPC ends the stream before it has said that the last frame is away


@pytest.mark.parametrize("without", [(), (0,), (1,), (0, 1)])
def test_messages_are_the_same_with_operations_and_without(parties, monkeypatch, without):
    """A release of gRPC that has other names for them does without: it must not be this one."""
    if 0 in without:
        monkeypatch.setattr(listening, "of_context", lambda _: None)
    if 1 in without:
        monkeypatch.setattr(transport, "of_call", lambda _: None)

    def program(link):
        assert (link.channel._stream.operations is None) == (link.party in without)
        for turn in range(30):
            size = SIZES[turn % len(SIZES)]
            for part in range(turn % 4):
                link.channel.send(f"{turn}.{part}", bytes([turn, part]) * (size // 2))
            for part in range(turn % 4):
                assert link.channel.receive(f"{turn}.{part}", size // 2 * 2) == bytes([turn, part]) * (size // 2)

    assert parties.run(program, program) == (None, None)


def test_a_release_that_was_not_tried_does_without(parties, monkeypatch):
    """What is not public may mean something else there, under the same name."""
    monkeypatch.setattr(operations, "TRIED", ("1.84",))

    def program(link):
        assert link.channel._stream.operations is None
        link.channel.send("x", b"y")
        return bytes(link.channel.receive("x", 1))

    assert parties.run(program, program) == (b"y", b"y")


@pytest.mark.parametrize("failing", [0, 1])
def test_a_stream_that_ends_with_a_frame_under_way_is_closed(parties, failing):
    def program(link):
        if link.party == failing:
            link.channel.send("last", bytes(100))
            raise ValueError
        link.channel.receive("last", 100)
        link.channel.receive("more", 1)

    for _ in range(GIVING_UP):
        outcome = parties.run(program, program)
        assert isinstance(outcome[failing], ValueError)
        assert isinstance(outcome[1 - failing], LinkError)


class Gate:
    """Takes frames as gRPC does, one at a time, and says some time later that they are away."""

    def __init__(self, seed: int = 0) -> None:
        self.frames: list[bytes] = []
        self.threads: list[int] = []
        self.told = 0  # of how many it was said
        self._random = random.Random(seed)

    def __call__(self, frame: bytes, sent: Callable[[], object]) -> None:
        assert self.told == len(self.frames), "two frames under way"
        self.frames.append(frame)
        self.threads.append(threading.get_ident())

        def away() -> None:
            self.told += 1
            sent()

        threading.Timer(self._random.choice([0.0, 0.0, 0.002]), away).start()


@pytest.mark.parametrize("seed", range(3))
def test_frames_go_out_in_order_one_at_a_time_and_the_stream_ends_after_the_last(seed: int) -> None:
    sizes = random.Random(seed).choices((2, 100, SHORT_BYTES, SHORT_BYTES + 2), k=60)
    frames = [number.to_bytes(2, "big") * (size // 2) for number, size in enumerate(sizes)]
    outbox, gate = Outbox(1 << 30), Gate(seed)
    outbox.send_by(gate)
    grpcs = threading.Thread(target=lambda: gate.frames.append(b"end" + b"".join(outbox)))
    grpcs.start()
    for number, frame in enumerate(frames):
        is_free = number % 3 == 0
        if is_free:
            eventually(lambda number=number: gate.told == number and not outbox._under_way)
        is_sent = outbox.append(frame)
        if is_free:
            assert is_sent == (len(frame) <= SHORT_BYTES)
        assert not is_sent or gate.threads[number] == threading.get_ident()
    outbox.close()
    grpcs.join(PATIENCE)
    assert gate.frames == [*frames, b"end"]


def test_nothing_is_sent_at_once_after_the_end_or_on_a_line() -> None:
    closed, on_a_line, gate = Outbox(10), Outbox(10, Line(LinkShape(rate=8e3, delay=0.02))), Gate()
    for outbox in (closed, on_a_line):
        outbox.send_by(gate)
    closed.close(discard=True)
    assert not closed.append(b"late")
    assert not on_a_line.append(b"held back")
    assert list(closed) == gate.frames == []
