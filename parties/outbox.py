"""The bounded queue between the protocol's thread and gRPC's sending thread."""

from __future__ import annotations

import queue
import threading
import time


class OutboxClosedError(Exception):
    """The stream is over; nothing can be sent any more."""


class OutboxStuckError(Exception):
    """The peer took nothing for a whole timeout."""


class Outbox:
    """Serialised frames on their way out. gRPC iterates over it, from a thread of its own.

    A message is admitted whole as soon as fewer than `limit` bytes are waiting. So memory is bounded by `limit`
    and one message, and two parties that both send one message, of any size, before they receive never block.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()  # None: nothing more will come
        self._waiting = 0  # bytes in _frames
        self._closed = False
        self._discarded = False
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
        self._frames.put(frame)

    def close(self, discard: bool = False) -> None:
        """End the stream after the frames that wait already, or now."""
        with self._changed:
            self._closed = True
            self._discarded = self._discarded or discard
            self._changed.notify_all()
        self._frames.put(None)

    def __iter__(self) -> Outbox:
        return self

    def __next__(self) -> bytes:
        frame = self._frames.get()
        if frame is None or self._discarded:
            raise StopIteration
        with self._changed:
            self._waiting -= len(frame)
            self.last_taken = time.monotonic()
            self._changed.notify_all()
        return frame
