"""Server-sent events: an open page is notified when its content has changed, and fetches it itself.

The stream carries no content. It ends with the session, and when too many newer streams are opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from parties.operator.interface import Operator
from parties.web.login import Logins
from parties.web.visits import cookie

LOOK_SECONDS = 1.0  # between two checks for changes
STILL_SECONDS = 15.0  # without changes, until a line shows that the stream is alive
MOST = 32  # streams at once


class News:
    """Endpoint of the event stream (`text/event-stream`) for signed-in browsers."""

    def __init__(self, operator: Operator, logins: Logins) -> None:
        self._operator, self._logins = operator, logins
        self._streams: list[object] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request with a stream of news, or with status 401 if nobody is signed in."""
        request = Request(scope, receive)
        secret = request.cookies.get(cookie(request), "")

        def signed_in() -> bool:
            return self._logins.session(secret, in_use=False) is not None

        answer = Response(status_code=401)
        if signed_in():
            answer = StreamingResponse(self._stream(signed_in), media_type="text/event-stream")
        await answer(scope, receive, send)

    async def _stream(self, signed_in: Callable[[], bool]) -> AsyncIterator[str]:
        token = object()
        self._streams = [*self._streams[1 - MOST :], token]
        try:
            last = await run_in_threadpool(self._operator.changes)
            yield f"retry: {1000 * LOOK_SECONDS:.0f}\ndata: {last}\n\n"  # the page may be older than this stream
            quiet = 0.0
            while token in self._streams and signed_in():
                await asyncio.sleep(LOOK_SECONDS)
                now = await run_in_threadpool(self._operator.changes)
                quiet = 0.0 if now != last else quiet + LOOK_SECONDS
                if quiet == 0.0 or quiet >= STILL_SECONDS:
                    yield f"data: {now}\n\n" if quiet == 0.0 else ": still here\n\n"
                    last, quiet = now, 0.0
        finally:
            self._streams = [stream for stream in self._streams if stream is not token]
