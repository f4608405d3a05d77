"""The JSON API of a node, for `parties.operator.client`: every call of `Operator` as a path under /api.

Every request has the key of `api.json` (`Authorization: Bearer KEY`) and names this machine's loopback as its host. So
no web page can reach the API by a host name of its own that points here (DNS rebinding). Errors are {"error": line}.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, get_args

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from parties.operator.interface import LONGEST_WAIT, NotRecordedError, Operator, State
from parties.operator.people import UNNAMED, NotAllowedError, Person, as_person
from parties.web.body import bounded
from smc.errors import InputError

MAX_BODY = 64 * 1024  # bytes
MAX_ENTRIES = 1000  # entries of the audit log, or jobs, in an answer
LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?", re.IGNORECASE)

Fields: TypeAlias = dict[str, Any]
Call: TypeAlias = str | Callable[[], object]  # the name of a method of `Operator`, or a function to call instead
Argument: TypeAlias = Callable[[Request, Fields], object]  # reads one of a call's arguments from request and body

log = logging.getLogger(__name__)


def routes(
    operator: Operator, key: str, login_url: Callable[[], str], who: Callable[[], Person] = lambda: UNNAMED
) -> list[BaseRoute]:
    """Return the API of a node under /api, for callers with the key.

    The functions and the operator are called from several threads.

    Args:
        operator: The node.
        key: The key.
        login_url: Makes a fresh one-time link to the node's page.
        who: Returns the person for whom a caller acts.
    """

    calls: list[tuple[str, str, int, Call, Sequence[Argument]]] = [
        ("GET", "/node", 200, "node", ()),
        ("GET", "/changes", 200, "changes", (_since, _wait)),
        ("GET", "/jobs", 200, "jobs", (_last, _job_before, _states)),
        ("POST", "/jobs", 201, "submit", (_all_fields,)),
        ("GET", "/jobs/{id}", 200, "job", (_id, _wait)),
        ("POST", "/jobs/{id}/approve", 200, "approve", (_id, _typed)),
        ("POST", "/jobs/{id}/refuse", 200, "refuse", (_id, _why)),
        ("POST", "/jobs/{id}/cancel", 200, "cancel", (_id, _why_if_any)),
        ("POST", "/jobs/{id}/withdraw", 200, "withdraw", (_id, _why)),
        ("POST", "/jobs/{id}/repeat", 201, "repeat", (_id,)),
        ("POST", "/peers/revoke", 200, "revoke", (_peer, _why_of_peer)),
        ("GET", "/jobs/{id}/result", 200, "result", (_id,)),
        ("GET", "/audit", 200, "audit", (_last, _entry_before)),
        ("GET", "/audit/state", 200, "verify", ()),
        ("GET", "/budget", 200, "budget", (_group,)),
        ("POST", "/budget/simulate", 200, "simulate", (_all_fields,)),
        ("GET", "/budget/register", 200, "register", ()),
        ("POST", "/login", 200, lambda: {"url": login_url()}, ()),
    ]
    api = Starlette(
        routes=[
            Route(path, _endpoint(lambda: as_person(operator, who()), call, arguments, status, key), methods=[method])
            for method, path, status, call, arguments in calls
        ],
        exception_handlers={HTTPException: partial(_refused, key)},
    )
    return [Mount("/api", app=api)]


def _stranger(request: Request, key: str) -> Response | None:
    """Return the refusal of a request from another host or without the key, for any path; None for other requests."""
    if not LOOPBACK.fullmatch(request.headers.get("host", "")):
        return _error(403, "the API is for this machine: call it as localhost, 127.0.0.1 or [::1]")
    given = request.headers.get("authorization", "").encode("latin-1")
    if not hmac.compare_digest(given, f"Bearer {key}".encode()):
        return _error(401, "the key is missing or wrong: it is in api.json in the node's state directory")
    return None


def _endpoint(
    operator: Callable[[], Operator], call: Call, arguments: Sequence[Argument], status: int, key: str
) -> Callable[[Request], Any]:
    """Return a handler that makes the (blocking) call in a thread and answers a caller with the key by its outcome."""

    def answer(request: Request, body: bytes) -> Response:
        try:
            fields = _object(body)
            function = getattr(operator(), call) if isinstance(call, str) else call
            return _json(status, function(*[read(request, fields) for read in arguments]))
        except NotRecordedError as error:
            return _error(503, str(error))
        except NotAllowedError as error:
            return _error(403, str(error))
        except InputError as error:
            return _error(400, str(error))
        except Exception:  # the details are for the node's log, not for the caller
            log.exception("%s %s failed", request.method, request.url.path)
            return _error(500, "internal error")

    async def handle(request: Request) -> Response:
        if (refusal := _stranger(request, key)) is not None:
            return refusal
        body = await _body(request)
        return await run_in_threadpool(answer, request, body)

    return handle


async def _body(request: Request) -> bytes:
    too_much = f"the request has more than {MAX_BODY // 1024} KiB"
    return await bounded(request, MAX_BODY, too_much, "the request broke off")


def _object(body: bytes) -> Fields:
    """Return the JSON object in a request's body; an empty body stands for an object without fields."""
    try:
        fields = json.loads(body or b"{}")
        json.dumps(fields, ensure_ascii=False).encode()  # half a surrogate pair can be escaped in JSON, but not encoded
    except (ValueError, RecursionError):
        raise InputError("the request is not valid JSON in UTF-8") from None
    if not isinstance(fields, dict):
        raise InputError("the request must be a JSON object")
    return fields


