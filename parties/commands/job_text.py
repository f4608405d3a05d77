"""Jobs as text for the terminal. Much of it comes from the peer, so control characters are escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parties.base import console
from parties.base.report import Report
from parties.base.text import visible
from parties.commands import cost_text
from parties.jobs import kinds
from parties.jobs.sentences import heading, profile_words
from parties.jobs.settings import KindSettings, public_parameters, worded
from parties.operator.cautions import cautions
from parties.operator.interface import ENDED, JobView, Progress, Verdict

NAMES = 14  # columns of a sheet for the names of entries
MOST_COLUMNS = 12  # most columns named in a line; further ones are counted
ALWAYS = ("max_depth", "k", "epsilon")  # settings that a title has even at their default
IN_HEADING = ("of", "by", "across", "column", "columns", "where", "target", "recode", "exact")  # those of `heading`
SHORT = 8  # digits of an identifier that are shown if no other job begins alike


def shown(text: str, limit: int | None = None) -> str:
    """Return a text on one line: white space becomes single spaces, control characters are escaped.

    Args:
        text: The text.
        limit: Maximum number of characters; None for any.
    """
    line = " ".join(visible(text).split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def short(identifier: str, jobs: Sequence[JobView] = ()) -> str:
    """Return the first 8 digits of an identifier, or as many as distinguish it from all other jobs.

    Args:
        identifier: Identifier of the job.
        jobs: The other jobs.
    """
    others = {job.id for job in jobs} - {identifier}
    length = next((n for n in range(SHORT, 32) if not any(other[:n] == identifier[:n] for other in others)), 32)
    return identifier[:length]


def title(job: JobView) -> str:
    """Return a job's question as a short phrase."""
    return heading(job.title, job.target, job.parameters)


def full_title(job: JobView) -> str:
    """Return a job's question with the settings that tell it from other jobs."""
    settings = _settings(job)
    defaults = {one.key: one.default for one in public_parameters(settings) if not one.is_engine}
    telling = {
        name: value
        for name, value in job.parameters.items()
        if name in ALWAYS or (name in defaults and name not in IN_HEADING and value != defaults[name])
    }
    details = (f"{name.removeprefix('max_')} {words}" for name, words in worded(settings, telling).items())
    return ", ".join([title(job), *details])


def standing(job: JobView) -> str:
    """Return the state of a job and its reason as a short phrase."""
    if job.state == "waiting":
        so_far = f" ({shown(job.ours.by)})" if job.people else ""  # people who have approved so far
        return f"waiting for our consent{so_far}" if job.waits_for_us else f"waiting {_awaited(job)}"
    if job.state == "running" and job.progress is not None:
        return f"running, {shown(job.progress.doing)}"
    if job.only_signature:
        return shown(job.why)
    by = ""
    if job.state == "refused":
        by = " by us" if job.ours.verdict == "refused" else " by the peer"
    withdrawn = ", its result withdrawn" if job.withdrawn else ""
    return f"{job.state}{withdrawn}{by}{': ' if job.why else ''}{shown(job.why)}"


def advance(progress: Progress) -> str:
    """Return the cost of a running job so far and its remaining time, as a short phrase."""
    volume = console.size(progress.bytes_sent + progress.bytes_received)
    left = "" if progress.seconds_left is None else f", about {console.duration(progress.seconds_left)} left"
    return f"{volume}, {progress.rounds:,} rounds{left}"


def moment(time: str) -> str:
    """Return an ISO 8601 time, UTC, to the minute."""
    return shown(time, 40)[:16].replace("T", " ")


def sheet(job: JobView, width: int | None) -> Iterator[str]:
    """Yield the full description of a job, line by line: computation, tables, disclosure, cost, decisions.

    Args:
        job: The job.
        width: Characters of a line. Longer lines are folded and continue to the right of the names, so no text can
            imitate the next entry. None: lines are not folded.
    """
    from rich.text import Text

    yield f"job {job.id}"
    for name, values in _entries(job):
        lines = [shown(value) for value in values]
        if width is not None:
            room = max(width - NAMES, NAMES)
            lines = [str(part) for line in lines for part in Text(line).wrap(console.out, room, overflow="fold")]
        for i, line in enumerate(lines):
            yield f"  {name if i == 0 else '':{NAMES - 2}}{line.rstrip()}"


