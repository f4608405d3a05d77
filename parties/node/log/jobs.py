"""The jobs of a node: found, listed, and changed in one way, by events that the log has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from parties.base.text import quoted
from parties.node.log.job_events import Event, Unlogged, base_state, fold, settled
from parties.node.log.job_index import JobIndex, Queue
from parties.node.log.node_log import NodeLog
from parties.node.log.statement import state
from parties.node.log.store import Record, is_held
from parties.node.peers import Who
from parties.node.records.kinds import Fields
from parties.operator.interface import ENDED, State
from smc.errors import InputError

SHORTEST_NAME = 4  # of a job: so many digits of its identifier at least
ENDED_STATES = frozenset(ENDED)


class Jobs:
    """All jobs of a node. Calls come from any thread.

    `speakers`, by peer, are told of which job the peer should hear our statement, `changed` of every job that has
    changed, both after it is written. `running` are the jobs of which a session is under way.
    """

    def __init__(
        self,
        log: NodeLog,
        speakers: Mapping[str, Callable[[str], None]],
        changed: Callable[[str], None],
    ) -> None:
        self.log, self.store, self.changed, self._speakers = log, log.store, changed, speakers
        self.index = JobIndex(log.store)
        self.running: set[str] = set()

    # How one changes.

    def apply(self, record: Record, *events: Event) -> Record:
        """Let these events happen to a job; return it as it is then.

        Nothing else changes a job. The entries of the events and the record are written in the caller's transaction
        (`NodeLog.writing`).

        Args:
            record: the job before; what is proposed, if it is new.
            events: what happens to it, in order.
        """
        after, at = record, now()
        for event in events:
            if isinstance(event, Fields):
                self.log.audit.add(event, record.id)
            after = fold(after, event, at)
        after = settled(after, at)
        if after.ended_at != record.ended_at:
            self.store.forget_openings(record.id)
        self.store.put(after)
        return after

    def archive(self, record: Record, content: str) -> None:
        """Let a job leave, in the caller's transaction; `content` is the SHA-256 of its lines, which are in a file."""
        job = record.ours.proposal
        fields = {"peer": record.peer, "protocol": job.task.name, "digest": job.digest, "table": record.table}
        self.log.audit.archive(record.id, {**fields, "content": content})
        self.store.remove(record.id)

    def tell(self, record: Record, say: bool = True) -> Record:
        """Tell that a job has changed, and the peer if it is to hear of it. Whoever calls it holds no lock."""
        if say and not is_held(record) and (speak := self._speakers.get(record.peer)) is not None:
            speak(record.id)
        self.changed(record.id)
        return record

    def speak(self, peer: str, identifier: str) -> None:
        """Tell a peer what there is to say of a job, be it none of ours."""
        self._speakers[peer](identifier)

    def check(self, path: Path) -> None:
        """Raise `InputError` if what is kept is not whole, see `NodeLog.check`.

        Then the peers of jobs from before a node could have several are named: the log says with whom they are.
        """
        self.log.check(path)
        if nameless := [record for record in self.store.all() if not record.peer]:
            with self.log.writing():
                proposed = (entry for entry in self.log.audit.of_kind("proposed") if entry.fields)
                names = {entry.job: entry.fields["peer"] for entry in proposed}
                for record in nameless:
                    self.apply(record, Unlogged({"peer": names[record.id]}))

    # What there is.

    def all(self) -> list[Record]:
        """Return all jobs, the newest first."""
        with self.log.lock:
            return self.store.all()[::-1]

    def last(self, most: int, before: str | None = None, states: Collection[State] = ()) -> list[Record]:
        """Return the last jobs (proposed before the given one, in one of these states), the newest first."""
        with self.log.lock:
            number = None if before is None else self.store.number(self.find(before).id)
            jobs = self.store.newest(number)
            if states and not ENDED_STATES.intersection(states):
                open_jobs = (one for one in reversed(self.index.open()) if number is None or one < number)
                jobs = map(self.store.at, open_jobs)
            return list(islice((job for job in jobs if not states or self.state(job) in states), most))

    def counts(self) -> Counter[State]:
        """Return how many jobs are in each state."""
        with self.log.lock:
            counts = self.index.counts.copy()
            for record in filter(None, map(self.store.get, self.running)):
                counts[base_state(record)] -= 1
                counts[self.state(record)] += 1
            return counts

    def known(self, identifier: str) -> Record | None:
        """Return a job by its full identifier; None if there is none (any more)."""
        with self.log.lock:
            return self.store.get(identifier)

    def get(self, identifier: str) -> Record:
        """Return a job by its full identifier. `InputError` if there is none (any more)."""
        if (record := self.known(identifier)) is None:
            raise InputError("there is no such job here")
        return record

    def find(self, beginning: str, states: tuple[State, ...] = ()) -> Record:
        """Return a job by an unambiguous beginning of its identifier, or `latest`, the newest (in one of these states).

        `InputError`: there is none, or several.
        """
        if beginning == "latest":
            newest = next(iter(self.last(1, states=states)), None)
            if newest is None:
                raise InputError(f"there is no job yet{' that is ' if states else ''}{' or '.join(states)}")
            return newest
        if len(beginning) < SHORTEST_NAME:
            raise InputError(f"name the job {quoted(beginning)} by {SHORTEST_NAME} digits at least")
        with self.log.lock:
            if (record := self.store.get(beginning.lower())) is not None:
                return record
            matches = [record for record in self.store.all() if record.id.startswith(beginning.lower())]
            if len(matches) != 1:
                many = "no job begins" if not matches else f"{len(matches)} jobs begin"
                raise InputError(f"{many} with {quoted(beginning)}; smc jobs lists all")
            return matches[0]

    def who(self, record: Record) -> Who:
        """Return the peer of a job. `InputError` if it has gone from party.toml."""
        if (who := self.log.peers.get(record.peer)) is None:
            raise InputError(f"its peer {quoted(record.peer)} is not in party.toml any more")
        return who

    def state(self, record: Record) -> State:
        """Return what has become of a job."""
        return state(record.ours, record.theirs, record.id in self.running, record.sessions > 0)

    def has_ended(self, record: Record) -> bool:
        """Return whether a job has ended."""
        return self.state(record) in ENDED_STATES

    def changes(self) -> str:
        """Return a text that is another one whenever a job may have changed, or is under way that was not."""
        with self.log.lock:
            return " ".join([str(self.store.changes), *sorted(self.running)])

    def to_greet(self, peer: str) -> list[str]:
        """Return the jobs to speak of on a new link to a peer: without an end, or whose end it may not know."""
        with self.log.lock:
            return [self.store.at(number).id for number in self.index.news[peer]]

    def lacks_word(self, identifier: str) -> bool:
        """Return whether a job has our consent, and the peer has not decided as far as is known here."""
        record = self.known(identifier)
        return record is not None and record.ours.verdict == "approved" and self.state(record) == "waiting"

    def agreed(self, peer: str, queue: Queue) -> list[Record]:
        """Return jobs with a peer that could begin or go on, the oldest first: `ready` now, `table` were ours there."""
        with self.log.lock:
            jobs = map(self.store.at, self.index.queue(peer, queue))
            return [record for record in jobs if record.id not in self.running]

    def withdrawn(self) -> list[Record]:
        """Return the jobs whose result was withdrawn."""
        with self.log.lock:
            return list(self.index.withdrawn.values())

    def answers(self, record: Record, version: str) -> list[Record]:
        """Return the done jobs that asked the same peer the same of this version of our rows, the newest first."""
        with self.log.lock:
            return list(map(self.store.at, reversed(self.index.answers(record, version))))


def now() -> str:
    """Return the time as it is kept."""
    return datetime.now(UTC).isoformat(timespec="seconds")
