"""The pages: all jobs, one job, the audit log; and the operator's decisions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from parties.jobs import kinds
from parties.jobs.settings import private_parameters
from parties.operator.interface import ENDED, OPEN, JobResult, JobView, Operator
from parties.web import figures, results
from parties.web.proposal import read_field
from parties.web.render import MOST_OPEN, Renderer
from parties.web.visits import Visit
from parties.web.words import ended, nearness
from smc.errors import InputError

ENTRIES = 50  # of the audit log, a page
JOBS = 25  # that have ended, a page


class Pages:
    """Every page that shows what the node knows."""

    def __init__(self, operator: Operator, renderer: Renderer) -> None:
        self._operator, self._renderer = operator, renderer

    def overview(self, visit: Visit, problem: str = "") -> Response:
        """Jobs: those that wait for this party, those that will go on by themselves, the last of those that ended."""
        before = visit.request.query_params.get("before")
        open_jobs = self._operator.jobs(MOST_OPEN, states=OPEN)
        try:
            over = self._operator.jobs(JOBS + 1, before, ENDED)  # one more tells whether there are older ones
        except InputError as error:
            raise HTTPException(404, str(error)) from None
        context: dict[str, object] = {
            "open_jobs": open_jobs,
            "live": "/" if before is None else "",
            "for_us": [job for job in open_jobs if job.needs_us],
            "under_way": sorted((job for job in open_jobs if not job.needs_us), key=nearness),
            "over": over[:JOBS],
            "older": over[JOBS - 1].id if len(over) > JOBS else None,
            "first_page": before is None,
        }
        return self._show(visit, "overview.html", problem, context)

    def job(self, visit: Visit, problem: str = "") -> Response:
        """All about one job."""
        job = self._job(visit)
        brought, unread = None, ""
        if job.state == "done":
            try:
                brought = results.brought(self._operator.result(job.id))
            except InputError as error:
                unread = str(error)
        live = "" if ended(job) else f"/jobs/{job.id}"
        context = {"live": live, "job": job, "brought": brought, "unread": unread}
        return self._show(visit, "job.html", problem, context)

    def approve(self, visit: Visit) -> Response:
        """Consent to a job."""

        def approve(job: str, why: str) -> JobView:
            del why
            return self._operator.approve(job, _typed(self._operator.job(job), visit.form))

        return self._decide(visit, approve)

    def refuse(self, visit: Visit) -> Response:
        """Decline a job, with a reason."""

        def refuse(job: str, why: str) -> JobView:
            if not why:
                raise InputError("say why you refuse: the proposer will read it")
            return self._operator.refuse(job, why)

        return self._decide(visit, refuse)

    def cancel(self, visit: Visit) -> Response:
        """Withdraw a job, or stop it."""
        return self._decide(visit, self._operator.cancel)

    def picture(self, visit: Visit) -> Response:
        """The picture of a result."""
        return results.picture(self._result(visit))

    def download(self, visit: Visit) -> Response:
        """A result as a file."""
        return results.download(self._result(visit), visit.request.path_params["file"])

    def audit(self, visit: Visit) -> Response:
        """The audit log, the newest entries first, and whether it is whole."""
        text = visit.request.query_params.get("before", "")
        before = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
        entries = self._operator.audit(ENTRIES + 1, before)  # one more tells whether there are older ones
        older = entries[ENTRIES - 1].number if len(entries) > ENTRIES else None
        context = {"entries": entries[:ENTRIES], "older": older, "first_page": before is None}
        return self._renderer.page(visit, "audit.html", {**context, "state": self._operator.verify()})

    def budget(self, visit: Visit) -> Response:
        """What was spent of each table's privacy, and what is left."""
        now = datetime.now(UTC)
        tables = [(table, figures.budget(table, now)) for table in self._operator.budget()]
        return self._renderer.page(visit, "budget.html", {"tables": tables})

    def _decide(self, visit: Visit, decision: Callable[[str, str], object]) -> Response:
        """Make a decision and go back to the page it came from, which says so if it could not be made."""
        from_overview = visit.form.get("page") == "overview"
        try:
            visit.check()
            decision(visit.identifier, visit.form.get("why", "").strip())
        except InputError as error:
            return (self.overview if from_overview else self.job)(visit, str(error))
        return RedirectResponse("/" if from_overview else f"/jobs/{self._job(visit).id}", 303)

    def _show(self, visit: Visit, template: str, problem: str, context: dict[str, object]) -> Response:
        """A page with decisions on it; after one that failed it says why, and still has what was typed."""
        typed = {"job": visit.identifier if problem else "", "why": visit.form.get("why", "")}
        return self._renderer.page(
            visit, template, {**context, "problem": problem, "typed": typed}, 400 if problem else 200
        )

    def _job(self, visit: Visit) -> JobView:
        try:
            return self._operator.job(visit.identifier)
        except InputError as error:
            raise HTTPException(404, str(error)) from None

    def _result(self, visit: Visit) -> JobResult:
        try:
            return self._operator.result(visit.identifier)
        except InputError as error:
            raise HTTPException(404, str(error)) from None


def _typed(job: JobView, form: dict[str, str]) -> dict[str, object] | None:
    """What the form gives of what the job asks to be typed. `InputError` for what is no number."""
    known = {one.key: one for one in private_parameters(kinds.find(job.protocol).Settings)}
    given = {one.name: form.get(f"typed-{one.name}", "").strip() for one in job.asked}
    return {name: read_field(known[name], text) for name, text in given.items() if text} or None
