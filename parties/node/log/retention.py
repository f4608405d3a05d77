"""Retention of jobs: those that ended long enough ago are moved from the node's database to an archive file.

Each is written as lines of JSON (`records.export.to_archive`): the node's record of it, result and texts, and its log
entries. The log keeps an entry `archived`, the hashes that chain the entries, and the job's charges to a budget.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from parties.node.log.jobs import Jobs
from parties.node.log.spendings import Spendings
from parties.node.log.store import Record, has_news
from parties.node.records import database
from parties.node.records.export import to_archive
from parties.node.records.sidecar_files import SidecarFiles

# additional time for a peer that has not heard of a job's end; after it the peer hears a refusal
PATIENCE = timedelta(days=31)

Days = Callable[[str], int | None]  # how many days jobs on a table are kept; None: for ever


@dataclass(frozen=True)
class Archived:
    """The archived jobs, and the path of their file."""

    path: Path
    jobs: int

    def __str__(self) -> str:
        return f"{self.jobs} job{'' if self.jobs == 1 else 's'} in {self.path}"


class Retention:
    """Moves jobs that ended long ago from the node's database to archive files.

    If `overwritten` is False, a reader of the database kept its write-ahead log from being emptied. The log may then
    contain archived jobs until a later call of `archive` empties it.
    """

    def __init__(self, jobs: Jobs, spendings: Spendings) -> None:
        self._jobs, self._log, self._spendings = jobs, jobs.log, spendings
        self.overwritten = True

    def archive(
        self, days: Days, folder: Path, out: Path | None = None, emergency: Collection[str] = ()
    ) -> Archived | None:
        """Move the jobs whose retention has ended to a new file.

        Jobs that have begun for a purpose in `emergency` stay until they are reviewed. The file is on the disk before a
        job is removed; a crash between the two leaves a copy.

        Args:
            days: Number of days that jobs on a table are kept.
            folder: Folder of the new file.
            out: Path of the new file, in place of one in the folder.
            emergency: Purposes whose jobs need a review first.

        Returns:
            The archived jobs; None if there are none.

        Raises:
            InputError: The file cannot be written; then all jobs stay.
        """
        moment = datetime.now(UTC)
        with self._log.reading():
            all_jobs = self._jobs.store.all()
            begun = {job.id for job in all_jobs if job.sessions and job.proposal.purpose in emergency}
            reviewed = {entry.job for entry in self._log.audit.of_kind("reviewed")} if emergency else set()
            if not (leaving := due(all_jobs, days, moment, begun - reviewed)):
                self._overwrite()
                return None
            path, is_there = out or new_file(folder, moment), False
            try:
                with self._log.writing():
                    self._log.connection.execute("BEGIN IMMEDIATE")  # commands write about these jobs before or after
                    texts = [
                        to_archive(job.id, job.model_dump(mode="json"), self._log.audit.of_job(job.id))
                        for job in leaving
                    ]
                    beside = SidecarFiles(folder.parent / database.FILE_NAME)
                    beside.write_archive(path, "".join(texts).encode())
                    is_there = True
                    for record, text in zip(leaving, texts, strict=True):
                        self._jobs.archive(record, hashlib.sha256(text.encode()).hexdigest())
            except Exception:  # not at an interruption, which may come after the commit
                if is_there:
                    path.unlink(missing_ok=True)
                raise
            for record in leaving:
                beside.remove_own_result(record.id)
            self._spendings.reread()
            self._overwrite()
        return Archived(path, len(leaving))

    def _overwrite(self) -> None:
        """Empty the write-ahead log, which may contain content overwritten in the database; a reader prevents this."""
        (busy, _, _) = self._log.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self.overwritten = not busy


def due(records: Iterable[Record], days: Days, now: datetime, staying_jobs: Collection[str] = ()) -> list[Record]:
    """Return the jobs whose retention has ended. A job and those that repeat its result are archived together or stay.

    Args:
        records: All jobs.
        days: Number of days that jobs on a table are kept.
        now: The present time.
        staying_jobs: Jobs that must stay.
    """
    by_id = {record.id: record for record in records}
    due_ones = {job for job, record in by_id.items() if job not in staying_jobs and _is_due(record, days, now)}
    staying = {_first(record, by_id) for job, record in by_id.items() if job not in due_ones}
    return [record for record in by_id.values() if _first(record, by_id) not in staying]


def new_file(folder: Path, now: datetime) -> Path:
    """Return the path of a new archive file; the folder is made, for its owner only.

    Args:
        folder: Folder of archive files.
        now: The present time, which names the file.
    """
    with suppress(OSError):  # the caller that writes there reports the reason
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}.jsonl"


def _is_due(record: Record, days: Days, now: datetime) -> bool:
    kept = days(record.table)
    if kept is None or record.ended_at is None:
        return False
    age = now - datetime.fromisoformat(record.ended_at)
    return age >= timedelta(days=kept) + (PATIENCE if has_news(record) else timedelta(0))


def _first(record: Record, known: dict[str, Record]) -> str:
    """Return the identifier of the job whose session computed a job's result, as far as it is known."""
    while record.repeats in known:
        record = known[record.repeats]
    return record.id
