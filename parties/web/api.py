"""The JSON API of a node, for `parties.operator.client`: every call of `Operator` as a path under /api.

Every request carries the key of `api.json` (`Authorization: Bearer KEY`) and names this machine's loopback as its host,
so that no web page can reach the API by a name of its own that leads here (DNS rebinding). Errors are {"error": line}.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from parties.operator.interface import NotRecordedError, Operator, State
from parties.web.body import bounded
from smc.errors import InputError

MAX_BODY = 64 * 1024  # bytes
MAX_ENTRIES = 1000  # of the audit log, or jobs: an answer
LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?", re.IGNORECASE)

Fields: TypeAlias = dict[str, Any]
Call: TypeAlias = Callable[[Request, Fields], object]

log = logging.getLogger(__name__)


def routes(operator: Operator, key: str, login_url: Callable[[], str]) -> list[BaseRoute]:
    """Return the API of a node under /api, for those who know the key.

    `login_url` makes a fresh one-time link to the node's page. It and the operator are called from several threads.
    """

    def audit(request: Request, _: Fields) -> object:
        last = _last(request)
        before = _number(request, "before", 0) if "before" in request.query_params else None
        return operator.audit(last, before)

    def jobs(request: Request, _: Fields) -> object:
        names = request.query_params.getlist("state")
        states: list[State] = [state for state in get_args(State) if state in names]
        if len(states) < len(set(names)):
            raise InputError(f"state: must be one of {', '.join(get_args(State))}")
        return operator.jobs(_last(request), request.query_params.get("before"), states)

    calls: list[tuple[str, str, int, Call]] = [
        ("GET", "/node", 200, lambda _, __: operator.node()),
        ("GET", "/changes", 200, lambda _, __: operator.changes()),
        ("GET", "/jobs", 200, jobs),
        ("POST", "/jobs", 201, lambda _, fields: operator.submit(fields)),
        ("GET", "/jobs/{id}", 200, lambda request, _: operator.job(_id(request))),
        ("POST", "/jobs/{id}/approve", 200, lambda request, fields: operator.approve(_id(request), _typed(fields))),
        ("POST", "/jobs/{id}/refuse", 200, lambda request, fields: operator.refuse(_id(request), _why(fields))),
        ("POST", "/jobs/{id}/cancel", 200, lambda request, fields: operator.cancel(_id(request), _why(fields, ""))),
        ("GET", "/jobs/{id}/result", 200, lambda request, _: operator.result(_id(request))),
        ("GET", "/audit", 200, audit),
        ("GET", "/audit/state", 200, lambda _, __: operator.verify()),
        ("GET", "/budget", 200, lambda request, _: operator.budget(_number(request, "group", 1))),
        ("POST", "/budget/simulate", 200, lambda _, fields: operator.simulate(fields)),
        ("GET", "/budget/register", 200, lambda _, __: operator.register()),
        ("POST", "/login", 200, lambda _, __: {"url": login_url()}),
    ]
    api = Starlette(
        routes=[Route(path, _endpoint(call, status), methods=[method]) for method, path, status, call in calls],
        middleware=[Middleware(_Guard, key=key)],
        exception_handlers={HTTPException: _refused},
    )
    return [Mount("/api", app=api)]


class _Guard:
    """A door for those who know the key, whatever the path."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._expected = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        app = self._app
        if not LOOPBACK.fullmatch(headers.get("host", "")):
            app = _error(403, "the API is for this machine: call it as localhost, 127.0.0.1 or [::1]")
        elif not hmac.compare_digest(headers.get("authorization", "").encode("latin-1"), self._expected):
            app = _error(
                401, "no key, or not the key of this node: it stands in api.json in the node's state directory"
            )
        await app(scope, receive, send)


def _endpoint(call: Call, status: int) -> Callable[[Request], Any]:
    """Return a handler that makes the (blocking) call in a thread and tells what became of it."""

    def answer(request: Request, body: bytes) -> Response:
        try:
            return _json(status, call(request, _object(body)))
        except NotRecordedError as error:
            return _error(503, str(error))
        except InputError as error:
            return _error(400, str(error))
        except Exception:  # the details are for the node's log, not for whoever asked
            log.exception("%s %s failed", request.method, request.url.path)
            return _error(500, "internal error")

    async def handle(request: Request) -> Response:
        body = await _body(request)
        return await run_in_threadpool(answer, request, body)

    return handle


async def _body(request: Request) -> bytes:
    too_much = f"the request has more than {MAX_BODY // 1024} KiB"
    return await bounded(request, MAX_BODY, too_much, "the request broke off")


def _object(body: bytes) -> Fields:
    """Return the body as a JSON object; none at all stands for an empty one."""
    try:
        fields = json.loads(body or b"{}")
        json.dumps(fields, ensure_ascii=False).encode()  # half a surrogate pair can be escaped, but is no text
    except (ValueError, RecursionError):
        raise InputError("the request is not valid JSON in UTF-8") from None
    if not isinstance(fields, dict):
        raise InputError("the request must be a JSON object")
    return fields


def _why(fields: Fields, default: str | None = None) -> str:
    """Return the reason in a body that may hold nothing else."""
    why = fields.get("why", default)
    if not isinstance(why, str) or fields.keys() - {"why"}:
        raise InputError('the request must be {"why": "TEXT"}')
    return why


def _typed(fields: Fields) -> Fields | None:
    """Return what an operator has typed, in a body that may hold nothing else."""
    typed = fields.get("typed", {})
    if not isinstance(typed, dict) or fields.keys() - {"typed"}:
        raise InputError('the request must be {"typed": {NAME: VALUE}}')
    return typed or None


def _last(request: Request) -> int:
    """Return how many are asked for. `InputError` if that is none, or too many."""
    last = _number(request, "last", 100)
    if not 1 <= last <= MAX_ENTRIES:
        raise InputError(f"last: must be from 1 to {MAX_ENTRIES}")
    return last


def _number(request: Request, key: str, default: int) -> int:
    text = request.query_params.get(key, str(default))
    if not re.fullmatch("[0-9]{1,18}", text):
        raise InputError(f"{key}: must be a whole number from 0 up")
    return int(text)


def _id(request: Request) -> str:
    identifier: str = request.path_params["id"]
    return identifier


def _refused(_: Request, error: Exception) -> Response:
    """Return the answer to a path or method that is not there, or to too long a request."""
    assert isinstance(error, HTTPException)
    return _error(error.status_code, "there is no such path" if error.status_code == 404 else error.detail)


def _error(status: int, line: str) -> Response:
    return _json(status, {"error": " ".join(line.split())})


def _json(status: int, content: object) -> Response:
    """Write views as JSON objects of their fields (pydantic's own serializer gives up on a deep tree)."""
    text = json.dumps(content, default=dict)
    return Response(text, status, {"Cache-Control": "no-store"}, media_type="application/json")