def _all_fields(_: Request, fields: Fields) -> Fields:
    return fields


def _why(_: Request, fields: Fields) -> str:
    """Return the field `why` of a request's body: the reason. Raise InputError for any other field."""
    why = fields.get("why")
    if not isinstance(why, str) or fields.keys() - {"why"}:
        raise InputError('the request must be {"why": "TEXT"}')
    return why


def _why_if_any(request: Request, fields: Fields) -> str:
    return _why(request, {"why": "", **fields})


def _peer(_: Request, fields: Fields) -> str:
    if not isinstance(peer := fields.get("peer"), str) or fields.keys() - {"peer", "why"}:
        raise InputError('the request must be {"peer": "NAME", "why": "TEXT"}')
    return peer


def _why_of_peer(request: Request, fields: Fields) -> str:
    return _why_if_any(request, {name: value for name, value in fields.items() if name != "peer"})


def _typed(_: Request, fields: Fields) -> Fields | None:
    typed = fields.get("typed", {})
    if not isinstance(typed, dict) or fields.keys() - {"typed"}:
        raise InputError('the request must be {"typed": {NAME: VALUE}}')
    return typed or None


def _last(request: Request, _: Fields) -> int:
    """Return how many entries or jobs a request asks for. Raise InputError if the number is 0 or too large."""
    last = _number(request, "last", 100)
    if not 1 <= last <= MAX_ENTRIES:
        raise InputError(f"last: must be from 1 to {MAX_ENTRIES}")
    return last


def _job_before(request: Request, _: Fields) -> str | None:
    return request.query_params.get("before")


def _entry_before(request: Request, _: Fields) -> int | None:
    return _number(request, "before", 0) if "before" in request.query_params else None


def _states(request: Request, _: Fields) -> list[State]:
    names = request.query_params.getlist("state")
    states: list[State] = [state for state in get_args(State) if state in names]
    if len(states) < len(set(names)):
        raise InputError(f"state: must be one of {', '.join(get_args(State))}")
    return states


def _since(request: Request, _: Fields) -> str:
    return request.query_params.get("since", "")


def _wait(request: Request, _: Fields) -> float:
    """Return the seconds that an answer may be held. Raise InputError if they are invalid or too many."""
    text = request.query_params.get("wait", "0")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,30})?", text) or float(text) > LONGEST_WAIT:
        raise InputError(f"wait: must be a number of seconds from 0 to {LONGEST_WAIT:g}")
    return float(text)


def _group(request: Request, _: Fields) -> int:
    return _number(request, "group", 1)


def _number(request: Request, key: str, default: int) -> int:
    text = request.query_params.get(key, str(default))
    if not re.fullmatch("[0-9]{1,18}", text):
        raise InputError(f"{key}: must be a whole number from 0 up")
    return int(text)


def _id(request: Request, _: Fields) -> str:
    identifier: str = request.path_params["id"]
    return identifier


def _refused(key: str, request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _stranger(request, key) or _error(
        error.status_code, "there is no such path" if error.status_code == 404 else error.detail
    )


def _error(status: int, line: str) -> Response:
    return _json(status, {"error": " ".join(line.split())})


def _json(status: int, content: object) -> Response:
    """Return views as JSON objects of their fields (pydantic's own serializer fails on a deep tree)."""
    text = json.dumps(content, default=dict)
    return Response(text, status, {"Cache-Control": "no-store"}, media_type="application/json")
