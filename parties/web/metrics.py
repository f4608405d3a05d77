"""The node's metrics for Prometheus, at /metrics of a separate address; nothing is private, so no key is needed."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from parties.web.guard import Guard


def make_metrics(registry: CollectorRegistry) -> Starlette:
    """Return an ASGI application that shows the metrics of this registry."""

    def show(_: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    failure = PlainTextResponse("internal error\n", 500)
    return Starlette(routes=[Route("/metrics", show)], middleware=[Middleware(Guard, failure=failure)])
