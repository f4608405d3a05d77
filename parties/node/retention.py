"""How long a node keeps jobs: those that have ended longer ago leave its database for a file of their own.

Each leaves as lines of JSON (`records.export.to_archive`): what the node kept of it, result and texts, and its entries
of the log. In the log an entry `archived` and what chains entries remain, and what the job has spent of a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from parties.node.store import Record, has_news

DAY_SECONDS = 24 * 3600.0
PATIENCE = timedelta(days=31)  # that a peer who has not heard of a job's end has besides; then it hears a refusal

Days = Callable[[str], int | None]  # for how many days jobs on a table are kept; None: for ever


@dataclass(frozen=True)
class Archived:
    """The jobs that have left, and where their lines are."""

    path: Path
    jobs: int

    def __str__(self) -> str:
        return f"{self.jobs} job{'' if self.jobs == 1 else 's'} in {self.path}"


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
