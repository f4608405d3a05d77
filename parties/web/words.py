"""Texts of the pages: states, times, amounts, and texts by others.

Text from the peer may contain and claim anything. Templates escape all of it; `shown` also escapes characters that
could make a line read differently than it is written.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from parties.base.console import size
from parties.base.text import visible
from parties.jobs import kinds
from parties.jobs.sentences import heading, profile_words
from parties.jobs.settings import public_parameters
from parties.operator.entries import fields_in_words
from parties.operator.interface import ENDED, JobView

BY_US = "by us, "  # beginning of a line of `JobView.withdrawn`
LONGEST = 160  # characters shown of a name in a line


def shown(text: str, limit: int = LONGEST) -> str:
    """Return a text of any author on one line, with invisible and control characters escaped.

    Args:
        text: The text.
        limit: Largest number of characters.
    """
    return visible(text if len(text) <= limit else text[: limit - 1] + "…")


def lines(text: str, limit: int = 2000) -> list[str]:
    """Return the first lines of a text of any author, each as `shown`, cut to 400 characters.

    Args:
        text: The text.
        limit: Largest number of lines.
    """
    return [shown(line, 400) for line in text.splitlines()[:limit]]


def state(job: JobView) -> str:
    """Return the state of a job in a few words."""
    if job.waits_for_input:
        return "waits for your input"
    if job.waits_for_us and job.people:
        return f"waits for consent: {job.ours.by}"
    if job.state == "waiting":
        if job.further and not job.waits_for_us:
            return f"waits for the consent of {shown(', '.join(job.lacking), 60)}"
        whose = {("waiting", "waiting"): "both", ("waiting", "approved"): "your"}
        return f"waits for {whose.get((job.ours.verdict, job.theirs.verdict), 'the peer’s')} consent"
    if job.only_signature:
        return "computed: is being signed"
    if job.withdrawn:
        return "withdrawn"
    return {
        "queued": "both agree: it waits" if job.why else "both agree: it starts next",
        "running": "running",
        "interrupted": "interrupted: goes on when the peer is back",
    }.get(job.state, job.state)


def outcome(job: JobView) -> str:
    """Return one line about the effect of our decision on a job."""
    job_name = f"“{title(job, 80)}”{f' ({shown(job.purpose, 80)})' if job.purpose else ''}"
    if job.state == "cancelled" and job.ended_by != "peer":
        return f"You cancelled {job_name}."
    if job.state == "refused" and job.ours.verdict == "refused":
        return f"You refused {job_name}."
    if job.state == "done" and _withdrawn_by_us(job):
        return f"You withdrew the result of {job_name}."
    by_hand = job.ours.by.split()[:1] == ["operator"] or (job.ours.verdict == "waiting" and job.people)
    starts = job.state == "queued" and not job.why  # the job may be done before this is read
    return f"{'You approved ' if by_hand else ''}{job_name}: {'both agree' if starts else state(job)}."


def ended(job: JobView) -> bool:
    """Return whether a job has ended."""
    return job.state in ENDED


def withdrawable(job: JobView) -> bool:
    """Return whether a job has a result that we have not withdrawn."""
    return job.state == "done" and not _withdrawn_by_us(job)


def _withdrawn_by_us(job: JobView) -> bool:
    return any(line.startswith(BY_US) for line in job.withdrawn)


def nearness(job: JobView) -> int:
    """Return the position of an unfinished job in a list: running jobs come first."""
    return ("running", "interrupted", "queued", "waiting").index(job.state)


def title(job: JobView, limit: int = LONGEST) -> str:
    """Return a job's question in a few words.

    Args:
        job: The job.
        limit: Largest number of characters.
    """
    return shown(heading(job.title, job.target, job.parameters), limit)


class Parameters(NamedTuple):
    """The parameters of the question, and of its computation: name, value, explanation."""

    asked: list[tuple[str, str, str]]
    engine: list[tuple[str, str, str]]


def parameters(job: JobView) -> Parameters:
    """Return the settings of a job by title; by key if this release does not have the kind of job."""
    settings = kinds.find(job.protocol).Settings if kinds.is_known(job.protocol) else None
    of_kind = {} if settings is None else {parameter.key: parameter for parameter in public_parameters(settings)}
    rows = Parameters([], [])
    for name, value in job.parameters.items():
        parameter = of_kind.get(name)
        if value is None and (parameter is None or parameter.is_engine or not parameter.none):
            continue  # left to the engine
        label, explanation = (shown(name, 40), "") if parameter is None else (parameter.title, parameter.help)
        group = rows.engine if parameter is not None and parameter.is_engine else rows.asked
        group.append((label, _value(value, parameter.none if parameter is not None else ""), explanation))
    return rows


def ruled(job: JobView) -> bool:
    """Return whether a job has rules for the rows of a leaf or class, with the setting `against`."""
    rules = job.parameters
    weak = rules.get("k", 1) in (None, 1) and rules.get("l", 1) in (None, 1) and rules.get("t", 1) in (None, 1)
    return "against" in rules and not weak


def note(why: str) -> str:
    """Return a node's text about a job; `type it below` replaces the command for an input, as the page has a field."""
    return re.sub(r": (smc approve [0-9a-f]+ )?--input \w+=VALUE", ": type it below", shown(why, 1000))


def when(at: str) -> str:
    """Return an ISO 8601 time as people write it, `21 Nov 2026, 17:03:09 UTC`; an invalid time unchanged."""
    moment = _moment(at)
    return shown(at, 40) if moment is None else f"{moment.day} {moment:%b %Y, %H:%M:%S} UTC"


def ago(at: str) -> str:
    """Return the time since a moment as text for people, such as `3 min ago`; empty for an invalid time."""
    moment = _moment(at)
    return "" if moment is None else f"{duration((datetime.now(UTC) - moment).total_seconds())} ago"


def duration(seconds: float) -> str:
    """Return a time span as text for people: with tenths of a second below 10 s, else in whole units."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    for unit, length, until in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < until:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def plural(number: int, noun: str, plural_noun: str | None = None) -> str:
    """Return a number with its noun.

    Args:
        number: The number.
        noun: The noun in the singular.
        plural_noun: The noun in the plural, if it is irregular.
    """
    return f"{number:,} {noun if number == 1 else plural_noun or noun + 's'}"


def _value(value: object, none: str) -> str:
    if value is None:
        return none
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else shown(str(value), 60)


def _moment(at: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(at)
        return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # a time near the last possible date, in another zone
        return None


FILTERS: dict[str, Any] = {
    "shown": shown,
    "state": state,
    "title_of": title,
    "ruled": ruled,
    "parameters": parameters,
    "profile_words": profile_words,
    "note": note,
    "when": when,
    "ago": ago,
    "duration": duration,
    "size": size,
    "plural": plural,
    "fields_in_words": fields_in_words,
}
TESTS: dict[str, Any] = {
    "waiting_for_us": lambda job: job.waits_for_us,
    "needing_us": lambda job: job.needs_us,
    "ended": ended,
    "withdrawable": withdrawable,
}
