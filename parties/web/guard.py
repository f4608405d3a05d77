"""Checks of every request and headers of every answer, for any path.

A foreign page may make a browser send requests here. It cannot choose their Host and Origin headers. A host name of its
own that points to this machine (DNS rebinding) shows in Host, the page itself in Origin. The headers of answers forbid
the browser anything from elsewhere: no inline script or style, no foreign picture, no frame around them.
"""

from __future__ import annotations

import logging

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with "no-referrer" browsers hide the origin of forms as well
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


log = logging.getLogger(__name__)


class Guard:
    """Refuses requests that name another host than the served one, or come from another page; adds headers.

    `failure` answers when the application fails: the details are for the node's log, not for the caller.
    """

    def __init__(self, app: ASGIApp, failure: ASGIApp) -> None:
        self._app, self._failure = app, failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, or refuse the request."""
        if scope["type"] != "http":
            return  # other protocols are not supported

        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app = self._app
        if problem := _problem(scope):
            app = PlainTextResponse(f"{problem}\n", 403)
        try:
            await app(scope, receive, send_with_headers)
        except Exception:
            if begun:
                raise
            log.exception("%s %s failed", scope["method"], scope["path"])
            await self._failure(scope, receive, send_with_headers)


def _problem(scope: Scope) -> str | None:
    """Return the fault in a request's Host or Origin; None if there is none."""
    headers = Headers(scope=scope)
    host, port = scope["server"]
    names = {*LOOPBACK, f"[{host}]" if ":" in host else host}
    served = {f"{name}:{port}" for name in names} | (names if port == 80 else set())
    authority = headers.get("host", "").lower()
    if authority not in served:
        return f"this page answers to localhost, 127.0.0.1 and [::1] at port {port} only"
    if headers.get("origin", f"http://{authority}").lower() != f"http://{authority}":
        return "this request comes from another page"
    return None
