"""The pages: all jobs, one job, the audit log; and the operator's decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from parties.jobs import kinds
from parties.jobs.settings import private_parameters
from parties.operator.cautions import more_than_usual, question
from parties.operator.entries import fields_in_words
from parties.operator.interface import OPEN, AuditEntry, JobResult, JobView, Operator
from parties.web import figures, results
from parties.web.connection import ENDLESS
from parties.web.listing import PAGE, SORTS, STATES, Choice, listing
from parties.web.own_tables import OwnTables
from parties.web.proposal import read_field
from parties.web.render import MOST_OPEN, Renderer
from parties.web.visits import Visit
from parties.web.words import ended, outcome
from smc.errors import InputError

ENTRIES = 50  # of the audit log on a page
SEARCHED = 500  # entries at once


class Pages:
    """Handlers of all pages that show the node."""

    def __init__(self, renderer: Renderer, own: OwnTables) -> None:
        self._renderer, self._own = renderer, own

    def overview(
        self, visit: Visit, problem: str = "", choice: Choice | None = None, more: Sequence[str] = ()
    ) -> Response:
        """Show the jobs: those that wait for this party, run, or have ended; or a choice.

        Args:
            visit: The request.
            problem: Error of a decision made here.
            choice: The choice; None reads it from the query.
            more: Reasons to confirm an approval.
        """
        choice = Choice.read(dict(visit.request.query_params)) if choice is None else choice
        open_jobs = visit.operator.jobs(MOST_OPEN, states=OPEN)
        try:
            listed = listing(visit.operator, choice, open_jobs)
        except InputError as error:
            raise HTTPException(404, str(error)) from None
        context: dict[str, object] = {
            "open_jobs": open_jobs,
            "most_open": MOST_OPEN,
            "news": ENDLESS,
            "listing": listed,
            "query": choice.query(),
            "states": STATES,
            "sorts": SORTS,
            "page_size": PAGE,
        }
        return self._show(visit, "overview.html", problem, context, more)

    def job(self, visit: Visit, problem: str = "", more: Sequence[str] = ()) -> Response:
        """Show all about one job.

        Args:
            visit: The request.
            problem: Error of a decision made here.
            more: Reasons to confirm an approval.
        """
        job = self._job(visit)
        brought, unread = None, ""
        if job.state == "done":
            try:
                brought = results.brought(visit.operator.result(job.id))
            except InputError as error:
                unread = str(error)
        news = "" if ended(job) else ENDLESS
        context = {"news": news, "job": job, "brought": brought, "unread": unread}
        return self._show(visit, "job.html", problem, context, more)

    def approve(self, visit: Visit) -> Response:
        """Consent to a job; one that reveals more than its table's usual jobs needs a confirmation."""
        view = self._job(visit)
        if visit.form.get("sure") != view.digest and (more := more_than_usual(visit.operator, view)):
            return self._back(visit, more=[question(view), *more])

        def approve(job: str, why: str) -> JobView:
            del why
            return visit.operator.approve(job, _typed(visit.operator.job(job), visit.form))

        return self._decide(visit, approve)

    def refuse(self, visit: Visit) -> Response:
        """Refuse a job, with a reason."""

        def refuse(job: str, why: str) -> JobView:
            if not why:
                raise InputError("give a reason for the refusal: the proposer will read it")
            return visit.operator.refuse(job, why)

        return self._decide(visit, refuse)

    def cancel(self, visit: Visit) -> Response:
        """Withdraw a job, or stop it."""
        return self._decide(visit, visit.operator.cancel)

    def withdraw(self, visit: Visit) -> Response:
        """Withdraw a result by a signed statement."""
        return self._decide(visit, visit.operator.withdraw)

    def picture(self, visit: Visit) -> Response:
        """Show the picture of a result."""
        return results.picture(self._result(visit))

    def download(self, visit: Visit) -> Response:
        """Send a result as a file."""
        return results.download(self._result(visit), visit.request.path_params["file"])

    def audit(self, visit: Visit) -> Response:
        """Show the audit log, newest entries first, and whether it is intact."""
        text = visit.request.query_params.get("before", "")
        before = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
        choice = Choice.read(dict(visit.request.query_params))
        entries = _entries(visit.operator, choice.words.casefold().split(), before)
        older = entries[ENTRIES - 1].number if len(entries) > ENTRIES else None
        context: dict[str, object] = {"entries": entries[:ENTRIES], "older": older, "first_page": before is None}
        context |= {"words": choice.words, "query": Choice(choice.words).query()}
        return self._renderer.page(visit, "audit.html", {**context, "state": visit.operator.verify()})

    def budget(self, visit: Visit) -> Response:
        """Show the spending and the remaining budget of each table."""
        now = datetime.now(UTC)
        tables = [(table, figures.budget(table, now)) for table in visit.operator.budget()]
        return self._renderer.page(visit, "budget.html", {"tables": tables})

    def tables(self, visit: Visit) -> Response:
        """Show our own tables: columns and remaining budgets."""
        budgets = {budget.table: budget for budget in visit.operator.budget()}
        columns = visit.operator.node().columns
        tables = [(name, of, budgets.get(name)) for name, of in columns.items()]
        return self._renderer.page(visit, "tables.html", {"tables": tables, "own": self._own})

    def _decide(self, visit: Visit, decision: Callable[[str, str], object]) -> Response:
        """Make a decision, and redirect to the page that shows its outcome; on failure show the form again."""
        try:
            visit.check()
            decision(visit.identifier, visit.form.get("why", "").strip())
        except InputError as error:
            return self._back(visit, str(error))
        job = self._job(visit)
        if not _from_overview(visit):
            return RedirectResponse(f"/jobs/{job.id}?decided={job.id}", 303)
        query = Choice.of(visit.form.get("query", "")).query()
        return RedirectResponse(f"/?{query}{'&' if query else ''}decided={job.id}", 303)

    def _back(self, visit: Visit, problem: str = "", more: Sequence[str] = ()) -> Response:
        if _from_overview(visit):
            return self.overview(visit, problem, Choice.of(visit.form.get("query", "")), more)
        return self.job(visit, problem, more)

    def _show(
        self, visit: Visit, template: str, problem: str, context: dict[str, object], more: Sequence[str]
    ) -> Response:
        """Show a page with decisions; after a failed one it shows the reason and keeps the typed text."""
        undecided = bool(problem or more)
        typed = {"job": visit.identifier if undecided else "", "why": visit.form.get("why", ""), "unusual": more}
        notices = {"problem": problem, "typed": typed, "said": "" if undecided else self._said(visit)}
        return self._renderer.page(visit, template, {**context, **notices}, 400 if problem else 200)

    def _said(self, visit: Visit) -> str:
        """Return the outcome of the decision that led here: it is read from the job, whatever the address claims."""
        decided = visit.request.query_params.get("decided")
        if not decided:
            return ""
        try:
            return outcome(visit.operator.job(decided))
        except InputError:
            return ""

    def _job(self, visit: Visit) -> JobView:
        try:
            return visit.operator.job(visit.identifier)
        except InputError as error:
            raise HTTPException(404, str(error)) from None

    def _result(self, visit: Visit) -> JobResult:
        try:
            return visit.operator.result(visit.identifier)
        except InputError as error:
            raise HTTPException(404, str(error)) from None


def _entries(operator: Operator, words: list[str], before: int | None) -> list[AuditEntry]:
    """Return a page of entries that contain all words, and one more if there are older ones."""
    entries: list[AuditEntry] = []
    chunk = operator.audit(ENTRIES + 1 if not words else SEARCHED, before)
    while chunk and len(entries) <= ENTRIES:
        for entry in chunk:
            fields = " ".join(f"{name} {value}" for name, value in fields_in_words(entry))
            text = f"{entry.kind} {entry.job or ''} {fields}".casefold()
            entries += [entry] if all(word in text for word in words) else []
        chunk = operator.audit(SEARCHED, chunk[-1].number) if words else []
    return entries[: ENTRIES + 1]


def _from_overview(visit: Visit) -> bool:
    return visit.form.get("page") == "overview"


def _typed(job: JobView, form: dict[str, str]) -> dict[str, object] | None:
    parameters = {parameter.key: parameter for parameter in private_parameters(kinds.find(job.protocol).Settings)}
    typed = {field.name: form.get(f"typed-{field.name}", "").strip() for field in job.asked}
    return {name: read_field(parameters[name], text) for name, text in typed.items() if text} or None
