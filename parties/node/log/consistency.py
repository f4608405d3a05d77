"""Comparison of the jobs on disk with the audit log: a changed row of one contradicts the other.

The log itself is checked before (its chain of hashes, its signed head). Here the entries of each job are folded again,
and the job is compared with the result. Fields without an entry, such as times, are protected by the seal of the tables
(`records.seal`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.log import outcome
from parties.node.log.job_events import public, replayed
from parties.node.log.store import Record
from parties.operator.interface import AuditEntry


def disagreements(records: Iterable[Record], entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield the differences between jobs and log: job and field.

    Args:
        records: The jobs on disk.
        entries: The entries of the log.
    """
    logged: dict[str, list[AuditEntry]] = defaultdict(list)
    archived = set()
    for entry in entries:
        if entry.kind == "archived":
            archived.add(entry.job)
        if entry.job is not None and entry.fields:
            logged[entry.job].append(entry)
    by_id = {record.id: record for record in records}
    for identifier, record in by_id.items():
        if identifier in archived:
            yield f"job {identifier[:8]}: the audit log has it as archived, but its row is here"
            continue
        for field in _different(record, logged[identifier]):
            yield f"job {identifier[:8]}: {field} is not what the audit log says"
    for identifier, of_job in logged.items():
        if identifier not in by_id and identifier not in archived and _last(of_job, "proposed") is not None:
            yield f"job {identifier[:8]}: it is in the audit log, but its row is gone"


def _different(record: Record, entries: Sequence[AuditEntry]) -> Iterator[str]:
    proposed = _last(entries, "proposed")
    if proposed is None:
        yield "its proposal"
        return
    if record.peer and proposed["peer"] != record.peer:
        yield "its peer"
    present = public(record)
    # Parameters added to the kind since then have no entry; the digest covers all.
    present["parameters"] = {
        name: value for name, value in present["parameters"].items() if name in proposed["parameters"]
    }
    yield from (name for name, value in present.items() if proposed.get(name) != value)
    logged = replayed(record, entries)
    sides = [(side, record.said_by(side), logged.said_by(side)) for side in record.participants]
    charged = [Charge.read(record.id, entry.fields) for entry in entries if entry.kind == "spent"]
    finished = _last(entries, "finished")
    pairs: list[tuple[str, Any, Any]] = [
        *((f"the verdict ({party})", here.verdict, there.verdict) for party, here, there in sides),
        ("the people of ours who approved it", record.people, logged.people),
        ("its end", record.ours.end, logged.ours.end),
        ("what it has spent", _booked(filter(None, [record.charged])), _booked(charged)),
        ("the bits that it has opened", _booked(record.bits), _booked(logged.bits)),
        ("the number of its sessions", record.sessions, logged.sessions),
    ]
    if logged.fingerprint:
        pairs += [
            (f"the commitment to its rows ({party})", participant.rows, logged.participants[party].rows)
            for party, participant in record.participants.items()
        ]
    if _last(entries, "signed") is not None:
        pairs += [
            (f"the signature under its result ({party})", here.signed, there.signed) for party, here, there in sides
        ]
    if finished is not None:
        pairs.append(("the job that it repeats", record.repeats, logged.repeats))
    pairs += [(f"its withdrawal ({party})", here.withdrawn, there.withdrawn) for party, here, there in sides]
    yield from (name for name, here, there in pairs if here != there)
    opened = {entry.fields["depth"]: entry.fields["opened"] for entry in entries if entry.kind == "opened"}
    if not _is_result(record, opened, finished):
        yield f"its {record.task.about.noun}"


def _last(entries: Iterable[AuditEntry], kind: str) -> Mapping[str, Any] | None:
    return next((entry.fields for entry in reversed(list(entries)) if entry.kind == kind), None)


def _booked(charges: Iterable[Charge | BitsCharge]) -> list[Mapping[str, Any]]:
    return [
        {**vars(one), "at": one.stamp}
        | ({"uses": [use.entry() for use in one.uses]} if isinstance(one, Charge) else {})
        for one in charges
    ]


def _is_result(record: Record, opened: Mapping[int, Any], finished: Mapping[str, Any] | None) -> bool:
    """Return whether the state on disk opened the values in the log, and led to the result that the log names."""
    task = record.task
    try:
        state = task.states.decode(record.tree)
        of_step = task.disclosure.opened
        if any(of_step(state, step) != opened.get(step) for step in range(task.states.steps(state))):
            return False
        if finished is None:
            return True
        result = outcome.result(record.proposal, state)
        return bool(result[task.about.noun] == finished["outcome"])
    except Exception:  # a forged state may raise anything in the code that reads it
        return False