def _entries(job: JobView) -> Iterator[tuple[str, list[str]]]:
    proposer = f"us, to {job.peer}" if job.proposed_by == "us" else f"the peer, {job.peer}"
    yield "state", [standing(job)]
    if job.withdrawn:
        yield "withdrawn", job.withdrawn
    yield "proposed", [f"by {proposer}, {moment(job.proposed_at)} UTC"]
    yield "purpose", [job.purpose or "(none given)"]
    yield "computes", [f"{title(job)} ({job.protocol})", job.question]
    if job.table or job.peer_table:
        yield (
            "our table",
            [job.table if job.peer_table in ("", job.table) else f"{job.table} (the peer's: {job.peer_table})"],
        )
    if job.columns:
        yield "columns", [_folded(job.columns)]
    yield "parameters", [", ".join(_parameters(job))]
    notes = [] if job.state in ENDED else [f"note: {sentence}" for sentence in cautions(job)]
    if job.remarks:
        yield "our rows", job.remarks
    yield "reveals", [*notes, *job.reveals]
    if job.price is not None:
        effect = [job.price.effect] if job.price.effect else []
        yield "spends", [f"{job.price.words}; {job.price.standing}", *effect, *job.price.uses]
    if job.exposure is not None:
        yield "exact bits", [job.exposure.words]
    if job.asked:
        yield "asks for", [f"{field.name}: {field.help}" for field in job.asked]
    if job.cost is not None:
        volume = f"{cost_text.volume_of(job.cost)}, {job.cost.rounds:,} rounds"
        yield (
            "cost",
            [
                f"{volume}, {console.duration(job.cost.seconds)} on {job.cost.link}",
                f"forecast: {job.cost.estimate}{f', for {job.cost.assumed}' if job.cost.assumed else ''}, "
                f"by {profile_words(job.cost.profile)}",
            ],
        )
    yield "ours", [_verdict(job.ours)]
    yield "theirs", [_verdict(job.theirs), *(f"{name}: {_verdict(one)}" for name, one in job.further.items())]
    yield "digest", [job.digest]
    if job.progress is not None:
        sent, received = console.size(job.progress.bytes_sent), console.size(job.progress.bytes_received)
        yield (
            "progress",
            [
                f"{job.progress.doing}, after {console.duration(job.progress.seconds)}",
                f"{advance(job.progress)}; {sent} of it sent, {received} received",
            ],
        )
    if job.ended_at is not None:
        yield "ended", [f"{moment(job.ended_at)} UTC"]


def _folded(columns: Sequence[str]) -> str:
    """Return column names for a line; if there are many, the first ones and the command that lists all."""
    if len(columns) <= MOST_COLUMNS:
        return ", ".join(columns)
    more = f"and {len(columns) - MOST_COLUMNS} more (smc show --json names all {len(columns)})"
    return f"{', '.join(columns[:MOST_COLUMNS])} {more}"


def _verdict(verdict: Verdict) -> str:
    by = f" by {verdict.by}" if verdict.by else ""
    at = f", {moment(verdict.at)} UTC" if verdict.at else ""
    return f"{verdict.verdict}{by}{at}{': ' if verdict.reason else ''}{verdict.reason}"


def listing(jobs: Sequence[JobView]) -> Report:
    """Return a report with one line for each job; jobs that wait for this operator come first, marked with !."""
    report = Report([job.model_dump() for job in jobs], is_foreign=True)
    rows: list[tuple[str, ...]] = []
    has_answers = any(job.answer for job in jobs)
    for job in sorted(jobs, key=lambda job: job.needs_us, reverse=True):  # stable sort: the newest stay first
        waits = "for our consent" if job.waits_for_us else "for our input" if job.waits_for_input else ""
        state = waits or ("withdrawn" if job.withdrawn else _awaited(job) if job.state == "waiting" else job.state)
        by = f"us, to {shown(job.peer, 20)}" if job.proposed_by == "us" else shown(job.peer, 20)
        about = [shown(full_title(job), 90), shown(job.table, 30), shown(job.purpose, 40)]
        about += [shown(job.answer, 60)] if has_answers else []
        since = moment(job.ended_at or job.proposed_at)
        rows.append(("!" if job.needs_us else "", short(job.id, jobs), state, by, *about, since))
    if rows:
        answer = ("answer",) if has_answers else ()
        heads = ("", "job", "state", "by", "computes", "table", "purpose", *answer, "since (UTC)")
        report.table(dict.fromkeys(heads, ""), rows, strong=lambda row: bool(row[0]))
    return report


def _awaited(job: JobView) -> str:
    return f"for the consent of {shown(', '.join(job.lacking), 60)}" if job.lacking else "for the peer's consent"


def _settings(job: JobView) -> type[KindSettings]:
    return kinds.find(job.protocol).Settings if kinds.is_known(job.protocol) else KindSettings


def _parameters(job: JobView) -> Iterator[str]:
    """Yield each parameter of a job with its value in words; those left to the engine are omitted."""
    settings = _settings(job)
    columns = {parameter.key for parameter in public_parameters(settings) if parameter.column}
    for name, words in worded(settings, job.parameters).items():
        yield f"{name} {_folded(words.split(', ')) if name in columns else words}"
