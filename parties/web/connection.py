"""One connection to the page: it has a deadline for its request and for taking the answer, and gives way to newer ones.

Who asks in earnest sends a request at once. So where there are too many connections it is the one that has been without
a request for longest that is closed, and not the newest: whoever holds many of them open keeps nobody out.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from parties.base import bounds

REQUEST_SECONDS = 10.0  # from the connection, or a request's first byte, to its last
ENDLESS = "/news"  # the path whose answer ends with its reader only
STALLED_SECONDS = 30.0  # in which nobody takes more of an answer


class Connection(H11Protocol):
    """uvicorn's, with these bounds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.idle_since: float | None = None  # None while a request is being answered
        self._request_due: asyncio.TimerHandle | None = None
        self._answer_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the deadline of somebody who has connected."""
        full = len(self.connections) >= bounds.local_connections()
        super().connection_made(transport)
        self._await_request()
        if full:
            others = [other for other in self.connections if isinstance(other, Connection) and other is not self]
            idle = [other for other in others if other.idle_since is not None]
            min(idle, key=lambda other: other.idle_since or 0.0, default=self).drop()

    def data_received(self, data: bytes) -> None:
        """Take some of a request."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._request_due is None:
            self._await_request()

    def on_response_complete(self) -> None:
        """Begin to wait for another request; how long it may take to begin is uvicorn's affair."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.idle_since is None:
            self.idle_since = time.monotonic()

    def pause_writing(self) -> None:
        """Begin the deadline of an answer that waits for its reader."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """End it: the reader has taken some."""
        super().resume_writing()
        self._forget_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all deadlines."""
        self._stop_waiting()
        self._forget_answer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End with the server: answers are finished, but for those that have no end."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and self.scope["path"] == ENDLESS:
            self.drop()

    def drop(self) -> None:
        """Close it now, whatever is under way."""
        self.idle_since = None  # not to be chosen again
        self.transport.abort()

    def _await_request(self) -> None:
        self.idle_since = time.monotonic()
        self._request_due = self.loop.call_later(REQUEST_SECONDS, self.drop)

    def _await_reader(self) -> None:
        left = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < left:
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
