"""The bounded queue between the protocol's thread and gRPC's sending thread."""

from __future__ import annotations

import queue
import threading
import time

from parties.link.emulation import Line


class OutboxClosedError(Exception):
    """The stream is over; nothing can be sent any more."""


class OutboxStuckError(Exception):
    """The peer took nothing for a whole timeout."""


class Outbox:
    """Serialised frames on their way out. gRPC iterates over it, from a thread of its own.

    A message is admitted whole as soon as fewer than `limit` bytes are waiting. So memory is bounded by `limit`
    and one message, and two parties that both send one message, of any size, before they receive never block.

    With a `line` each frame is held back until that would have carried it; the bytes on the line come on top of
    the limit. gRPC sees frames that come late, and its windows are not strained.
    """

    def __init__(self, limit: int, line: Line | None = None) -> None:
        self._line = line
        self._limit = limit + (line.capacity if line is not None else 0)
        self._frames: queue.SimpleQueue[tuple[bytes, float] | None] = queue.SimpleQueue()  # None: no more will come
        self._waiting = 0  # bytes in _frames
        self._closed = False
        self._discarded = threading.Event()
        self._changed = threading.Condition()
        self.last_taken = time.monotonic()  # when gRPC last took a frame: progress, seen from this side

    def admit(self, timeout: float) -> None:
        """Wait for room for one message. `OutboxStuckError` after `timeout` seconds in which no frame went out."""
        with self._changed:
            start = time.monotonic()
            while self._waiting >= self._limit and not self._closed:
                left = max(start, self.last_taken) + timeout - time.monotonic()
                if left <= 0:
                    raise OutboxStuckError
                self._changed.wait(left)
            if self._closed:
                raise OutboxClosedError

    def append(self, frame: bytes) -> None:
        """Queue a frame of an admitted message. After `close` it goes nowhere."""
        with self._changed:
            self._waiting += len(frame)
            due = self._line.carry(len(frame)) if self._line is not None else 0.0
        self._frames.put((frame, due))

    def close(self, discard: bool = False) -> None:
        """End the stream after the frames that wait already, or now."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if discard:
            self._discarded.set()
        self._frames.put(None)

    def __iter__(self) -> Outbox:
        return self

    def __next__(self) -> bytes:
        item = self._frames.get()
        if item is None:
            raise StopIteration
        frame, due = item
        if self._discarded.wait(due - time.monotonic()) if due else self._discarded.is_set():
            raise StopIteration
        with self._changed:
            self._waiting -= len(frame)
            self.last_taken = time.monotonic()
            self._changed.notify_all()
        return frame
