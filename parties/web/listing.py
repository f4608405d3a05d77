"""The jobs on a page: all in their sections, or those chosen by words and a state, a fixed number on a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.parse import parse_qsl, urlencode

from parties.operator.interface import ENDED, OPEN, JobView, Operator, State
from parties.web.words import nearness, title
from smc.errors import InputError

PAGE = 25  # jobs on a page
LOOKED_AT = 5000  # jobs that a search examines
CHUNK = 200
NUMBER = 4  # digits of a job's number that name it
LONGEST = 200  # characters of the search words
STATES: dict[str, tuple[str, tuple[State, ...]]] = {
    "": ("all", ()),
    "ours": ("waiting for us", OPEN),
    "open": ("under way", OPEN),
    "ended": ("ended", ENDED),
    "done": ("done", ("done",)),
    "failed": ("failed", ("failed",)),
    "refused": ("refused", ("refused",)),
    "cancelled": ("cancelled", ("cancelled",)),
}


SORTS: dict[str, tuple[str, Callable[[JobView], Any]]] = {  # sort keys of jobs: name and function
    "date": ("date", lambda job: job.ended_at or job.proposed_at),
    "state": ("state", lambda job: get_args(State).index(job.state)),
    "peer": ("peer", lambda job: job.peer.casefold()),
    "kind": ("question", lambda job: title(job).casefold()),
    # the most expensive first, unknown ones last
    "cost": ("cost", lambda job: 0 if job.cost is None else -job.cost.bytes),
}


@dataclass(frozen=True)
class Choice:
    """A selection of jobs; `before` is the last job of the page before.

    `sort` is one of `SORTS`, with `-` before it for the opposite order; empty for the newest first.
    """

    words: str = ""
    state: str = ""
    before: str = ""
    sort: str = ""

    @classmethod
    def read(cls, fields: Mapping[str, str]) -> Choice:
        """Return the choice that a URL query describes. An unknown state selects all jobs."""
        state = fields.get("state", "")
        words = " ".join(fields.get("q", "").split())[:LONGEST]
        sort = fields.get("sort", "")
        return cls(
            words,
            state if state in STATES else "",
            fields.get("before", "")[:40],
            sort if sort.removeprefix("-") in SORTS and sort != "date" else "",
        )

    @classmethod
    def of(cls, query: str) -> Choice:
        """Return the choice that a URL query describes, the inverse of `query`. A faulty query gives a valid choice."""
        return cls.read(dict(parse_qsl(query, max_num_fields=20) if len(query) < 2000 else []))

    def query(self, **changes: str) -> str:
        """Return the URL query of the choice, with some fields changed."""
        choice = replace(self, **changes)
        fields = {"q": choice.words, "state": choice.state, "before": choice.before, "sort": choice.sort}
        return urlencode({name: value for name, value in fields.items() if value})

    def turned(self, by: str) -> str:
        """Return the URL query that sorts the jobs by a key, in the opposite order if they are sorted by it already."""
        return self.query(sort=f"-{by}" if (self.sort or "date") == by else by, before="")

    def in_order(self, jobs: list[JobView]) -> list[JobView]:
        """Return jobs, given newest first, in the chosen order; equal ones stay newest first."""
        by = self.sort.removeprefix("-")
        return sorted(jobs, key=SORTS[by][1], reverse=self.sort.startswith("-") != (by == "date")) if by else jobs

    @property
    def narrows(self) -> bool:
        """True if the choice leaves out jobs."""
        return bool(self.words or self.state)

    def takes(self, job: JobView) -> bool:
        """Return whether a job of the chosen states matches: each word is in its texts, or begins its number."""
        if (self.state == "ours" and not job.needs_us) or (self.state == "open" and job.needs_us):
            return False
        about = (job.purpose, title(job), job.question, job.table, job.peer_table, job.target, job.peer, job.why)
        text = "\n".join((*about, *job.columns)).casefold()
        words = self.words.casefold().split()
        return all(word in text or (len(word) >= NUMBER and job.id.startswith(word)) for word in words)


@dataclass(frozen=True)
class Listing:
    """The jobs of a page.

    Attributes:
        choice: The choice of jobs.
        for_us: All open jobs that wait for us, whatever the choice leaves out.
        under_way: All other open jobs.
        found: A page of the chosen jobs; without a narrowing choice, of the ended jobs.
        older: The last of `found` if further jobs follow, else empty.
        cut: Whether the search stopped before it had read all older jobs.
    """

    choice: Choice
    for_us: list[JobView]
    under_way: list[JobView]
    found: list[JobView]
    older: str
    cut: bool


def listing(operator: Operator, choice: Choice, open_jobs: list[JobView]) -> Listing:
    """Return one page of the jobs that a choice selects, and those that wait or run.

    Args:
        operator: The node.
        choice: The choice.
        open_jobs: All jobs that have not ended.

    Raises:
        InputError: `before` names no job.
    """
    ours = choice.in_order([job for job in open_jobs if job.needs_us])
    under_way = choice.in_order(sorted((job for job in open_jobs if not job.needs_us), key=nearness))
    states = STATES[choice.state][1] if choice.narrows else ENDED
    chosen: list[JobView] = []
    examined, before = 0, None if choice.sort else choice.before or None
    while (choice.sort or len(chosen) <= PAGE) and examined < LOOKED_AT:
        chunk = operator.jobs(CHUNK if choice.narrows or choice.sort else PAGE + 1, before, states)
        chosen += [job for job in chunk if choice.takes(job)]
        examined += len(chunk)
        if len(chunk) < CHUNK:
            break
        before = chunk[-1].id
    if choice.sort:
        chosen = _behind(choice.in_order(chosen), choice.before)
    older = chosen[PAGE - 1].id if len(chosen) > PAGE else ""
    cut = examined >= LOOKED_AT and (bool(choice.sort) or not older)
    return Listing(choice, ours, under_way, chosen[:PAGE], older, cut)


def _behind(jobs: list[JobView], last: str) -> list[JobView]:
    """Return the jobs after the last one of the page before. Raise InputError if it is not among them."""
    positions = [position for position, job in enumerate(jobs, 1) if job.id == last]
    if last and not positions:
        raise InputError("this page of jobs no longer exists: go to the first page")
    return jobs[positions[0] if positions else 0 :]
