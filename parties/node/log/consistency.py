"""Whether the jobs on disk are those of the audit log: who changes a row of the one contradicts the other.

The log is checked by itself before (its chain of hashes, its signed head); here the entries of each job are folded
again, and the job is compared with that. What no entry has of a job, such as its times, is under the seal of the tables
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
from parties.node.log.statement import Statement
from parties.node.log.store import Record
from parties.operator.interface import AuditEntry


def disagreements(records: Iterable[Record], entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield where jobs and log say different things: job and field."""
    logged: dict[str, list[AuditEntry]] = defaultdict(list)
    archived = set()
    for entry in entries:
        if entry.kind == "archived":
            archived.add(entry.job)
        if entry.job is not None and entry.fields:
            logged[entry.job].append(entry)
    known = {record.id: record for record in records}
    for identifier, record in known.items():
        if identifier in archived:
            yield f"job {identifier[:8]}: the audit log says that it is archived, and its row is here"
            continue
        for field in _different(record, logged[identifier]):
            yield f"job {identifier[:8]}: {field} is not what the audit log says"
    for identifier, of_job in logged.items():
        if identifier not in known and identifier not in archived and _last(of_job, "proposed") is not None:
            yield f"job {identifier[:8]}: the audit log knows it, and its row is gone"


def _different(record: Record, entries: Sequence[AuditEntry]) -> Iterator[str]:
    """Yield the fields of a job that are not what the log says."""
    proposed = _last(entries, "proposed")
    if proposed is None:
        yield "its proposal"
        return
    if record.peer and proposed["peer"] != record.peer:
        yield "its peer"
    present = public(record)
    # Parameters that the kind has got since then have no entry; the digest is of all.
    present["parameters"] = {
        name: value for name, value in present["parameters"].items() if name in proposed["parameters"]
    }
    yield from (name for name, value in present.items() if proposed.get(name) != value)
    logged, silent = replayed(record, entries), Statement(proposal=record.ours.proposal)
    sides = [
        ("us", record.ours, logged.ours, record.fingerprint, logged.fingerprint),
        ("peer", record.theirs or silent, logged.theirs or silent, record.peer_rows, logged.peer_rows),
    ]
    charged = [Charge.read(record.id, entry.fields) for entry in entries if entry.kind == "spent"]
    finished = _last(entries, "finished")
    pairs: list[tuple[str, Any, Any]] = [
        *((f"the verdict ({party})", here.verdict, there.verdict) for party, here, there, *_ in sides),
        ("who of us stands behind it", record.people, logged.people),
        ("its end", record.ours.end, logged.ours.end),
        ("what it has spent", _booked(filter(None, [record.charged])), _booked(charged)),
        ("the bits that it has opened", _booked(record.bits), _booked(logged.bits)),
        ("the number of its sessions", record.sessions, logged.sessions),
    ]
    if logged.fingerprint:
        pairs += [(f"the commitment to its rows ({party})", rows, known) for party, *_, rows, known in sides]
    if _last(entries, "signed") is not None:
        pairs += [
            (f"the signature under its result ({party})", here.signed, there.signed) for party, here, there, *_ in sides
        ]
    if finished is not None:
        pairs.append(("the job that it repeats", record.repeats, logged.repeats))
    pairs += [(f"its withdrawal ({party})", here.withdrawn, there.withdrawn) for party, here, there, *_ in sides]
    yield from (name for name, here, there in pairs if here != there)
    opened = {entry.fields["depth"]: entry.fields["opened"] for entry in entries if entry.kind == "opened"}
    if not _is_result(record, opened, finished):
        yield f"its {record.ours.proposal.task.about.noun}"


def _last(entries: Iterable[AuditEntry], kind: str) -> Mapping[str, Any] | None:
    """Return the fields of the last entry of a kind; None if there is none."""
    return next((entry.fields for entry in reversed(list(entries)) if entry.kind == kind), None)


def _booked(charges: Iterable[Charge | BitsCharge]) -> list[Mapping[str, Any]]:
    """Return charges in the log's precision."""
    return [
        {**vars(one), "at": one.stamp}
        | ({"uses": [use.entry() for use in one.uses]} if isinstance(one, Charge) else {})
        for one in charges
    ]


def _is_result(record: Record, opened: Mapping[int, Any], finished: Mapping[str, Any] | None) -> bool:
    """Return whether the state on disk is one that opened what the log says, and led to the result that it names."""
    task = record.ours.proposal.task
    try:
        state = task.states.decode(record.tree)
        of_step = task.disclosure.opened
        if any(of_step(state, step) != opened.get(step) for step in range(task.states.steps(state))):
            return False
        if finished is None:
            return True
        result = outcome.result(record.ours.proposal, state)
        return bool(result[task.about.noun] == finished["outcome"])
    except Exception:  # whatever a state that nobody wrote does to the code that reads it
        return False
