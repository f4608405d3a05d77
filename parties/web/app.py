"""The operator's page as an ASGI application: paths, authentication and error pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from parties.models.trees import drawing
from parties.operator.interface import NotRecordedError, Operator
from parties.operator.people import NotAllowedError
from parties.web.connection import ENDLESS
from parties.web.guard import Guard
from parties.web.login import LINK_SECONDS, Login, Logins
from parties.web.news import News
from parties.web.own_tables import OwnTables
from parties.web.pages import Pages
from parties.web.proposal import Proposals
from parties.web.render import Renderer
from parties.web.sign_on import SignOn
from parties.web.visits import Endpoint, Visit, cookie, form_of
from parties.web.wizard import Wizard
from smc.errors import InputError

REVALIDATE = {"Cache-Control": "no-cache"}  # the browser may cache it, but must revalidate it


def make_app(
    operator: Operator,
    logins: Logins,
    extra_routes: Sequence[BaseRoute] = (),
    tables: OwnTables | None = None,
    sign_on: SignOn | None = None,
) -> Starlette:
    """Return the page of a node, with further routes at its address.

    Args:
        operator: The node.
        logins: Sessions and login links.
        extra_routes: Further routes, with their own authentication; the checks of `Guard` hold for them as well.
        tables: This node's tables, for their operator alone.
        sign_on: Log-ins by a provider; None offers none.
    """
    renderer = Renderer(logins, operator.node().name, sign_on.name if sign_on else "")
    own = tables or OwnTables()
    pages, proposals, wizard = Pages(renderer, own), Proposals(renderer, own), Wizard(own, renderer)

    def route(path: str, page: Callable[[Visit], Response], method: str = "GET") -> Route:
        return Route(path, Endpoint(operator, logins, page, renderer.stranger), methods=[method])

    def by_link(request: Request) -> Response:
        if request.method == "HEAD":  # previews the link, but must not use it up
            return Response()
        session = logins.sign_in(request.query_params.get("token", ""))
        if session is None:
            return renderer.stranger(request, "This link has been used, has expired, or is not from this node.")
        return signed_in(request, session)

    async def by_name(request: Request) -> Response:
        form = await form_of(request)
        return await run_in_threadpool(with_password, request, form.get("name", ""), form.get("password", ""))

    def with_password(request: Request, name: str, password: str) -> Response:
        try:
            return signed_in(request, logins.log_in(name.strip(), password))
        except InputError as error:
            return renderer.stranger(request, sentence(error))

    def away(request: Request) -> Response:
        """Send a browser to the log-in provider, with a cookie for its return, which must not be SameSite strict."""
        assert sign_on is not None
        if request.method == "HEAD" or not logins.by_name:
            return renderer.stranger(request)
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return renderer.refused("Start the sign-in here: you came from another page.")
        try:
            url, secret = sign_on.begin(f"{request.base_url}login/oidc/back")
        except InputError as error:
            return renderer.stranger(request, sentence(error))
        response = RedirectResponse(url, 303)
        response.set_cookie(
            f"{cookie(request)}-oidc", secret, int(LINK_SECONDS), path="/login/oidc", httponly=True, samesite="lax"
        )
        return response

    def back(request: Request) -> Response:
        assert sign_on is not None
        if request.method == "HEAD":  # must not use up the provider's answer
            return Response()
        try:
            secret = request.cookies.get(f"{cookie(request)}-oidc", "")
            response = signed_in(request, sign_on.finish(secret, request.query_params))
        except InputError as error:
            response = renderer.refused(sentence(error))
        response.delete_cookie(f"{cookie(request)}-oidc", path="/login/oidc", httponly=True, samesite="lax")
        return response

    def signed_in(request: Request, session: Login) -> Response:
        """Set a fresh cookie, and end the session of the browser's former cookie."""
        if before := logins.session(request.cookies.get(cookie(request), "")):
            logins.sign_out(before)
        response = RedirectResponse("/", 303)  # removes the token from the address bar
        response.set_cookie(cookie(request), session.secret, path="/", httponly=True, samesite="strict")
        return response

    def log_out(visit: Visit) -> Response:
        visit.check()
        logins.sign_out(visit.session)
        response = RedirectResponse("/", 303)
        response.delete_cookie(cookie(visit.request), path="/", httponly=True, samesite="strict")
        return response

    def failed(_: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return renderer.failed(error.status_code, error.detail)
        if isinstance(error, NotAllowedError):
            return renderer.failed(403, str(error))
        return renderer.failed(503 if isinstance(error, NotRecordedError) else 400, str(error))

    return Starlette(
        routes=[
            route("/", pages.overview),
            route("/propose", proposals.form),
            route("/propose", proposals.submit, "POST"),
            route("/audit", pages.audit),
            route("/tables", pages.tables),
            route("/tables/{table}/prepare", wizard.form),
            route("/tables/{table}/prepare", wizard.submit, "POST"),
            route("/budget", pages.budget),
            route("/jobs/{id}", pages.job),
            route("/jobs/{id}/picture", pages.picture),
            route("/jobs/{id}/approve", pages.approve, "POST"),
            route("/jobs/{id}/refuse", pages.refuse, "POST"),
            route("/jobs/{id}/cancel", pages.cancel, "POST"),
            route("/jobs/{id}/withdraw", pages.withdraw, "POST"),
            route("/jobs/{id}/{file}", pages.download),
            Route(ENDLESS, News(operator, logins)),
            Route("/login", by_link),
            Route("/login", by_name, methods=["POST"]),
            *([Route("/login/oidc", away), Route("/login/oidc/back", back)] if sign_on else []),
            route("/logout", log_out, "POST"),
            # browsers ask for it beside any page
            Route("/favicon.ico", lambda _: RedirectResponse("/static/icon.svg")),
            Route("/static/explore.js", explore),
            Mount("/static", _Static(directory=str(files("parties.web") / "static"))),
            *extra_routes,
        ],
        middleware=[Middleware(Guard, failure=renderer.failed(500, ""))],
        exception_handlers={HTTPException: failed, InputError: failed},
    )


def sentence(error: InputError) -> str:
    """Return the text of an error as a sentence."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def explore(_: Request) -> Response:
    """Return the script that moves and zooms trees, which is also part of every tree's file."""
    return Response(drawing.script(), headers=REVALIDATE, media_type="text/javascript")


class _Static(StaticFiles):
    """Style sheet, scripts and icon."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers.update(REVALIDATE)
        return response
