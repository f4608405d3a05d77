"""Whether the jobs on disk are those of the audit log: who changes a row of the one contradicts the other.

The log is checked by itself before (its chain of hashes, its signed head); here each job is compared with its entries.
What no entry has of a job, such as its times, is under the seal of the tables (`records.seal`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from parties.node import outcome
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.records.kinds import PEER_FAILED
from parties.node.store import Record
from parties.operator.interface import AuditEntry

Fields = Mapping[str, Any]


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
        self.committed: Fields | None = None
        self.signed: Fields | None = None
        self.sessions = 0
        self.spent: list[Fields] = []
        self.counted: list[Fields] = []

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
                self.spent.append(_booked(Charge.read(entry.job or "", fields)))
            case "counted":
                self.counted.append(_booked(BitsCharge.read(entry.job or "", fields)))
            case "started":
                self.sessions += 1
            case "committed":
                self.committed = fields
            case "signed":
                self.signed = fields
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


def public(record: Record) -> dict[str, Any]:
    """Return what is public of a job, and who proposed it: what its entry `proposed` says."""
    job, party = record.ours.proposal, record.party
    parameters = job.task.parameters()
    return {
        "by": record.proposed_by,
        "protocol": job.task.name,
        "purpose": job.purpose,
        "table": record.table,
        "peer_table": job.tables[1 - party],
        "target": job.task.subject,
        "columns": list(job.task.columns),
        "parameters": {name: parameters[name] if name in job.specification else None for name in parameters},
        "digest": job.digest,
        **({"exact": job.task.told_exactly} if job.task.exact else {}),
    }


def disagreements(records: Iterable[Record], entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield where jobs and log say different things: job and field."""
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
            yield f"job {identifier[:8]}: the audit log says that it is archived, and its row is here"
            continue
        for field in _different(record, logged[identifier]):
            yield f"job {identifier[:8]}: {field} is not what the audit log says"
    for identifier, logged_job in logged.items():
        if identifier not in known and identifier not in archived and logged_job.proposed is not None:
            yield f"job {identifier[:8]}: the audit log knows it, and its row is gone"


def _different(record: Record, logged: _Logged) -> Iterator[str]:
    """Yield the fields of a job that are not what the log says."""
    if logged.proposed is None:
        yield "its proposal"
        return
    if record.peer and logged.proposed["peer"] != record.peer:
        yield "its peer"
    present = public(record)
    # Parameters that the kind has got since then have no entry; the digest is of all.
    present["parameters"] = {
        name: value for name, value in present["parameters"].items() if name in logged.proposed["parameters"]
    }
    yield from (name for name, value in present.items() if logged.proposed.get(name) != value)
    theirs = record.theirs.verdict if record.theirs is not None else "waiting"
    for party, verdict in (("us", record.ours.verdict), ("peer", theirs)):
        if logged.verdicts[party] != verdict:
            yield f"the verdict ({party})"
    if list(record.people) != logged.people:
        yield "who of us stands behind it"
    if record.ours.end != (logged.end or ("computed" if logged.finished is not None else "")):
        yield "its end"
    if ([] if record.charged is None else [_booked(record.charged)]) != logged.spent:
        yield "what it has spent"
    if list(map(_booked, record.bits)) != logged.counted:
        yield "the bits that it has opened"
    if record.sessions != logged.sessions:
        yield "the number of its sessions"
    if logged.committed is not None:
        for party, rows, field in (("us", record.fingerprint, "ours"), ("peer", record.peer_rows, "theirs")):
            if rows != logged.committed[field]["rows"]:
                yield f"the commitment to its rows ({party})"
    if logged.signed is not None:
        for party, side, field in (("us", record.ours, "ours"), ("peer", record.theirs, "theirs")):
            if side is None or side.signed is None or side.signed.model_dump() != logged.signed[field]:
                yield f"the signature under its result ({party})"
    if logged.finished is not None and logged.finished.get("repeats", "") != record.repeats:
        yield "the job that it repeats"
    for party, side in (("us", record.ours), ("peer", record.theirs)):
        word = None if side is None or side.withdrawn is None else side.withdrawn.model_dump()
        if logged.withdrawn[party] != word:
            yield f"its withdrawal ({party})"
    if not _is_result(record, logged):
        yield f"its {record.ours.proposal.task.about.noun}"


def _booked(charge: Charge | BitsCharge) -> Fields:
    """Return a charge in the log's precision."""
    fields = {**vars(charge), "at": charge.stamp}
    return fields | ({"uses": [use.entry() for use in charge.uses]} if isinstance(charge, Charge) else {})


def _is_result(record: Record, logged: _Logged) -> bool:
    """Return whether the state on disk is one that opened what the log says, and led to the result that it names."""
    task = record.ours.proposal.task
    try:
        state = task.states.decode(record.tree)
        if any(task.opened(state, step) != logged.opened.get(step) for step in range(task.states.steps(state))):
            return False
        if logged.finished is None:
            return True
        result = outcome.result(record.ours.proposal, state)
        return bool(result[task.about.noun] == logged.finished["outcome"])
    except Exception:  # whatever a state that nobody wrote does to the code that reads it
        return False
