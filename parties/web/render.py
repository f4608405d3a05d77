"""Templates to answers: every page's frame, and the pages for those who may not or cannot see what they asked for."""

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
    405: "This address does not take such a request.",
    500: "Something went wrong inside the node. Its log says what.",
}
MOST_OPEN = 200  # jobs that have not ended, on a page


@cache
def _templates() -> Environment:
    """Return all templates, with our words for what they show."""
    templates = environment("parties.web")
    templates.filters.update(FILTERS, cautions=cautions)
    templates.tests.update(TESTS)
    templates.globals["glossary"] = {entry.word: entry.text for entry in entries()}
    return templates


class Renderer:
    """A filler of templates. What comes from a job is escaped, whoever wrote it. `provider` may sign people in."""

    def __init__(self, logins: Logins, provider: str = "") -> None:
        self._logins, self._provider = logins, provider

    def page(self, visit: Visit, template: str, context: dict[str, Any], status: int = 200) -> Response:
        """Fill a page for somebody who has signed in; `news` in the context is where our script hears of them."""
        known = context.get("open_jobs")
        jobs = visit.operator.jobs(MOST_OPEN, states=OPEN) if known is None else known
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
        """Fill the page that says how to sign in.

        A link on a page elsewhere comes without our strict cookie, though its user may have signed in: the browser is
        told to ask once more by itself.
        """
        if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
            return Response(headers={"Refresh": "0"}, media_type="text/html")
        lost = request.method == "POST" and request.url.path != "/login"
        return self.refused(problem, lost)

    def refused(self, problem: str, typed: bool = False) -> Response:
        """Fill that page after a log-in that failed; `typed`: a form has been lost."""
        ways = {"by_name": self._logins.by_name, "provider": self._provider}
        return self._answer("login.html", 401, {"problem": problem, "typed": typed, **ways})

    def failed(self, status: int, detail: str) -> Response:
        """Fill a page in place of one that there is not; `detail` is for people unless it is the standard phrase."""
        phrase = HTTPStatus(status).phrase
        detail = EXPLANATIONS.get(status, phrase) if detail in ("", phrase) else detail
        return self._answer("failed.html", status, {"phrase": phrase, "detail": detail})

    def _answer(self, template: str, status: int, context: dict[str, Any]) -> Response:
        return HTMLResponse(_templates().get_template(template).render(context), status)
