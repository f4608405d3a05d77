"""The record of processing activities (GDPR art. 30), from party.toml, its policy and the audit log.

Facts that are not written down are not guessed: they are listed under "missing", with the key of party.toml for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from parties.link.identity import fingerprint
from parties.node.governance.activities import Job, Log, by_purpose
from parties.node.peers import PeerDescription
from parties.node.settings import NodeFile
from parties.operator.interface import AuditEntry, AuditState
from parties.tables.schema import Schema

FORGET = "forget"  # the publication that records the destruction of a subject's key
TERMS = ("legal_basis", "purposes", "subjects", "categories", "retention_days", "access", "erasure", "objection")


@dataclass(frozen=True)
class Evidence:
    """The sources of the documents; `log` is empty and `state` None if no node has run yet."""

    file: NodeFile
    schemas: dict[str, Schema]
    peers: Sequence[PeerDescription]
    log: Log
    state: AuditState | None
    at: str
    software: str


def record(evidence: Evidence) -> dict[str, Any]:
    """Return the record of processing as JSON values: activities, publications, tables, recipients and measures."""
    controller = evidence.file.controller
    return {
        "at": evidence.at,
        "software": evidence.software,
        "log": None if evidence.state is None else evidence.state.model_dump(),
        "controller": controller and controller.model_dump(exclude_none=True),
        "activities": [_activity(evidence, *key, jobs) for key, jobs in by_purpose(evidence.log).items()],
        "refused": dict(Counter(job.refused_by for job in evidence.log.jobs.values() if job.end == "refused")),
        "publications": [
            _publication(evidence, entry) for entry in evidence.log.published if entry.fields["what"] != FORGET
        ],
        "tables": [_table(evidence, name) for name in evidence.file.tables],
        "recipients": _recipients(evidence),
        "measures": list(_measures(evidence)),
        "missing": list(_missing(evidence)),
    }


def _activity(evidence: Evidence, purpose: str, table: str, kind: str, jobs: Sequence[Job]) -> dict[str, Any]:
    settings = evidence.file.tables.get(table)
    rights = None if settings is None else settings.rights
    declared = None if rights is None or not rights.purposes else purpose in rights.purposes
    opened: Counter[str] = Counter()
    for job in jobs:
        opened.update(job.opened)
    return {
        "purpose": purpose,
        "declared": declared,
        "table": table,
        "kind": kind,
        "with": sorted({job.proposed["peer"] for job in jobs}),
        "columns": sorted({column for job in jobs for column in job.proposed["columns"]}),
        "jobs": len(jobs),
        "ends": dict(Counter(job.end or "under way" for job in jobs)),
        "first": jobs[0].at,
        "last": jobs[-1].at,
        "protected_by": dict(Counter(job.protection for job in jobs)),
        "opened": dict(sorted(opened.items())),
    }


def _publication(evidence: Evidence, entry: AuditEntry) -> dict[str, Any]:
    """Return a publication of rows or numbers of our table by a command."""
    fields = entry.fields
    settings = evidence.file.tables.get(fields["table"])
    purposes = () if settings is None or settings.rights is None else settings.rights.purposes
    return {
        "at": entry.at,
        "what": fields["what"],
        "table": fields["table"],
        "purpose": fields["purpose"],
        "declared": fields["purpose"] in purposes if purposes else None,
        "columns": fields["columns"],
        "protected_by": fields["protection"],
        "digest": fields["digest"],
        "into": fields["into"],
    }


def _table(evidence: Evidence, name: str) -> dict[str, Any]:
    table, schema = evidence.file.tables[name], evidence.schemas[name]
    erased = [
        entry.at for entry in evidence.log.published if (entry.fields["what"], entry.fields["table"]) == (FORGET, name)
    ]
    rights = None if table.rights is None else table.rights.model_dump(exclude_none=True)
    return {
        "table": name,
        "columns": list(schema.attributes),
        "most_rows": table.max_rows,
        "budget": None if table.budget is None else table.budget.words,
        "combine": table.combine,
        "rights": rights,
        "keys_destroyed": erased,
    }


def _recipients(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the recipients of results: the peers of party.toml, and the peers of computed jobs in the log."""
    current = {
        (peer.name or "", fingerprint(peer.certificate)): peer.settings
        for peer in evidence.peers
        if peer.certificate is not None
    }
    computed = {
        (job.proposed["peer"], job.proposed["peer_fingerprint"]) for job in evidence.log.jobs.values() if job.started
    }
    recipients: list[dict[str, Any]] = []
    for name, print_ in sorted(computed | set(current)):
        row: dict[str, Any] = {"name": name, "fingerprint": print_, "receives": "results of joint jobs, never rows"}
        if (settings := current.get((name, print_))) is not None:
            row |= {"roles": list(settings.roles), "attributes": settings.attributes}
            row |= settings.model_dump(include={"contact", "transfer"}, exclude_none=True)
        recipients.append(row)
    return recipients


