"""Rows that earlier jobs have matched: a node keeps their keys for later jobs, and removes them after some hours."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

from parties.base.text import quoted
from parties.jobs.hidden_rows import HiddenTerms
from parties.jobs.inputs import Matching
from parties.node.exchanges import commitment
from parties.node.log.jobs import Jobs
from parties.node.log.store import Record
from parties.node.offers import Offers
from parties.node.records.sidecar_files import SidecarFiles, read_archive
from smc.errors import InputError

LATEST, WHOLE = "latest", 32


def named(records: Iterable[Record], peer: str, table: str, job: str) -> tuple[Record, int | HiddenTerms]:
    """Return the job that has matched rows, with their number, or the terms of hidden rows.

    Args:
        records: Jobs that are done, the newest first.
        peer: Name of the peer.
        table: Name of our table.
        job: As for `Matchings.find`.

    Raises:
        InputError: No such job, or more than one, has matched rows for both parties.
    """
    some = ((one, _rows(one, peer, table)) for one in records if job in (LATEST, one.id[: len(job)]))
    fitting = list(islice(((one, rows) for one, rows in some if rows is not None), 1 if job == LATEST else 2))
    if len(fitting) != 1:
        which = "no job" if job == LATEST else f"{'more than one' if fitting else 'no'} job {quoted(job[:8])}"
        remedy = "propose align exact first" if job == LATEST else "name one job of smc align"
        raise InputError(
            f"alignment: {which} has matched rows of this table and of the peer's for both parties; {remedy}"
        )
    return fitting[0]


def _rows(record: Record, peer: str, table: str) -> int | HiddenTerms | None:
    """Return the number of rows that a job has matched for both parties; None if it has not, or not of these."""
    is_withdrawn = record.said_by("us").withdrawn is not None or record.said_by("peer").withdrawn is not None
    if is_withdrawn or (record.peer, record.table) != (peer, table):
        return None
    return record.task.matched_rows(record.task.states.decode(record.tree))


class Matchings:
    """The rows that the jobs of a node have matched."""

    def __init__(self, jobs: Jobs, offers: Offers) -> None:
        self._jobs, self._offers = jobs, offers
        self._place = SidecarFiles(jobs.log.path)

    def find(self, peer: str, table: str, job: str) -> Matching:
        """Return the rows that a job has matched.

        Args:
            peer: Name of the peer.
            table: Name of our table.
            job: Identifier of the job or its beginning; `latest` for the newest job that fits.

        Raises:
            InputError: No such job, or more than one, has matched rows for both parties, or they are kept no longer.
        """
        records = self._jobs.all() if len(job) != WHOLE else filter(None, [self._jobs.known(job)])
        done = (one for one in records if self._jobs.state(one) == "done")
        record, rows = named(done, peer, table, job)
        self._expire(record)
        if not self._place.own_result(record.id).exists():
            raise InputError(
                f"alignment: the rows that job {record.id[:8]} has matched are kept no longer; propose "
                f"{record.task.name} anew"
            )
        return Matching(record.id, rows, partial(self._read, record))

    def expire(self) -> None:
        """Remove the rows of jobs that ended more than `aligned_hours` ago."""
        for path in self._place.own_result("").parent.glob("*.csv"):
            if (record := self._jobs.known(path.stem)) is not None:
                self._expire(record)

    def _expire(self, record: Record) -> None:
        oldest = datetime.now(UTC) - timedelta(hours=self._offers.aligned_hours)
        if record.ended_at is not None and datetime.fromisoformat(record.ended_at) < oldest:
            self._place.remove_own_result(record.id)

    def _read(self, record: Record) -> str:
        """Return our part of a job's matched rows. Raise InputError if the table's keys have changed."""
        key = bytes.fromhex(commitment.keys(self._jobs.log.peers.identity, record.id)["rows"])  # of our commitment
        with record.task.open(self._offers.inputs(record.party, record.table)) as opened:
            assert opened.fingerprint is not None
            if opened.fingerprint(key).hex() != record.fingerprint:
                raise InputError(
                    f"tables.{record.table}: its key columns, or this node's key, have changed since job "
                    f"{record.id[:8]} matched its rows; propose {record.task.name} anew"
                )
        return read_archive(self._place.own_result(record.id), self._place.database).decode()
