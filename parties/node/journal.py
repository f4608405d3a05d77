"""What of a job goes into the audit log, event by event, and our signature under a result.

Called inside the ledger's transaction: a change and its entry are written together.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parties.jobs.kind import State
from parties.jobs.spending import Loss
from parties.link.identity import fingerprint
from parties.node import consistency, outcome, records
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.budget.moments import stamp
from parties.node.commitment import Commitments
from parties.node.peers import Peers, Who
from parties.node.proposal import Proposal
from parties.node.records import Evidence, Head, Signed, Withdrawal
from parties.node.records.chain import Checked
from parties.node.records.export import to_archive
from parties.node.records.kinds import PEER_FAILED, EntryKind, Side
from parties.node.records.marker import remember
from parties.node.statement import Statement
from parties.node.store import Record
from parties.operator.interface import AuditEntry
from parties.operator.people import acting


@dataclass(frozen=True)
class Released:
    """What a job has spent of our table's privacy: its kind, its digest, the charge."""

    protocol: str
    digest: str
    charge: Charge


@dataclass(frozen=True)
class Left:
    """A job that is archived: its peer, its digest, and whether it had a result that both signed."""

    peer: str
    digest: str
    done: bool


@dataclass(frozen=True)
class Past:
    """Jobs that are archived; and what was spent of our tables by them, or by jobs that are lost."""

    jobs: Mapping[str, Left]
    released: Sequence[Released]
    bits: Sequence[BitsCharge]


