"""What every request must fulfil and every answer says, whatever path it is for.

A page elsewhere may make a browser send requests here. It cannot choose their Host and Origin headers: a name of its
own that it lets point to this machine (DNS rebinding) shows in the one, itself in the other. Answers allow the browser
nothing that does not come from here: no inline script or style, no foreign picture, no frame around them.
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
    """A refusal of requests that name another host than the one served, or come from another page; adds headers.

    `failure` answers when the application fails: the details are for the node's log, not for whoever asked.
    """

    def __init__(self, app: ASGIApp, failure: ASGIApp) -> None:
        self._app, self._failure = app, failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application behind, or a refusal."""
        if scope["type"] != "http":
            return  # nothing here speaks anything else

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
    """Return what is wrong with where a request says it is for and from."""
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
