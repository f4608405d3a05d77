"""The bounded queue between the protocol's thread and gRPC's sending thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from parties.link.emulation import Line

SHORT_BYTES = 64 * 1024  # of a frame that is sent sooner than handed to another thread

Send = Callable[[bytes, Callable[[], object]], object]  # a frame, and what is to be called when it is away


class OutboxClosedError(Exception):
    """The stream is over; nothing can be sent any more."""


class OutboxStuckError(Exception):
    """The peer took nothing for a whole timeout."""


class Outbox:
    """Serialised frames on their way out, one after the other. gRPC iterates over it, from a thread of its own.

    A message is admitted whole as soon as fewer than `limit` bytes are waiting. So memory is bounded by `limit`
    and one message, and two parties that both send one message, of any size, before they receive never block.

    With `send_by` that thread sends, instead of handing out what is to be sent; where nothing is under way or waits,
    a short frame is sent by the thread that has it.

    With a `line` each frame is held back until that would have carried it; the bytes on the line come on top of
    the limit. gRPC sees frames that come late, and its windows are not strained.
    """

    def __init__(self, limit: int, line: Line | None = None) -> None:
        self._line = line
        self._limit = limit + (line.capacity if line is not None else 0)
        self._frames: deque[tuple[bytes, float]] = deque()  # and when the line would have carried it
        self._waiting = 0  # bytes in _frames
        self._send: Send | None = None
        self._under_way = False  # a frame is with gRPC, which takes the next one when it is away
        self._is_lent = False  # it was handed out
        self._closed = False
        self._discarded = False
        self._changed = threading.Condition()
        self.last_taken = time.monotonic()  # when gRPC last took a frame: progress, seen from this side

    def send_by(self, send: Send) -> None:
        """Send every further frame by `send`."""
        self._send = send

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

    def append(self, frame: bytes) -> bool:
        """Take a frame of an admitted message, and return whether it is sent already. After `close` it goes nowhere."""
        with self._changed:
            is_free = not self._under_way and not self._frames and self._line is None and not self._closed
            if self._send is None or not is_free or len(frame) > SHORT_BYTES:
                self._waiting += len(frame)
                self._frames.append((frame, self._line.carry(len(frame)) if self._line is not None else 0.0))
                self._changed.notify_all()
                return False
            self._under_way, self.last_taken = True, time.monotonic()
        self._send(frame, self._sent)
        return True

    def close(self, discard: bool = False) -> None:
        """End the stream after the frames that wait already, or now."""
        with self._changed:
            self._closed = True
            self._discarded |= discard
            self._changed.notify_all()

    def __iter__(self) -> Outbox:
        return self

    def __next__(self) -> bytes:
        if self._is_lent:
            self._sent()  # or gRPC would not ask for another one
        while True:
            frame, send = self._taken(), self._send
            self._is_lent = send is None
            if send is None:
                return frame
            send(frame, self._sent)

    def _taken(self) -> bytes:
        """Return the next frame, as soon as it may be sent. `StopIteration` if no more will come."""
        with self._changed:
            while not self._discarded:
                pause = None
                if not self._under_way:
                    if self._frames:
                        pause = self._frames[0][1] - time.monotonic()
                    elif self._closed:
                        break
                if pause is not None and pause <= 0:
                    frame, _ = self._frames.popleft()
                    self._waiting -= len(frame)
                    self._under_way, self.last_taken = True, time.monotonic()
                    self._changed.notify_all()
                    return frame
                self._changed.wait(pause)
            raise StopIteration

    def _sent(self) -> None:
        with self._changed:
            self._under_way = False
            if self._frames or self._closed:  # or nobody waits for that
                self._changed.notify_all()
