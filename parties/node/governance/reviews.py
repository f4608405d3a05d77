"""Jobs begun for an emergency, which must be reviewed afterwards, from the audit log."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from parties.node.governance.activities import ENDS
from parties.operator.interface import AuditEntry


@dataclass
class Emergency:
    """An emergency job: its purpose, peer and time, our people who proposed or approved it, and the reviews."""

    job: str
    at: str
    purpose: str
    peer: str
    protocol: str
    people: set[str] = field(default_factory=set)
    reviews: list[tuple[str, str, str]] = field(default_factory=list)  # time, person and finding
    has_begun: bool = False
    has_ended: bool = False


def read(entries: Iterable[AuditEntry], purposes: Collection[str]) -> dict[str, Emergency]:
    """Return the jobs begun for one of these purposes, by identifier, oldest first.

    Args:
        entries: Entries of the log, oldest first.
        purposes: Purposes of emergencies.
    """
    emergencies: dict[str, Emergency] = {}
    for entry in entries:
        if entry.job is None:
            continue
        fields = entry.fields
        if entry.kind == "proposed" and fields.get("purpose") in purposes:  # an archived entry has no purpose
            facts = (fields["purpose"], fields["peer"], fields["protocol"])
            emergencies[entry.job] = Emergency(entry.job, entry.at, *facts)
        if (emergency := emergencies.get(entry.job)) is None:
            continue
        if entry.kind in ("proposed", "approved", "decided") and fields.get("person"):
            emergency.people.add(fields["person"])
        emergency.has_begun |= entry.kind == "started"
        emergency.has_ended |= entry.kind in ENDS or fields.get("verdict") == "refused"
        if entry.kind == "reviewed":
            emergency.reviews.append((entry.at, fields["person"], fields["text"]))
    return {job: emergency for job, emergency in emergencies.items() if emergency.has_begun}
