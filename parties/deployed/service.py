"""A model served over HTTP: rows as JSON in, predictions out. Rows are neither kept nor written anywhere.

On loopback, requests that name this machine as their host are answered. Elsewhere, and whenever a token is set, a
request needs that token (`Authorization: Bearer TOKEN`).
"""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, NoReturn

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from parties.base.text import did_you_mean, quoted
from parties.deployed.columns import Asked
from parties.models.load import AnyModel, is_of_numbers, predicted
from parties.tables.delimited import Columns
from parties.web.api import LOOPBACK
from parties.web.body import bounded
from parties.web.guard import HEADERS
from smc import __version__
from smc.errors import InputError

MAX_BODY = 64 << 20  # bytes
MAX_ROWS = 200_000
EXACT = 2**53

log = logging.getLogger(__name__)


class Predictor:
    """Model with its columns. It predicts rows that are objects of raw cells by column name."""

    def __init__(self, model: AnyModel, asked: Mapping[str, Asked]) -> None:
        self.model, self.asked = model, asked

    def predict(self, rows: list[Any]) -> list[str]:
        """Return the prediction of every row. Raise InputError with the row, from 1, and the column at fault."""
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise InputError(f"row {number}: must be an object of cells by column name")
        columns = {name: self._cells(rows, ask) for name, ask in self.asked.items()}
        try:
            return predicted(self.model, Columns(Path(), columns, range(1, len(rows) + 1), unit="row"))
        except InputError as error:
            raise InputError(str(error).removeprefix(".").removeprefix(", ")) from None

    def _cells(self, rows: list[dict[str, Any]], ask: Asked) -> list[str]:
        column = ask.rule.column
        spelled: dict[tuple[type, object], str] = {}
        cells = []
        for number, row in enumerate(rows, 1):
            try:
                value = row[column]
                key = (type(value), value)
                text = spelled.get(key)
            except KeyError:
                hint = did_you_mean(column, list(row))
                raise InputError(f"row {number}: the column {quoted(column)} is missing{hint}") from None
            except TypeError:
                _refuse(number, column, "must be a text, a number, true, false or null")
            if text is None:
                raw = _text(value)
                text = ask.spelled(raw)
                if text is None:
                    _refuse(number, column, ask.rule.complaint(raw))
                spelled[key] = text
            cells.append(text)
        return cells


def make_app(predictor: Predictor, token: str | None = None) -> Starlette:
    """Return the web application that serves predictions of a model.

    Args:
        predictor: The model and its columns.
        token: Token that every request must have; None accepts requests that name this machine as their host.
    """
    target = predictor.model.target
    is_number = is_of_numbers(predictor.model)
    document = openapi(predictor, token is not None)
    page = _page(predictor)

    def answer(body: bytes) -> Response:
        try:
            predictions = predictor.predict(_rows(body))
        except InputError as error:
            return _error(400, " ".join(str(error).split()))
        except Exception as error:  # its text may quote a row
            log.error("a request failed: %s", type(error).__name__)
            return _error(500, "internal error")
        return JSONResponse(
            {"target": target, "predictions": list(map(float, predictions)) if is_number else predictions}
        )

    async def predict(request: Request) -> Response:
        body = await bounded(
            request, MAX_BODY, f"the request has more than {MAX_BODY >> 20} MiB", "the request broke off"
        )
        return await run_in_threadpool(answer, body)

    return Starlette(
        routes=[
            Route("/predict", predict, methods=["POST"]),
            Route("/health", lambda _: JSONResponse({"status": "ok", "target": target})),
            Route("/openapi.json", lambda _: JSONResponse(document)),
            Route("/", lambda _: HTMLResponse(page)),
        ],
        middleware=[Middleware(_Door, token=token)],
        exception_handlers={HTTPException: _refused},
    )


