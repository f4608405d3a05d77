"""A signed-in request: its person, and the form that came with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from parties.operator.interface import Operator
from parties.operator.people import as_person
from parties.web.body import bounded
from parties.web.login import Login, Logins, is_from
from smc.errors import InputError

MAX_FORM = 64 * 1024  # bytes
TIMER = "x-live"  # the header of requests that a timer made


@dataclass(frozen=True)
class Visit:
    """One request in a session, with its form if it is a POST; `operator` allows the person's calls."""

    request: Request
    session: Login
    form: dict[str, str]
    operator: Operator

    @property
    def identifier(self) -> str:
        """Identifier of the job in the path of the request."""
        return str(self.request.path_params["id"])

    def check(self) -> None:
        """Raise InputError unless the form was shown in this session: another page could have forged it."""
        if not is_from(self.session, self.form.get("form_token", "")):
            raise InputError("the form was from before you signed in, and nothing has been done: please send it again")


class Endpoint:
    """Calls `page` (which may block) in a thread for signed-in requests, `stranger` for all others."""

    def __init__(
        self,
        operator: Operator,
        logins: Logins,
        page: Callable[[Visit], Response],
        stranger: Callable[[Request], Response],
    ) -> None:
        self._operator, self._logins, self._page, self._stranger = operator, logins, page, stranger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        secret, in_use = request.cookies.get(cookie(request), ""), TIMER not in request.headers
        session, form = self._logins.session(secret, in_use), {}
        if session is not None and request.method == "POST":
            form = await form_of(request)
            session = self._logins.session(secret, in_use)  # it may have ended while the form was under way
        answer: ASGIApp
        if session is None:
            answer = self._stranger(request)
        else:
            visit = Visit(request, session, form, as_person(self._operator, session.person))
            answer = await run_in_threadpool(self._page, visit)
        await answer(scope, receive, send)


def cookie(request: Request) -> str:
    """Return the name of this node's session cookie; it has the port, since cookies do not depend on ports."""
    return f"smc-session-{request.scope['server'][1]}"


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of the form in a request's body, by name."""
    too_much = f"The form has more than {MAX_FORM // 1024} KiB."
    body = await bounded(request, MAX_FORM, too_much, "The request broke off.")
    return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
