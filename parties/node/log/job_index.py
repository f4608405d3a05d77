"""Index of a node's jobs, updated at each change, so that a job's cost does not grow with the number of jobs kept."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Literal, TypeVar

from parties.base.canonical import dump
from parties.node.log.job_events import base_state
from parties.node.log.store import Record, Store, has_news, withdrawals
from parties.operator.interface import ENDED, State

Queue = Literal["waiting", "ready", "table", "peer"]  # for consent, for room, for our table, for the peer's table
Place = TypeVar("Place", int, tuple[datetime, int])
Question = tuple[str, str, bytes]  # the peer, the version of our rows, the digest of the question


class JobIndex:
    """Sets and counts of a store's jobs, updated as the store reports each change. Only the constructor reads all jobs.

    Jobs are identified by the store's numbers, in order of arrival.
    """

    def __init__(self, store: Store) -> None:
        self.counts = Counter[State]()  # jobs by state; a running job by its base state
        self.of_peer = Counter[tuple[str, State]]()  # the same by peer
        self.approved = Counter[tuple[str, str, date]]()  # approved by us: by participant, table and day
        self.charged: defaultdict[str, list[tuple[datetime, int]]] = defaultdict(
            list
        )  # jobs by our table, with the time from which the charge counts
        # the same for bits, once for each charge
        self.exact: defaultdict[str, list[tuple[datetime, int]]] = defaultdict(list)
        self.withdrawn: dict[str, Record] = {}  # jobs whose result was withdrawn
        self.unasked: dict[str, Record] = {}  # jobs about which the decision point was not asked yet
        self.news: defaultdict[str, list[int]] = defaultdict(list)  # by peer: jobs with news for it, ascending
        self._queues: defaultdict[tuple[str, Queue], list[int]] = defaultdict(list)  # ascending
        self._answers: defaultdict[Question, list[int]] = defaultdict(list)  # done jobs that may answer others
        for number, record in store.numbered():
            self._change(number, None, record)
        store.watchers.append(self._change)

    def queue(self, peer: str, *queues: Queue) -> list[int]:
        """Return the numbers of jobs with a peer that wait in one of these queues, oldest first.

        Args:
            peer: Name of the peer.
            queues: The queues.
        """
        return sorted(number for queue in queues for number in self._queues[peer, queue])

    def open(self) -> list[int]:
        """Return the numbers of all jobs that have not ended, oldest first."""
        return sorted(number for numbers in self._queues.values() for number in numbers)

    def answers(self, record: Record, version: str) -> list[int]:
        """Return the numbers of done jobs with the same question on this version of our rows, oldest first.

        Args:
            record: The job to answer.
            version: Version of our rows.
        """
        return list(self._answers.get(_question(record, version), ()))

    @staticmethod
    def since(
        charges: Mapping[str, list[tuple[datetime, int]]], tables: Iterable[str], at: datetime | None
    ) -> list[int]:
        """Return the store's numbers of the jobs charged to these tables, oldest first.

        Args:
            charges: Times and numbers of jobs by table, ascending.
            tables: Names under which the charges were made.
            at: Charges that count from this time on; None takes all.
        """
        numbers = {
            number
            for table in tables
            if table in charges
            for _, number in charges[table][0 if at is None else bisect_left(charges[table], (at, -1)) :]
        }
        return sorted(numbers)

    def _change(self, number: int, before: Record | None, after: Record | None) -> None:
        if before is not None:
            self._count(number, before, -1)
        if after is not None:
            self._count(number, after, 1)

    def _count(self, number: int, record: Record, times: Literal[1, -1]) -> None:
        present, identifier = base_state(record), record.id
        self.counts[present] += times
        self.of_peer[record.peer, present] += times
        if (day := day_of_approval(record)) is not None:
            for name in record.names:
                _add(self.approved, (name, record.table, day), times)
        if record.charged is not None:
            _place(self.charged[record.charged.table], (record.charged.at, number), times)
        for charge in record.bits:
            _place(self.exact[charge.table], (charge.at, number), times)
        if withdrawals(record):
            _keep(self.withdrawn, identifier, record, times)
        if record.unasked:
            _keep(self.unasked, identifier, record, times)
        if has_news(record):
            for name in record.names:
                _place(self.news[name], number, times)
        if present not in ENDED:
            _place(self._queues[record.peer, _queue(record, present)], number, times)
        if present == "done" and record.version:
            question = _question(record, record.version)
            _place(self._answers[question], number, times)
            if not self._answers[question]:
                del self._answers[question]


def day_of_approval(record: Record) -> date | None:
    """Return the day, by this machine's clock, on which we approved a job; None if we have not."""
    if record.ours.verdict != "approved" or not record.ours.at:
        return None
    return datetime.fromisoformat(record.ours.at).astimezone().date()


def _queue(record: Record, present: State) -> Queue:
    if present == "waiting":
        return "waiting"
    return "table" if record.ours.waits else "peer" if record.peer_waits else "ready"


def _question(record: Record, version: str) -> Question:
    job = record.proposal
    asked = dump([job.tables, job.specification]).encode()
    return record.peer, version, hashlib.sha256(asked).digest()


def _add(counter: Counter[tuple[str, str, date]], key: tuple[str, str, date], times: int) -> None:
    counter[key] += times
    if not counter[key]:
        del counter[key]


def _keep(jobs: dict[str, Record], identifier: str, record: Record, times: int) -> None:
    if times > 0:
        jobs[identifier] = record
    else:
        jobs.pop(identifier, None)


def _place(places: list[Place], place: Place, times: int) -> None:
    if times > 0:
        insort(places, place)
    else:
        del places[bisect_left(places, place)]