class _Door:
    """Admits requests with the token; without a token, requests that name this machine as their host."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._expected = app, None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers, app = Headers(scope=scope), self._app
        if self._expected is not None:
            if not hmac.compare_digest(headers.get("authorization", "").encode("latin-1"), self._expected):
                app = _error(401, "the token is missing or wrong: send Authorization: Bearer TOKEN")
        elif not LOOPBACK.fullmatch(headers.get("host", "")):
            app = _error(403, "this service is for this machine: call it as localhost, 127.0.0.1 or [::1]")
        elif "origin" in headers and headers["origin"].lower() != f"http://{headers['host']}".lower():
            app = _error(403, "this request comes from another page")

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        await app(scope, receive, send_with_headers)


def openapi(predictor: Predictor, with_token: bool) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the service of a model.

    Args:
        predictor: The model and its columns.
        with_token: Whether requests need a token.
    """
    cell = {"type": ["string", "number", "boolean", "null"]}
    names = [ask.rule.column for ask in predictor.asked.values()]
    row = {"type": "object", "properties": dict.fromkeys(names, cell), "required": names}
    prediction = {"type": "number" if is_of_numbers(predictor.model) else "string"}
    rows = {"type": "array", "items": {"$ref": "#/components/schemas/Row"}, "maxItems": MAX_ROWS}
    error = {"type": "object", "properties": {"error": {"type": "string"}}}
    answer = {
        "type": "object",
        "properties": {"target": {"type": "string"}, "predictions": {"type": "array", "items": prediction}},
    }

    def replies(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
        return {"description": description, "content": {"application/json": {"schema": schema}}}

    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": f"Predictions of {predictor.model.target}", "version": __version__},
        "paths": {
            "/predict": {
                "post": {
                    "operationId": "predict",
                    "summary": "One prediction for each row, in order",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {
                                "schema": {"type": "object", "properties": {"rows": rows}, "required": ["rows"]}
                            }
                        },
                    },
                    "responses": {
                        "200": replies(answer, "The predictions"),
                        "400": replies(error, "The error, with row and column"),
                        "413": replies(error, "The request is too long"),
                    },
                }
            },
            "/health": {"get": {"operationId": "health", "responses": {"200": {"description": "It answers"}}}},
        },
        "components": {"schemas": {"Row": row}},
    }
    if with_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _page(predictor: Predictor) -> str:
    columns = "".join(f"<li>{escape(ask.rule.column)}</li>" for ask in predictor.asked.values())
    example = json.dumps({"rows": [{ask.rule.column: "..." for ask in predictor.asked.values()}]}, ensure_ascii=False)
    title = f"Predictions of {escape(predictor.model.target)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><h1>{title}</h1>"
        f"<p>POST /predict takes rows as JSON and returns a prediction for each. Nothing is kept.</p>"
        f"<pre>{escape(example)}</pre><p>Columns:</p><ul>{columns}</ul>"
        '<p><a href="/openapi.json">/openapi.json</a> describes it; <a href="/health">/health</a> says it is up.</p>'
        "</body></html>"
    )


def _rows(body: bytes) -> list[Any]:
    try:
        fields = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise InputError("the request is not valid JSON in UTF-8") from None
    rows = fields.get("rows") if isinstance(fields, dict) and len(fields) == 1 else None
    if not isinstance(rows, list):
        raise InputError('the request must be {"rows": [{"COLUMN": VALUE, ...}, ...]}')
    if len(rows) > MAX_ROWS:
        raise InputError(f"{len(rows):,} rows, more than {MAX_ROWS:,}: send them in parts")
    return rows


def _text(value: object) -> str:
    """Return a JSON value in the spelling of a table's cell; "" for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    return str(value).strip()


def _refuse(number: int, column: str, problem: str) -> NoReturn:
    raise InputError(f"row {number}, column {quoted(column)}: {problem}")


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, "there is no such path" if error.status_code == 404 else error.detail)


def _error(status: int, line: str) -> Response:
    return JSONResponse({"error": line.encode(errors="replace").decode()}, status)
