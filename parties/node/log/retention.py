"""How long a node keeps jobs: those that have ended longer ago leave its database for a file of their own.

Each leaves as lines of JSON (`records.export.to_archive`): what the node kept of it, result and texts, and its entries
of the log. In the log an entry `archived` and what chains entries remain, and what the job has spent of a budget.
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
from parties.node.records.beside import Beside
from parties.node.records.export import to_archive

PATIENCE = timedelta(days=31)  # that a peer who has not heard of a job's end has besides; then it hears a refusal

Days = Callable[[str], int | None]  # for how many days jobs on a table are kept; None: for ever


@dataclass(frozen=True)
class Archived:
    """The jobs that have left, and where their lines are."""

    path: Path
    jobs: int

    def __str__(self) -> str:
        return f"{self.jobs} job{'' if self.jobs == 1 else 's'} in {self.path}"


class Retention:
    """Lets jobs leave. Unless they are `overwritten`, the write-ahead log may have what has left until next time."""

    def __init__(self, jobs: Jobs, spendings: Spendings) -> None:
        self._jobs, self._log, self._spendings = jobs, jobs.log, spendings
        self.overwritten = True

    def archive(
        self, days: Days, folder: Path, out: Path | None = None, emergency: Collection[str] = ()
    ) -> Archived | None:
        """Let the jobs leave that have been kept for so many days, for a new file in the folder (or `out`).

        Those for a purpose of `emergency` that have begun stay until they were reviewed. None if none is to leave.
        `InputError` if it cannot be written: then all stay. The file is on the disk before anything leaves; a crash
        between the two leaves a copy.
        """
        moment = datetime.now(UTC)
        with self._log.reading():
            all_jobs = self._jobs.store.all()
            begun = {job.id for job in all_jobs if job.sessions and job.ours.proposal.purpose in emergency}
            reviewed = {entry.job for entry in self._log.audit.of_kind("reviewed")} if emergency else set()
            if not (leaving := due(all_jobs, days, moment, begun - reviewed)):
                self._overwrite()
                return None
            path, is_there = out or new_file(folder, moment), False
            try:
                with self._log.writing():
                    self._log.connection.execute("BEGIN IMMEDIATE")  # commands write of them before, or after
                    texts = [
                        to_archive(job.id, job.model_dump(mode="json"), self._log.audit.of_job(job.id))
                        for job in leaving
                    ]
                    Beside(folder.parent / database.FILE_NAME).write_archive(path, "".join(texts).encode())
                    is_there = True
                    for record, text in zip(leaving, texts, strict=True):
                        self._jobs.archive(record, hashlib.sha256(text.encode()).hexdigest())
            except Exception:  # not when interrupted, which may be once it is written
                if is_there:
                    path.unlink(missing_ok=True)
                raise
            self._spendings.reread()
            self._overwrite()
        return Archived(path, len(leaving))

    def _overwrite(self) -> None:
        """Empty the write-ahead log, which else has what was overwritten in the database; a reader is in the way."""
        (busy, _, _) = self._log.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self.overwritten = not busy


def due(records: Iterable[Record], days: Days, now: datetime, staying_jobs: Collection[str] = ()) -> list[Record]:
    """Return the jobs that have been kept long enough; a result leaves with all that repeat it, or stays with them."""
    known = {record.id: record for record in records}
    due_ones = {job for job, record in known.items() if job not in staying_jobs and _is_due(record, days, now)}
    staying = {_first(record, known) for job, record in known.items() if job not in due_ones}
    return [record for record in known.values() if _first(record, known) not in staying]


def new_file(folder: Path, now: datetime) -> Path:
    """Return where jobs that leave now are written; the folder is made, for its owner only."""
    with suppress(OSError):  # whoever writes there says why it cannot be
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}.jsonl"


def _is_due(record: Record, days: Days, now: datetime) -> bool:
    kept = days(record.table)
    if kept is None or record.ended_at is None:
        return False
    age = now - datetime.fromisoformat(record.ended_at)
    return age >= timedelta(days=kept) + (PATIENCE if has_news(record) else timedelta(0))


def _first(record: Record, known: dict[str, Record]) -> str:
    """Return the job whose session computed a job's result, as far as it is known."""
    while record.repeats in known:
        record = known[record.repeats]
    return record.id
