"""The in-memory channels of a run, as slow as a link."""

from __future__ import annotations

import queue
import time

from typing_extensions import override

from parties.link.emulation import Line
from parties.link.frames import CHUNK_BYTES
from smc.channel import Buffer, Channel
from smc.link_shape import LinkShape


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
