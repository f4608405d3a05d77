"""A slower link than there is: when each frame would arrive, and a channel that keeps to it.

The model is a line behind a queue (`smc.link_shape.Direction`): frames leave one after the other at the link's rate and
arrive one delay after their last byte has left, so many may be under way at once as its window holds. Everything
follows from the moment at which a frame is handed over, and nobody needs to do anything until it is due: waiting for
that moment is the whole emulation.
"""

from __future__ import annotations

import queue
import time

from typing_extensions import override

from parties.link.frames import CHUNK_BYTES
from smc.channel import Buffer, Channel
from smc.link_shape import Direction, LinkShape

# What travels with the bytes of a frame: gRPC 5, HTTP/2 9, TLS 1.3 22, and TCP, IP and Ethernet 66.
FRAME_OVERHEAD_BYTES = 102


class Line:
    """One direction of an emulated link. It is driven by one thread: the one that sends."""

    def __init__(self, shape: LinkShape) -> None:
        self._line = Direction(shape)
        self.capacity = self._line.capacity

    def carry(self, size: int) -> float:
        """Hand over a frame of `size` bytes now; returns when it arrives, in seconds of `time.monotonic`.

        `capacity` is how many bytes may have left and not have arrived.
        """
        return self._line.carry(size + FRAME_OVERHEAD_BYTES, time.monotonic())


class EmulatedLink:
    """Makes the in-memory channels of `smc.local.run_local` as slow as a link of this shape.

        run_local(program, wrap=EmulatedLink(LinkShape.parse("wan")))

    It serves one run. A message is cut into frames as on the real link; a message that has reached the other
    end's queue is held back there until it is due.
    """

    def __init__(self, shape: LinkShape) -> None:
        self._shape = shape
        self._arrivals: tuple[queue.SimpleQueue[float], ...] = (queue.SimpleQueue(), queue.SimpleQueue())

    def __call__(self, party: int, channel: Channel) -> Channel:
        """Return the channel of one party, wrapped."""
        return _EmulatedChannel(channel, Line(self._shape), self._arrivals[party], self._arrivals[1 - party])


class _EmulatedChannel(Channel):
    """One end: notes when each message it sends will arrive, and waits for those that it receives."""

    def __init__(
        self,
        inner: Channel,
        line: Line,
        sent: queue.SimpleQueue[float],
        received: queue.SimpleQueue[float],
    ) -> None:
        self._inner = inner
        self._line = line
        self._sent = sent
        self._received = received

    @override
    def send(self, step: str, payload: Buffer) -> None:
        left = memoryview(payload).nbytes
        arrival = self._line.carry(min(left, CHUNK_BYTES))
        while (left := left - CHUNK_BYTES) > 0:
            arrival = self._line.carry(min(left, CHUNK_BYTES))
        self._sent.put(arrival)
        self._inner.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        payload = self._inner.receive(step, size)
        time.sleep(max(0.0, self._received.get() - time.monotonic()))
        return payload