def _measures(evidence: Evidence) -> Iterator[str]:
    """Yield technical and organisational measures (art. 32) in force by this file and this program."""
    file = evidence.file
    yield "Rows stay where they are: only encrypted data and random shares are exchanged (128 bits; statistically 40)."
    yield "The link is mutual TLS; each party trusts one certificate of the other, which is pinned."
    yield "Each party consents to each job, by its operator or by a rule, before anything is computed."
    for rule in file.policy:
        yield f"Rule “{rule.name}”: {rule.words()}."
    if not file.policy:
        yield "There are no rules: the operator decides on every job."
    if (people := file.node.approvals) > 1:
        yield (
            f"{people} different people must approve each job of ours, and each of a peer's that no rule permits; "
            "the proposer is one of them."
        )
    for name, table in file.tables.items():
        if table.budget is not None:
            yield f"Privacy budget of table “{name}”: {table.budget.words}; a job that does not fit is refused."
    yield "The operator's page and interface can be reached from this machine only."
    yield "The audit log is a chain of hashes with a signed head; it holds no row and no count of rows."
    if evidence.state is not None:
        whole = "whole" if evidence.state.ok else f"not whole: {evidence.state.problems[0]}"
        yield f"The log was checked for this record: {evidence.state.entries} entries, {whole}."


def _missing(evidence: Evidence) -> Iterator[str]:
    """Yield the facts that art. 30 requires and party.toml lacks, with their keys."""
    file = evidence.file
    if file.controller is None:
        yield "who the controller is: [controller] name, contact"
    elif file.controller.officer is None:
        yield "the data protection officer, where there must be one: controller.officer"
    for number, peer in enumerate(evidence.peers):
        key, recipient = (f"peers.{number}", f"recipient {peer.name}") if file.peers else ("peer", "recipient")
        if peer.certificate is not None and peer.settings.contact is None:
            yield f"how the {recipient} can be reached: {key}.contact"
        if peer.certificate is not None and peer.settings.transfer is None:
            yield f"whether the {recipient} is in a third country, and on what ground data go there: {key}.transfer"
    for name, table in file.tables.items():
        if table.rights is None:
            yield f"the rights of the people in table {name}: [tables.{name}.rights]"
            continue
        for term in TERMS:
            if not getattr(table.rights, term):
                yield f"of table {name}: tables.{name}.rights.{term}"
    for entry in evidence.log.published:
        settings = file.tables.get(entry.fields["table"])
        erasure_rule = None if settings is None or settings.rights is None else settings.rights.erasure
        if entry.fields["what"] == FORGET and erasure_rule != "key destroyed":
            erasure = "nothing" if erasure_rule is None else f"“{erasure_rule}”"
            yield f"why a key of table {entry.fields['table']} was destroyed: its rights.erasure says {erasure}"
    if any(entry.fields["what"] != FORGET for entry in evidence.log.published):
        yield "to whom the published files were given, which no log knows"
    used_tables = {job.proposed["table"] for job in evidence.log.jobs.values() if job.started}
    used_tables |= {job.table for job in evidence.log.archived}
    for name in sorted(used_tables - {*file.tables, ""}):
        yield f"all of table {name}, which jobs have used and party.toml no longer names"
    if evidence.state is None:
        yield "what was done so far: no node has run with this file yet"
