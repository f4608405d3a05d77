"""One connection to the page, with deadlines for its request and for reading the answer; old idle ones make room.

A real client sends a request at once. So of too many connections, the one that has been idle for longest is closed, and
not the newest: a client that holds many connections open locks nobody out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from parties.base import bounds

# from the connection, or a request's first byte, to its body; also the longest silence within the body
REQUEST_SECONDS = 10.0
LEAST_BYTES = 1024  # of a body in `REQUEST_SECONDS`: fewer count as silence
SILENT = b'{"error": "the request broke off: nothing came of it for %d s"}'
ENDLESS = "/news"  # path of an answer that ends only with its reader
STALLED_SECONDS = 30.0  # longest time in which the reader takes no more of an answer


log = logging.getLogger(__name__)


class Connection(H11Protocol):
    """HTTP connection of uvicorn with deadlines for requests and answers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.idle_since: float | None = None  # None while a request is being answered
        self._request_due: asyncio.TimerHandle | None = None
        self._answer_due: asyncio.TimerHandle | None = None
        self._came = 0  # bytes of the request since its deadline began

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of a new connection."""
        full = len(self.connections) >= bounds.local_connections()
        super().connection_made(transport)
        self._await_request()
        if full:
            others = [other for other in self.connections if isinstance(other, Connection) and other is not self]
            idle = [other for other in others if other.idle_since is not None]
            min(idle, key=lambda other: other.idle_since or 0.0, default=self).drop()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request, and start or stop the deadline of the request."""
        self._came += len(data)
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._request_due is None:
            self._await_request()

    def on_response_complete(self) -> None:
        """Note the time since which the connection is idle, unless the next request has begun."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.idle_since is None:
            self.idle_since = time.monotonic()

    def pause_writing(self) -> None:
        """Start the deadline of an answer that waits for its reader."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """End the deadline of the answer, because the reader has taken a part."""
        super().resume_writing()
        self._forget_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all deadlines of the connection."""
        self._stop_waiting()
        self._forget_answer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Stop with the server: answers are finished, except endless ones such as the stream of news."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and self.scope["path"] == ENDLESS:
            self.drop()

    def drop(self) -> None:
        """Close the connection now, whatever is under way."""
        self.idle_since = None  # not to be chosen again
        self.transport.abort()

    def _await_request(self) -> None:
        self.idle_since = time.monotonic()
        self._watch()

    def _watch(self) -> None:
        self._came = 0
        self._request_due = self.loop.call_later(REQUEST_SECONDS, self._look)

    def _look(self) -> None:
        """Close a silent connection; answer a half-sent body first. Wait on while a body of any length arrives."""
        if self.conn.their_state is h11.SEND_BODY and self._came >= LEAST_BYTES:
            self._watch()
            return
        if self.conn.their_state is h11.SEND_BODY and self.cycle is not None and not self.cycle.response_started:
            log.warning("a request broke off: silent for %g s", REQUEST_SECONDS)
            body = SILENT % REQUEST_SECONDS
            head = b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
            self.cycle.disconnected = True  # the application's answer comes too late
            self.transport.write(head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self.idle_since = None
            self.transport.close()
            return
        self.drop()

    def _await_reader(self) -> None:
        unread_bytes = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < unread_bytes:
                self._await_reader()
            else:
                self.drop()

        self._answer_due = self.loop.call_later(STALLED_SECONDS, look)

    def _stop_waiting(self) -> None:
        self.idle_since = None
        if self._request_due is not None:
            self._request_due.cancel()
            self._request_due = None

    def _forget_answer(self) -> None:
        if self._answer_due is not None:
            self._answer_due.cancel()
            self._answer_due = None
