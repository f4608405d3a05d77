"""Whether the jobs on disk are those of the audit log: who changes a row of the one contradicts the other.

The log is checked by itself before (its chain of hashes, its signed head); here each job is compared with its entries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from parties.node import outcome
from parties.node.records.kinds import PEER_FAILED
from parties.node.store import Record
from parties.operator.interface import AuditEntry

Fields = Mapping[str, Any]
Public = Callable[[Record], Fields]


class _Logged:
    """The log's account of one job."""

    def __init__(self) -> None:
        self.proposed: Fields | None = None
        self.verdicts = {"us": "waiting", "peer": "waiting"}
        self.people: list[str] = []
        self.end = ""  # ours
        self.withdrawn: dict[str, Fields | None] = {"us": None, "peer": None}
        self.finished: Fields | None = None
        self.opened: dict[int, Fields] = {}
        self.spent: list[AuditEntry] = []
        self.counted: list[AuditEntry] = []

    def add(self, entry: AuditEntry) -> None:
        """Add one more entry, in their order."""
        fields = entry.fields
        match entry.kind:
            case "proposed":
                self.proposed = fields
                self._add_person(fields)
            case "approved":
                self._add_person(fields)
            case "decided":
                self.verdicts[fields["party"]] = fields["verdict"]
                if (fields["party"], fields["verdict"], fields["by"]) == ("us", "refused", "operator"):
                    self.people.clear()  # one person's word
                self._add_person(fields)
            case "opened":
                self.opened[fields["depth"]] = fields["opened"]
            case "spent":
                self.spent.append(entry)
            case "counted":
                self.counted.append(entry)
            case "finished":
                self.finished = fields
            case "withdrawn":
                self.withdrawn[fields["by"]] = fields["word"]
            case "cancelled" if fields["by"] == "us":
                self.end = "cancelled"
            case "failed" if fields["error"] != PEER_FAILED:
                self.end = "failed"

    def _add_person(self, fields: Fields) -> None:
        if (name := fields.get("person")) and name not in self.people:
            self.people.append(name)


def disagreement(records: Iterable[Record], entries: Iterable[AuditEntry], public: Public) -> str | None:
    """Return the first place where jobs and log say different things, job and field; None if there is none.

    `public(record)` is what an entry of kind `proposed` says of a job.
    """
    logged: dict[str, _Logged] = defaultdict(_Logged)
    archived = set()
    for entry in entries:
        if entry.kind == "archived":
            archived.add(entry.job)
        if entry.job is not None and entry.fields:
            logged[entry.job].add(entry)
    known = {record.id: record for record in records}
    for identifier, record in known.items():
        if identifier in archived:
            return f"job {identifier[:8]}: the audit log says that it is archived, and its row is here"
        for field in _different(record, logged[identifier], public):
            return f"job {identifier[:8]}: {field} is not what the audit log says"
    for identifier, logged_job in logged.items():
        if identifier not in known and identifier not in archived and logged_job.proposed is not None:
            return f"job {identifier[:8]}: the audit log knows it, and its row is gone"
    return None


def _different(record: Record, logged: _Logged, public: Public) -> Iterator[str]:
    """Yield the fields of a job that are not what the log says."""
    if logged.proposed is None:
        yield "its proposal"
        return
    if record.peer and logged.proposed["peer"] != record.peer:
        yield "its peer"
    yield from (name for name, value in public(record).items() if logged.proposed.get(name) != value)
    theirs = record.theirs.verdict if record.theirs is not None else "waiting"
    for party, verdict in (("us", record.ours.verdict), ("peer", theirs)):
        if logged.verdicts[party] != verdict:
            yield f"the verdict ({party})"
    if list(record.people) != logged.people:
        yield "who of us stands behind it"
    if record.ours.end != (logged.end or ("computed" if logged.finished is not None else "")):
        yield "its end"
    if _charged(record) != [
        [entry.fields[name] for name in ("counts_from", "table", "uses")] for entry in logged.spent
    ]:
        yield "what it has spent"
    if [[charge.stamp, charge.table, charge.step, charge.bits] for charge in record.bits] != [
        [entry.fields[name] for name in ("counts_from", "table", "depth", "bits")] for entry in logged.counted
    ]:
        yield "the bits that it has opened"
    if logged.finished is not None and logged.finished.get("repeats", "") != record.repeats:
        yield "the job that it repeats"
    for party, side in (("us", record.ours), ("peer", record.theirs)):
        word = None if side is None or side.withdrawn is None else side.withdrawn.model_dump()
        if logged.withdrawn[party] != word:
            yield f"its withdrawal ({party})"
    if not _is_result(record, logged):
        yield f"its {record.ours.proposal.task.noun}"


def _charged(record: Record) -> list[list[Any]]:
    """Return what the job has spent as its entry says it."""
    charge = record.charged
    return [] if charge is None else [[charge.stamp, charge.table, [use.entry() for use in charge.uses]]]


def _is_result(record: Record, logged: _Logged) -> bool:
    """Return whether the state on disk is one that opened what the log says, and led to the result that it names."""
    task = record.ours.proposal.task
    try:
        state = task.decode(record.tree)
        if any(task.opened(state, step) != logged.opened.get(step) for step in range(task.steps(state))):
            return False
        if logged.finished is None:
            return True
        result = outcome.result(record.ours.proposal, state)
        return bool(result[task.noun] == logged.finished["outcome"])
    except Exception:  # whatever a state that nobody wrote does to the code that reads it
        return False
