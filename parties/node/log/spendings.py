"""Charges of jobs to our tables: from their records, and from the log alone for archived and lost jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from parties.link.identity import fingerprint
from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.budget.moments import stamp
from parties.node.log.job_events import Event, Unlogged
from parties.node.log.jobs import Jobs
from parties.node.log.store import Record
from parties.node.records import kinds


@dataclass(frozen=True)
class Released:
    """A job's charge to our table's privacy budget: its kind, its digest, the charge."""

    protocol: str
    digest: str
    charge: Charge


@dataclass(frozen=True)
class Left:
    """An archived job: its peer, its digest, and whether it had a result that both parties signed."""

    peer: str
    digest: str
    done: bool


@dataclass(frozen=True)
class Past:
    """Archived jobs, and the charges to our tables by jobs that are archived, or were lost in a rollback."""

    jobs: Mapping[str, Left]
    released: Sequence[Released]
    bits: Sequence[BitsCharge]


class Spendings:
    """The charges to our tables, for noisy answers and for bits."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs, self._log = jobs, jobs.log
        self.reread()

    def reread(self) -> None:
        """Read the charges of absent jobs from the log again, after more jobs were archived or accepted as lost."""
        with self._log.reading():
            entries = {entry.job or "": entry.fields for entry in self._log.audit.of_kind("archived")}
            absent_jobs = {None, *entries}  # a charge without a job belongs to lost jobs
            booked = [entry for entry in self._log.audit.of_kind("spent", "counted") if entry.job in absent_jobs]
            # the entries of archived jobs are empty, but exist
            signed = {entry.job for entry in self._log.audit.of_kind("signed")}
        charges = [Charge.read(entry.job or "", entry.fields) for entry in booked if entry.kind == "spent"]
        self.past = Past(
            {job: Left(fields["peer"], fields["digest"], job in signed) for job, fields in entries.items()},
            [Released(*_kind_and_digest(entries.get(one.job)), one) for one in charges],
            [BitsCharge.read(entry.job or "", entry.fields) for entry in booked if entry.kind == "counted"],
        )

    def released(self) -> list[Released]:
        """Return the charges of all jobs to our tables, archived ones included, oldest first."""
        charged = self._jobs.index.charged
        tasks = ((job.proposal, job.charged) for job in self._since(charged, charged, None))
        own = [Released(job.task.name, job.digest, charge) for job, charge in tasks if charge is not None]
        return [*self.past.released, *own]

    def charges(self, tables: Collection[str], since: datetime | None = None) -> list[Charge]:
        """Return the charges of jobs to our tables, archived ones included, oldest first.

        Args:
            tables: The names of the tables.
            since: Charges that count from an earlier time may be left out; None returns all of them.
        """
        past = (one.charge for one in self.past.released)
        own = (record.charged for record in self._since(self._jobs.index.charged, tables, since))
        return [charge for charge in (*past, *own) if charge is not None and charge.table in tables]

    def bits(self, tables: Collection[str], since: datetime | None = None) -> list[BitsCharge]:
        """Return the bits that exact answers of jobs have opened.

        Args:
            tables: The names of the tables.
            since: Charges that count from an earlier time may be left out; None returns all of them.
        """
        own = (charge for job in self._since(self._jobs.index.exact, tables, since) for charge in job.bits)
        return [charge for charge in (*self.past.bits, *own) if charge.table in tables]

    def tables(self) -> set[str]:
        """Return the names of tables that have charges."""
        index = self._jobs.index
        with self._log.lock:
            past = {one.charge.table for one in self.past.released} | {charge.table for charge in self.past.bits}
            return past | {table for table, jobs in (*index.charged.items(), *index.exact.items()) if jobs}

    def starts(self) -> list[Mapping[str, Any]]:
        """Return the log's fields of each start of the node: among them its tables, and the locations of their rows."""
        with self._log.lock:
            return [entry.fields for entry in self._log.audit.of_kind("node started")]

    def spent(self, record: Record, person: str) -> tuple[Event, Event]:
        """Return the log entry that charges a job's price to our table, and the changes of the job's fields.

        Args:
            record: The job.
            person: Column or SQL that identifies a row's person; empty if none.
        """
        who, uses = self._jobs.who(record), record.task.disclosure.spends
        permit = "" if record.proposal.permit is None else record.proposal.permit.key
        charge = Charge(self._counts_from(record), record.table, who.peer_name, record.id, tuple(uses), person, permit)
        peer_fields = {"table": record.table, "peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer)}
        entry = {**peer_fields, "counts_from": charge.stamp, "uses": [use.entry() for use in uses], "person": person}
        entry |= {"permit": permit} if permit else {}
        return kinds.Charge.model_validate(entry), Unlogged({"charged": charge})

    def counted(self, record: Record, step: int, bits: int) -> tuple[Event, Event]:
        """Return the events that charge the bits of a step's exact answers to our table.

        Args:
            record: The job.
            step: The step.
            bits: Bits of the step.
        """
        who = self._jobs.who(record)
        charge = BitsCharge(self._counts_from(record), record.table, who.peer_name, record.id, step, bits)
        peer_fields = {"table": record.table, "peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer)}
        entry = {**peer_fields, "counts_from": charge.stamp, "depth": step, "bits": bits}
        return kinds.BitsCharge.model_validate(entry), Unlogged({"bits": (*record.bits, charge)})

    def _counts_from(self, record: Record) -> datetime:
        certificate = self._jobs.who(record).identity.certificate
        own_times = [self._log.audit.latest(), certificate.not_valid_before_utc, record.ours.at]
        job_times = [record.proposal.proposed_at, *(other.at for other in record.others if other is not None)]
        return stamp(datetime.now(UTC), own_times, job_times)

    def _since(
        self, charges: Mapping[str, list[tuple[datetime, int]]], tables: Iterable[str], at: datetime | None
    ) -> list[Record]:
        with self._log.lock:
            return list(map(self._jobs.store.at, self._jobs.index.since(charges, tables, at)))


def _kind_and_digest(archived: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the kind and digest of an archived job; those of jobs lost in a rollback are unknown."""
    return ("rollback", "") if archived is None else (archived["protocol"], archived["digest"])
