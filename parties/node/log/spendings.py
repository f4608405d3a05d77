"""What jobs have spent of our tables: by their records, and by the log alone of those that have left or were lost."""

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


class Spendings:
    """The charges of our tables, of noise and of bits."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs, self._log = jobs, jobs.log
        self.reread()

    def reread(self) -> None:
        """Read what the log says of jobs that are not here: more have left, or are accepted as lost."""
        with self._log.reading():
            entries = {entry.job or "": entry.fields for entry in self._log.audit.of_kind("archived")}
            gone = {None, *entries}  # a charge of no job is of those that were lost
            booked = [entry for entry in self._log.audit.of_kind("spent", "counted") if entry.job in gone]
            signed = {entry.job for entry in self._log.audit.of_kind("signed")}  # without content, but there
        charges = [Charge.read(entry.job or "", entry.fields) for entry in booked if entry.kind == "spent"]
        self.past = Past(
            {job: Left(fields["peer"], fields["digest"], job in signed) for job, fields in entries.items()},
            [Released(*_kind_and_digest(entries.get(one.job)), one) for one in charges],
            [BitsCharge.read(entry.job or "", entry.fields) for entry in booked if entry.kind == "counted"],
        )

    def released(self) -> list[Released]:
        """Return what every job has spent of our tables, archived ones too, the oldest first."""
        charged = self._jobs.index.charged
        tasks = ((job.ours.proposal, job.charged) for job in self._since(charged, charged, None))
        own = [Released(job.task.name, job.digest, charge) for job, charge in tasks if charge is not None]
        return [*self.past.released, *own]

    def charges(self, tables: Collection[str], since: datetime | None = None) -> list[Charge]:
        """Return what jobs have spent of our tables, archived ones too, the oldest first.

        Args:
            tables: the names that stand for the tables.
            since: charges that count from a moment before may be left out; None for all of them.
        """
        past = (one.charge for one in self.past.released)
        own = (record.charged for record in self._since(self._jobs.index.charged, tables, since))
        return [charge for charge in (*past, *own) if charge is not None and charge.table in tables]

    def bits(self, tables: Collection[str], since: datetime | None = None) -> list[BitsCharge]:
        """Return the bits that exact answers of jobs have opened; the arguments are those of `charges`."""
        own = (charge for job in self._since(self._jobs.index.exact, tables, since) for charge in job.bits)
        return [charge for charge in (*self.past.bits, *own) if charge.table in tables]

    def tables(self) -> set[str]:
        """Return the names of tables under which anything was charged."""
        index = self._jobs.index
        with self._log.lock:
            past = {one.charge.table for one in self.past.released} | {charge.table for charge in self.past.bits}
            return past | {table for table, jobs in (*index.charged.items(), *index.exact.items()) if jobs}

    def starts(self) -> list[Mapping[str, Any]]:
        """Return what the log says of each start of the node: which tables there were, and of which rows."""
        with self._log.lock:
            return [entry.fields for entry in self._log.audit.of_kind("node started")]

    def spent(self, record: Record, person: str) -> tuple[Event, Event]:
        """Return the events that a job spends what its kind says of our table, of whose rows `person` says."""
        who, uses = self._jobs.who(record), record.ours.proposal.task.disclosure.spends
        charge = Charge(self._counts_from(record), record.table, who.peer_name, record.id, tuple(uses), person)
        whom = {"table": record.table, "peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer)}
        entry = {**whom, "counts_from": charge.stamp, "uses": [use.entry() for use in uses], "person": person}
        return kinds.Charge.model_validate(entry), Unlogged({"charged": charge})

    def counted(self, record: Record, step: int, bits: int) -> tuple[Event, Event]:
        """Return the events that a step of a job opens bits of exact answers about our table."""
        who = self._jobs.who(record)
        charge = BitsCharge(self._counts_from(record), record.table, who.peer_name, record.id, step, bits)
        whom = {"table": record.table, "peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer)}
        entry = {**whom, "counts_from": charge.stamp, "depth": step, "bits": bits}
        return kinds.BitsCharge.model_validate(entry), Unlogged({"bits": (*record.bits, charge)})

    def _counts_from(self, record: Record) -> datetime:
        """Return the moment from which what a job spends counts, if it is charged now."""
        certificate = self._jobs.who(record).identity.certificate
        known = [self._log.audit.latest(), certificate.not_valid_before_utc, record.ours.at]
        moments = [record.ours.proposal.proposed_at, None if record.theirs is None else record.theirs.at]
        return stamp(datetime.now(UTC), known, moments)

    def _since(
        self, charges: Mapping[str, list[tuple[datetime, int]]], tables: Iterable[str], at: datetime | None
    ) -> list[Record]:
        with self._log.lock:
            return list(map(self._jobs.store.at, self._jobs.index.since(charges, tables, at)))


def _kind_and_digest(archived: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the kind of a job and its digest; of one that was lost in a rollback neither is known."""
    return ("rollback", "") if archived is None else (archived["protocol"], archived["digest"])
