"""The bounded queue between the protocol's thread and gRPC's sending thread."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from parties.link.emulation import Line

SHORT_BYTES = 64 * 1024  # a frame of this size is sent faster directly than by another thread

Send = Callable[[bytes, Callable[[], object]], object]  # takes a frame, and a function to call when it is away


class OutboxClosedError(Exception):
    """The stream is over; nothing more can be sent."""


class OutboxStuckError(Exception):
    """The peer has accepted no data for a whole timeout."""


class Outbox:
    """Serialised frames on their way out, one after the other. gRPC iterates over it in a separate thread.

    A message is admitted whole as soon as fewer than `limit` bytes are waiting. So memory is bounded by `limit` and one
    message. Two parties that both send one message, of any size, before they receive never block.

    With `send_by`, that thread sends the frames itself. If no frame is waiting or under way, a short frame is sent by
    the thread that appends it.

    With a `line`, each frame is held back until the line would have delivered it; bytes on the line do not count
    against the limit. gRPC sees late frames, and its windows are not strained.
    """

    def __init__(self, limit: int, line: Line | None = None) -> None:
        self._line = line
        self._limit = limit + (line.capacity if line is not None else 0)
        self._frames: deque[tuple[bytes, float]] = deque()  # with the time at which the line would have delivered it
        self._waiting = 0  # bytes in _frames
        self._send: Send | None = None
        self._under_way = False  # gRPC has a frame, and takes the next one when it is away
        self._is_lent = False  # the frame was returned by the iterator
        self._closed = False
        self._discarded = False
        self._lock = threading.RLock()
        self._due = threading.Condition(self._lock)  # the sending thread waits for the next frame or the end
        self._room = threading.Condition(self._lock)  # the protocol's thread waits for room or the end
        self.last_taken = time.monotonic()  # time at which gRPC last took a frame: progress, seen from this side

    def send_by(self, send: Send) -> None:
        """Pass every further frame to `send`, instead of letting gRPC take it."""
        self._send = send

    def admit(self, timeout: float) -> None:
        """Wait for room. Raise OutboxStuckError if no frame leaves for `timeout` s, OutboxClosedError after the end."""
        with self._lock:
            start = time.monotonic()
            while self._waiting >= self._limit and not self._closed:
                remaining = max(start, self.last_taken) + timeout - time.monotonic()
                if remaining <= 0:
                    raise OutboxStuckError
                self._room.wait(remaining)
            if self._closed:
                raise OutboxClosedError

    def append(self, frame: bytes) -> bool:
        """Append a frame of an admitted message; return whether it is sent already. After `close` it may be dropped."""
        with self._lock:
            is_free = not self._under_way and not self._frames and self._line is None and not self._closed
            if self._send is None or not is_free or len(frame) > SHORT_BYTES:
                self._waiting += len(frame)
                self._frames.append((frame, self._line.carry(len(frame)) if self._line is not None else 0.0))
                if not self._under_way and len(self._frames) == 1:  # otherwise the sending thread is awake or will be
                    self._due.notify()
                return False
            self._under_way, self.last_taken = True, time.monotonic()
        self._send(frame, self._sent)
        return True

    def cut(self, frame: bytes) -> None:
        """Drop the waiting frames and end the stream after this one, so that it leaves at once however many waited."""
        with self._lock:
            self._frames.clear()
            self._frames.append((frame, 0.0))
            self._waiting = len(frame)
            self.close()

    def close(self, discard: bool = False) -> None:
        """End the stream after the waiting frames, or now with `discard`."""
        with self._lock:
            self._closed = True
            self._discarded |= discard
            self._due.notify_all()
            self._room.notify_all()

    def __iter__(self) -> Outbox:
        return self

    def __next__(self) -> bytes:
        if self._is_lent:
            self._sent()  # gRPC asks for the next frame only once this one is away
        while True:
            frame, send = self._taken(), self._send
            self._is_lent = send is None
            if send is None:
                return frame
            send(frame, self._sent)

    def _taken(self) -> bytes:
        """Return the next frame, as soon as it may be sent. Raise StopIteration if no more will come."""
        with self._lock:
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
                    if self._waiting < self._limit:
                        self._room.notify_all()
                    return frame
                self._due.wait(pause)
            raise StopIteration

    def _sent(self) -> None:
        with self._lock:
            self._under_way = False
            if self._frames or self._closed:  # otherwise no thread waits for it
                self._due.notify()
