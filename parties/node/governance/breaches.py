"""The register of breaches (GDPR art. 33(5)), from the audit log: with the 72 hours, and a draft of the notice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from parties.node.governance.activities import ARCHIVES, Log
from parties.node.governance.markdown import text
from parties.node.records.kinds import Step
from parties.node.settings import NodeFile
from parties.operator.interface import AuditEntry
from smc.errors import InputError

TERM = timedelta(hours=72)  # art. 33(1), from the time at which the controller learns of it


@dataclass
class Breach:
    """A breach as described by the log: the finding, and each step since (time, step, text)."""

    id: str
    known: datetime
    tables: list[str]
    steps: list[tuple[str, Step, str]] = field(default_factory=list)

    @property
    def what(self) -> str:
        """The description of the breach: the text of its first step."""
        return self.steps[0][2]

    @property
    def due(self) -> datetime:
        """The end of the time to notify the supervisory authority."""
        return self.known + TERM

    def add(self, entry: AuditEntry) -> None:
        """Add the step that a log entry records."""
        self.steps.append((entry.at, entry.fields["step"], entry.fields["text"]))

    def has(self, step: Step) -> bool:
        """Return whether this step was done."""
        return any(done == step for _, done, _ in self.steps)

    def state(self, now: datetime) -> str:
        """Return the state of the breach in words."""
        if self.has("closed"):
            return "closed"
        if self.has("authority told"):
            return "open, the authority was told"
        hours = (self.due - now) / timedelta(hours=1)
        return f"{hours:.0f} hours left to tell the authority" if hours >= 0 else f"LATE by {-hours:.0f} hours"


def read(entries: Iterable[AuditEntry]) -> dict[str, Breach]:
    """Return all breaches in the entries of a log, oldest first, by identifier."""
    breaches: dict[str, Breach] = {}
    for entry in entries:
        if entry.kind == "breach":
            fields = entry.fields
            if fields["step"] == "found":
                known_since = datetime.fromisoformat(fields["known"])
                breaches[fields["breach"]] = Breach(fields["breach"], known_since, fields["tables"])
            breaches[fields["breach"]].add(entry)
    return breaches


def named(breaches: Mapping[str, Breach], beginning: str) -> Breach:
    """Return the breach whose identifier has this beginning.

    Args:
        breaches: The breaches by identifier.
        beginning: The beginning.

    Raises:
        InputError: No breach or several match.
    """
    match [breach for name, breach in breaches.items() if name.startswith(beginning.lower())]:
        case [breach]:
            return breach
        case []:
            raise InputError(f"there is no breach {beginning}: smc breach list shows all")
        case several:
            raise InputError(f"{beginning} is the beginning of {len(several)} breaches: give more of it")


def draft(breach: Breach, file: NodeFile, log: Log, now: datetime) -> str:
    """Return a draft of the notice to the supervisory authority (art. 33(3)), as Markdown.

    Facts from party.toml and the log are filled in; for others there is a line that begins with TODO.

    Args:
        breach: The breach.
        file: Settings of the node.
        log: Jobs and publications of the log.
        now: The present time.
    """
    return "\n".join(_draft(breach, file, log, now)) + "\n"


def _draft(breach: Breach, file: NodeFile, log: Log, now: datetime) -> Iterator[str]:
    controller = file.controller
    yield from ("# Notification of a personal data breach (GDPR art. 33)", "")
    yield f"Draft of {now.isoformat(timespec='minutes')}, breach {breach.id}: {breach.state(now)}."
    yield from ("", "## Controller", "")
    if controller is None:
        yield "TODO: name and contact ([controller] in party.toml)"
    else:
        yield f"{text(controller.name)}, {text(controller.contact)}; protection officer: {text(controller.officer)}"
    yield from ("", "## Nature of the breach", "")
    yield f"{text(breach.what)}. Known since {breach.known.isoformat(timespec='minutes')}."
    if now > breach.due and not breach.has("authority told"):
        yield "TODO: the reasons for the delay, which is over 72 hours (art. 33(1))"
    for name in breach.tables:
        yield from _table(name, file, log)
    yield "TODO: approximate number of people, and of rows"
    yield from (
        "",
        "## Likely consequences",
        "",
        "TODO: what people may have to fear; art. 34: are they told, and when?",
    )
    yield from ("", "## Measures", "")
    steps = [(at, step, said) for at, step, said in breach.steps[1:]]
    yield from (f"- {at[:16]} {step}: {text(said)}" for at, step, said in steps)
    yield "TODO: what was done against it and its consequences, and what will be"


def _table(name: str, file: NodeFile, log: Log) -> Iterator[str]:
    table = file.tables.get(name)
    rights = None if table is None else table.rights
    yield from ("", f"Table {text(name)}:", "")
    yield f"- people: {text(rights and rights.subjects)}; categories: {text(rights and rights.categories)}"
    yield f"- data of art. 9: {text(rights and rights.special)}"
    jobs = [job for job in log.jobs.values() if job.proposed["table"] == name and job.started]
    archived = [job for job in log.archived if job.table == name]
    peers = sorted({*(job.proposed["peer"] for job in jobs), *(job.peer for job in archived)})
    count = f"{len(jobs) + len(archived)}{f' ({len(archived)} archived)' if archived else ''}"
    yield f"- joint jobs that read it: {count}, with {text(peers or 'nobody')}; published: {_published(name, log)}"
    if unknown := sum(not job.table for job in log.archived):
        yield f"- TODO: {unknown} archived jobs, not counted, of which the log has no table: {ARCHIVES}"


def _published(name: str, log: Log) -> str:
    entries = [entry for entry in log.published if entry.fields["table"] == name]
    return text([f"{entry.at[:10]} {entry.fields['what']}" for entry in entries] or "nothing")