class Journal:
    """The audit log of a node, in the terms of its jobs."""

    def __init__(self, connection: sqlite3.Connection, peers: Peers) -> None:
        self._peers = peers
        self._log = records.AuditLog(connection, peers.identity)

    def entries(self, last: int, before: int | None) -> list[AuditEntry]:
        """Return the last entries, the newest first."""
        return self._log.entries(last, before)

    @property
    def bytes(self) -> int:
        """The bytes, about, that this process has added to the log."""
        return self._log.bytes

    def verify(self) -> Checked:
        """Check that the log is whole, and the peers' signatures in it are the peers'."""
        return self._log.checked([who.peer for who in self._peers])

    def head(self) -> Head:
        """Return the last entry's number and hash."""
        return self._log.head()

    def peers_of_jobs(self) -> dict[str, str]:
        """Return the names of the jobs' peers, as their first entries have them."""
        proposed = (entry for entry in self._log.of_kind("proposed") if entry.fields)
        return {entry.job or "": entry.fields["peer"] for entry in proposed}

    def remember(self, marker: Path) -> None:
        """Write down, beside the log, how far it has come."""
        remember(marker, self._log)

    def evidence(self) -> Evidence:
        """Return our signed head."""
        return self._log.evidence()

    def has(self, head: Head) -> bool:
        """Return whether our log has this entry."""
        return self._log.has(head)

    def rolled_back(self, whose: Side, who: Who, head: Head) -> bool:
        """Record once that a log lacks an entry its owner has signed; return whether our operator has accepted it."""
        fields = {"whose": whose, **_whom(who), **head.model_dump()}
        if not any(entry.fields == fields for entry in self._log.of_kind("rolled back")):
            self._log.append("rolled back", None, fields)
        return any(entry.fields == fields for entry in self._log.of_kind("rollback accepted"))

    def lacking(self) -> str:
        """Return with which peer it was found that our log lacks an entry, unless our operator has accepted that."""
        return next((fields["peer"] for fields in self._log.rollbacks() if fields["whose"] == "us"), "")

    def past(self) -> Past:
        """Return what the log still says of jobs that are archived, and of those that were lost in a rollback."""
        entries = self._log.of_kind("archived")
        jobs = {entry.job or "": entry.fields for entry in entries}
        spent = [entry for entry in self._log.of_kind("spent") if entry.job is None or entry.job in jobs]
        counted = [entry for entry in self._log.of_kind("counted") if entry.job is None or entry.job in jobs]
        signed = {entry.job for entry in self._log.of_kind("signed")}  # without content, but there
        charges = [Charge.read(entry.job or "", entry.fields) for entry in spent]
        return Past(
            {job: Left(fields["peer"], fields["digest"], job in signed) for job, fields in jobs.items()},
            [Released(*_released(jobs.get(one.job)), one) for one in charges],
            [BitsCharge.read(entry.job or "", entry.fields) for entry in counted],
        )

    def starts(self) -> list[Mapping[str, Any]]:
        """Return the fields of each start of the node."""
        return [entry.fields for entry in self._log.of_kind("node started")]

    def archive_lines(self, record: Record) -> str:
        """Return the lines that a job leaves as: what is kept of it, and its entries."""
        return to_archive(record.id, record.model_dump(mode="json"), self._log.of_job(record.id))

    def archived(self, record: Record, lines: str) -> None:
        """Let a job leave the log, whose lines are in a file."""
        job, content = record.ours.proposal, hashlib.sha256(lines.encode()).hexdigest()
        fields = {"peer": record.peer, "protocol": job.task.name, "digest": job.digest, "table": record.table}
        self._log.archive(record.id, {**fields, "content": content})

    def revoke(self, who: Who, why: str) -> None:
        """Record that a peer's certificate is trusted no more."""
        self._log.append("pin revoked", None, {**_whom(who), "why": why, **_person("us")})

    def revoked(self) -> frozenset[str]:
        """Return the fingerprints of certificates that are trusted no more."""
        return frozenset(entry.fields["peer_fingerprint"] for entry in self._log.of_kind("pin revoked"))

    def replaced(self, who: Who) -> None:
        """Record that the peer's new certificate counts from here on."""
        former, whom = fingerprint(who.peer), _whom(who.succeeded)
        self._log.append("pin replaced", None, {**whom, "former_fingerprint": former})

    def is_replaced(self, who: Who) -> bool:
        """Return whether the peer has come with its new certificate before."""
        if who.successor is None:
            return False
        prints = fingerprint(who.peer), fingerprint(who.successor.certificate)
        known = (entry.fields for entry in self._log.of_kind("pin replaced"))
        return any((fields["former_fingerprint"], fields["peer_fingerprint"]) == prints for fields in known)

    def reviewed(self) -> frozenset[str]:
        """Return the jobs for an emergency that somebody has reviewed."""
        return frozenset(entry.job or "" for entry in self._log.of_kind("reviewed"))

    def names(self) -> dict[str, str]:
        """Return the names under which the log knows peers' certificates: the last one of each fingerprint."""
        names = {}
        for entry in self._log.of_kind("connected", "proposed"):
            if not entry.fields:  # archived
                continue
            print_ = entry.fields.get("fingerprint") or entry.fields.get("peer_fingerprint")
            names[str(print_)] = str(entry.fields["peer"])
        return names

    def note(self, kind: EntryKind, fields: Mapping[str, Any]) -> None:
        """Record what concerns no job."""
        self._log.append(kind, None, fields)

    def proposed(self, record: Record, who: Who, address: str | None) -> None:
        """Record a new job, and what has been said of it."""
        self._log.append(
            "proposed",
            record.id,
            {**_whom(who), "address": address, **_person(record.proposed_by), **consistency.public(record)},
        )
        self.heard(record, None)
        self.verdict(record.id, "us", record.ours, record.reason)

    def heard(self, record: Record, before: Statement | None) -> None:
        """Record what the peer says of a job now that it did not say before."""
        theirs = record.theirs
        if theirs is None:
            return
        if before is None or before.verdict != theirs.verdict:
            self.verdict(record.id, "peer", theirs)
        if theirs.end in ("cancelled", "failed") and (before is None or before.end in ("", "computed")):
            self.ended(record, "peer", theirs)

    def verdict(self, identifier: str, party: Side, statement: Statement, reason: str = "", by: str = "") -> None:
        """Record that a party has consented or declined; `by` is who, if the peer is not told that."""
        if statement.verdict != "waiting":
            fields = {"party": party, "verdict": statement.verdict, "by": by or statement.by, **_person(party)}
            self._log.append("decided", identifier, {**fields, "reason": reason or statement.why})

    def approved(self, record: Record, person: str, needed: int) -> None:
        """Record that one of our people has approved a job, and more have to, or has typed again what it asks for."""
        given = len(record.people)
        self._log.append("approved", record.id, {"person": person, "given": given, "needed": needed})

    def started(self, record: Record, depth: int, profile: str, address: str | None) -> None:
        """Record that a session has begun, at this depth."""
        fields = {"digest": record.ours.proposal.digest, "depth": depth, "profile": profile, "address": address}
        self._log.append("started", record.id, fields)

    def committed(self, record: Record, commitments: Commitments) -> None:
        """Record that both have committed to their rows."""
        fields = {"ours": commitments.ours.model_dump(), "theirs": commitments.theirs.model_dump()}
        self._log.append("committed", record.id, fields)

    def spent(self, record: Record, who: Who, uses: Sequence[Loss], person: str = "") -> Charge:
        """Book what the job spends of our table's privacy, of rows or of people; return the charge."""
        charge = Charge(self._counts_from(record), record.table, who.peer_name, record.id, tuple(uses), person)
        entries = [use.entry() for use in uses]
        fields = {"table": record.table, **_whom(who), "counts_from": charge.stamp, "uses": entries}
        fields |= {"person": person} if person else {}
        self._log.append("spent", record.id, fields)
        return charge

    def counted(self, record: Record, who: Who, step: int, bits: int) -> BitsCharge:
        """Book the bits of exact answers that a step of the job opens of our table; return the charge."""
        charge = BitsCharge(self._counts_from(record), record.table, who.peer_name, record.id, step, bits)
        fields = {"table": record.table, **_whom(who), "counts_from": charge.stamp, "depth": step, "bits": bits}
        self._log.append("counted", record.id, fields)
        return charge

    def _counts_from(self, record: Record) -> datetime:
        """Return the moment from which what a job spends counts, if it is charged now."""
        known = [self._log.latest(), self._peers.identity.certificate.not_valid_before_utc, record.ours.at]
        moments = [record.ours.proposal.proposed_at, None if record.theirs is None else record.theirs.at]
        return stamp(datetime.now(UTC), known, moments)

    def opened(self, record: Record, state: State, steps: range) -> None:
        """Record that a session has opened these steps."""
        for step in steps:
            kinds = record.ours.proposal.task.opened(state, step)
            self._log.append("opened", record.id, {"depth": step, "opened": kinds})

    def interrupted(self, record: Record, why: str) -> None:
        """Record that a session was cut short."""
        sizes = {name: record.current[name] for name in ("bytes_sent", "bytes_received")}
        self._log.append("interrupted", record.id, {"why": why, "depth": record.depth, **sizes})

    def finished(self, record: Record, result: Mapping[str, Any]) -> None:
        """Record the result."""
        spent = outcome.added(record.spent, record.current)
        self._log.append(
            "finished",
            record.id,
            {
                "outcome": result[record.ours.proposal.task.about.noun],
                "opened": result["opened"],
                "repeats": record.repeats,
                **spent,
            },
        )

    def ended(self, record: Record, party: Side, statement: Statement, error: BaseException | None = None) -> None:
        """Record that a party has cancelled the job, or that it has failed there."""
        spent = outcome.added(record.spent, record.current)
        sizes = {name: spent[name] for name in ("bytes_sent", "bytes_received")}
        if statement.end == "cancelled":
            self._log.append("cancelled", record.id, {"by": party, "why": statement.why, **_person(party), **sizes})
        elif error is not None:
            self._log.append("failed", record.id, {**records.failure(error), **sizes})
        else:
            self._log.append("failed", record.id, {"error": PEER_FAILED, "why": statement.why, **sizes})

    def sign(self, result: dict[str, Any]) -> Signed:
        """Sign the result and the last entry of our audit log."""
        unsigned = Signed(result=result, head=self._log.head(), signature="0" * 128)
        return unsigned.model_copy(update={"signature": records.sign(self._peers.identity, unsigned.document()).hex()})

    def withdrawn(self, job: Proposal, who: Who, by: Side, word: Withdrawal) -> None:
        """Record that a party has withdrawn the job's result."""
        signer = who.identity.certificate
        if by == "peer":
            signer = who.signer(lambda certificate: word.is_signed_by(certificate, job.digest)) or who.peer
        fields = {"by": by, "signer": fingerprint(signer), "digest": job.digest, "word": word.model_dump()}
        self._log.append("withdrawn", job.id, fields | _person(by))

    def has_withdrawn(self, job: str) -> bool:
        """Return whether the peer's withdrawal of an archived job's result is recorded."""
        return any(entry.job == job and entry.fields.get("by") == "peer" for entry in self._log.of_kind("withdrawn"))

    def signed(self, record: Record, who: Who) -> None:
        """Keep both signatures, once both are there."""
        assert record.ours.signed is not None
        assert record.theirs is not None
        assert record.theirs.signed is not None
        ours, theirs = record.ours.signed, record.theirs.signed
        both = {"ours": ours.model_dump(), "theirs": theirs.model_dump()}
        signer = who.signer(theirs.is_signed_by) or who.peer
        self._log.append("signed", record.id, {**both, "peer_fingerprint": fingerprint(signer)})


def _released(archived: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the kind of a job and its digest; of one that was lost in a rollback neither is known."""
    return ("rollback", "") if archived is None else (archived["protocol"], archived["digest"])


def _person(side: Side) -> dict[str, str]:
    """Return the name of whoever of ours acts; the peer's people are not known here."""
    return {"person": acting.get()} if side == "us" and acting.get() else {}


def _whom(who: Who) -> dict[str, str]:
    return {"peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer)}
