"""Rendering of templates: the frame of every page, and the pages for failed log-ins and errors."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from parties.base.glossary import entries
from parties.base.templates import environment
from parties.operator.cautions import cautions
from parties.operator.interface import OPEN
from parties.web.login import Logins
from parties.web.visits import Visit
from parties.web.words import FILTERS, TESTS

EXPLANATIONS = {
    404: "There is nothing at this address.",
    405: "This address does not accept this kind of request.",
    500: "Something went wrong inside the node. Its log says what.",
}
MOST_OPEN = 200  # jobs that have not ended, on a page


@cache
def _templates() -> Environment:
    templates = environment("parties.web")
    templates.filters.update(FILTERS, cautions=cautions)
    templates.tests.update(TESTS)
    templates.globals["glossary"] = {entry.word: entry.text for entry in entries()}
    return templates


class Renderer:
    """Fills templates for the node of this `name`. All text from a job is escaped. `provider` may sign people in."""

    def __init__(self, logins: Logins, name: str, provider: str = "") -> None:
        self._logins, self._name, self._provider = logins, name, provider

    def page(self, visit: Visit, template: str, context: dict[str, Any], status: int = 200) -> Response:
        """Return the response with a page for a signed-in person, from a template.

        Args:
            visit: The request.
            template: Name of the template.
            context: Values for the template; `news` is the path at which the page's script waits for changes.
            status: HTTP status of the answer.
        """
        open_jobs = context.get("open_jobs")
        jobs = visit.operator.jobs(MOST_OPEN, states=OPEN) if open_jobs is None else open_jobs
        frame = {
            "node": visit.operator.node(),
            "waiting": sum(job.needs_us for job in jobs),
            "form_token": visit.session.form_token,
            "person": visit.session.person,
            "path": visit.request.url.path,
            "news": "",
        }
        return self._answer(template, status, frame | context)

    def stranger(self, request: Request, problem: str = "") -> Response:
        """Fill the page with the ways to sign in.

        A link on a foreign page comes without our strict cookie, though its user may be signed in: the browser is told
        to send the request again by itself.

        Args:
            request: The request.
            problem: Error of a log-in.
        """
        if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
            return Response(headers={"Refresh": "0"}, media_type="text/html")
        lost = request.method == "POST" and request.url.path != "/login"
        return self.refused(problem, lost)

    def refused(self, problem: str, typed: bool = False) -> Response:
        """Fill the page with the ways to sign in, after a failed log-in.

        Args:
            problem: The error.
            typed: Whether the input of a form was lost.
        """
        ways = {"by_name": self._logins.by_name, "provider": self._provider}
        return self._answer("login.html", 401, {"problem": problem, "typed": typed, **ways})

    def failed(self, status: int, detail: str) -> Response:
        """Return the error page of a refused or failed request.

        Args:
            status: HTTP status of the answer.
            detail: Text for people; the standard phrase is replaced by an explanation.
        """
        phrase = HTTPStatus(status).phrase
        detail = EXPLANATIONS.get(status, phrase) if detail in ("", phrase) else detail
        return self._answer("failed.html", status, {"phrase": phrase, "detail": detail})

    def _answer(self, template: str, status: int, context: dict[str, Any]) -> Response:
        return HTMLResponse(_templates().get_template(template).render(context, this_node=self._name), status)
