"""The bounded queue between the protocol's thread and gRPC's sending thread."""

from __future__ import annotations

import threading
import time
from collections import deque


class OutboxClosed(Exception):
    """The stream is over; nothing can be sent any more."""


class OutboxStuck(Exception):
    """The peer took nothing for a whole timeout."""


class Outbox:
    """Serialised frames on their way out. gRPC iterates over it, from a thread of its own.

    A message is admitted whole as soon as fewer than `limit` bytes are waiting. So memory is bounded by `limit`
    and one message, and two parties that both send one message, of any size, before they receive never block.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._frames: deque[bytes] = deque()
        self._waiting = 0  # bytes in _frames
        self._closed = False
        self._changed = threading.Condition()
        self.last_taken = time.monotonic()  # when gRPC last took a frame: progress, seen from this side

    def admit(self, timeout: float) -> None:
        """Wait for room for one message. `OutboxStuck` after `timeout` seconds in which no frame went out."""
        with self._changed:
            start = time.monotonic()
            while self._waiting >= self._limit and not self._closed:
                left = max(start, self.last_taken) + timeout - time.monotonic()
                if left <= 0:
                    raise OutboxStuck
                self._changed.wait(left)
            if self._closed:
                raise OutboxClosed

    def append(self, frame: bytes) -> None:
        """Queue a frame of an admitted message."""
        with self._changed:
            if not self._closed:
                self._frames.append(frame)
                self._waiting += len(frame)
                self._changed.notify_all()

    def close(self, discard: bool = False) -> None:
        """End the stream after the frames that wait already, or now."""
        with self._changed:
            self._closed = True
            if discard:
                self._frames.clear()
                self._waiting = 0
            self._changed.notify_all()

    def __iter__(self) -> Outbox:
        return self

    def __next__(self) -> bytes:
        with self._changed:
            while not self._frames and not self._closed:
                self._changed.wait()
            if not self._frames:
                raise StopIteration
            frame = self._frames.popleft()
            self._waiting -= len(frame)
            self.last_taken = time.monotonic()
            self._changed.notify_all()
            return frame
