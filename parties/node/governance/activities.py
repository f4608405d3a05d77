"""A party's processing of its tables, by purpose, from its audit log, which has neither rows nor counts of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from parties.node.budget.account import Charge
from parties.operator.interface import AuditEntry

ARCHIVES = "look for the table in the files of smc audit archive"  # for a job archived before the log kept its table
ENDS = ("finished", "failed", "cancelled")


@dataclass
class Job:
    """A job as described by the log."""

    proposed: dict[str, Any]
    at: str
    started: bool = False
    end: str = ""  # "refused", or one of `ENDS`; empty: not ended
    refused_by: str = ""
    noisy: bool = False
    opened: Counter[str] = field(default_factory=Counter)

    @property
    def protection(self) -> str:
        """The protection of single rows in its result: "noise", "rules" or "none"; or "exact" for a joint number."""
        rules = self.proposed["parameters"]
        if self.noisy:
            return "noise"
        if self.proposed.get("exact"):
            return "exact"
        return "rules" if rules.get("k", 1) > 1 or rules.get("l", 1) > 1 or rules.get("t", 1) < 1 else "none"


@dataclass(frozen=True)
class ArchivedJob:
    """The log's remaining facts on an archived job that was computed at least in part; `table` is empty if unknown."""

    at: str  # time of its proposal
    table: str
    peer: str
    protocol: str


@dataclass
class Log:
    """All jobs of a log, in order, their charges to our tables, and publications of our tables by commands."""

    archived: list[ArchivedJob] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    charges: list[Charge] = field(default_factory=list)
    published: list[AuditEntry] = field(default_factory=list)
    starts: list[Mapping[str, Any]] = field(default_factory=list)


def read(entries: Iterable[AuditEntry]) -> Log:
    """Return the jobs and publications in entries, oldest first; for an archived job only its remaining facts."""
    log, proposed, begun = Log(), dict[str, str](), set[str]()
    for entry in entries:
        if entry.kind == "node started":
            log.starts.append(entry.fields)
        if entry.kind == "published":
            log.published.append(entry)
        if entry.kind == "spent":
            log.charges.append(Charge.read(entry.job or "", entry.fields))
        if entry.job is None:
            continue
        if entry.kind == "proposed" and not entry.fields:  # archived
            proposed[entry.job] = entry.at
        elif entry.kind == "started" and entry.job in proposed:
            begun.add(entry.job)
        elif entry.kind == "archived" and entry.job in begun:
            fields = entry.fields
            table = fields.get("table", "")
            log.archived.append(ArchivedJob(proposed[entry.job], table, fields["peer"], fields["protocol"]))
        elif entry.kind == "proposed":
            log.jobs[entry.job] = Job(entry.fields, entry.at)
        elif (job := log.jobs.get(entry.job)) is not None:
            _note(job, entry)
    return log


def _note(job: Job, entry: AuditEntry) -> None:
    fields = entry.fields
    job.started |= entry.kind == "started"
    job.noisy |= entry.kind == "spent" or bool(fields.get("repeats"))
    if entry.kind == "decided" and fields["verdict"] == "refused":
        job.end, job.refused_by = "refused", "the peer" if fields["party"] == "peer" else fields["by"]
    elif entry.kind in ENDS:
        job.end = entry.kind
    if entry.kind == "opened":  # counts every opening, those of repeated steps included
        job.opened.update(fields["opened"])


def by_purpose(log: Log) -> dict[tuple[str, str, str], list[Job]]:
    """Return the jobs computed in part at least, by stated purpose, our table and kind, each in order."""
    groups: dict[tuple[str, str, str], list[Job]] = {}
    for job in log.jobs.values():
        if job.started:
            key = tuple(job.proposed[name] for name in ("purpose", "table", "protocol"))
            groups.setdefault((key[0], key[1], key[2]), []).append(job)
    return dict(sorted(groups.items()))
