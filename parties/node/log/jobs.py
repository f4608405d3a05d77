"""The jobs of a node: lookup, listing, and the single way to change one, by logged events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Literal

from parties.base.text import quoted
from parties.link.identity import fingerprint
from parties.node.exchanges import commitment
from parties.node.log.job_events import Event, Unlogged, base_state, fold, settled
from parties.node.log.job_index import JobIndex, Queue
from parties.node.log.node_log import NodeLog
from parties.node.log.statement import Statement, state
from parties.node.log.store import Further, Record, is_held
from parties.node.peers import PeerIdentity
from parties.node.proposal import Proposal
from parties.node.records.kinds import Fields
from parties.operator.interface import ENDED, State
from smc.errors import InputError

SHORTEST_NAME = 4  # digits of a job's identifier that name it, at least
ENDED_STATES = frozenset(ENDED)


class Jobs:
    """All jobs of a node. Calls come from any thread.

    `speakers` send our statement about a job to its peer; they are found by the peer's name. `changed` is called with
    every job that has changed. Both are called after the change is written. `running` are the jobs with a session under
    way.
    """

    def __init__(
        self, log: NodeLog, speakers: Mapping[str, Callable[[str], None]], changed: Callable[[str], None]
    ) -> None:
        self.log, self.store, self.changed, self._speakers = log, log.store, changed, speakers
        self.index = JobIndex(log.store)
        self.running: set[str] = set()

    # Changes.

    def apply(self, record: Record, *events: Event) -> Record:
        """Apply events to a job; return the job after them.

        Nothing else changes a job. The entries of the events and the record are written in the caller's transaction
        (`NodeLog.writing`).

        Args:
            record: The job before; the proposed job if it is new.
            events: The events, in order.
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

    def draft(self, terms: Proposal, proposed_by: Literal["us", "peer"], peer: str) -> Record:
        """Return a new job before any decision.

        Args:
            terms: The job in public terms.
            proposed_by: The proposer.
            peer: Name of the peer who computes with us, or who has sent us the job.

        Raises:
            InputError: The participants of a job with holders are not known here.
        """
        ours, peers = Statement(proposal=terms), self.log.peers
        keys = commitment.keys(peers.identity, terms.id)
        if terms.holding is None:
            return Record(proposed_by=proposed_by, peer=peer, ours=ours, keys=keys)
        everyone = terms.holding.everyone
        own = next((one for one in self.log.own_fingerprints() if one in everyone), "")
        if not own:
            raise InputError("the job lists this node neither as computing nor as a holder; list its certificate")
        number = everyone.index(own)
        needed = everyone if number < 2 else terms.holding.nodes  # a holder has no dealings with other holders
        names = {fingerprint(one): who.peer_name for who in peers if (one := who.listed(needed)) is not None}
        if unknown := [one for one in needed if one not in names and one != own]:
            raise InputError(f"{unknown[0][:23]} takes part in the job, but is no peer in party.toml; add it")
        other = everyone[1 - number if number < 2 else 0]
        if number < 2 and peers.named(names[other]).party != number:
            raise InputError("the job lists the computing nodes in the wrong order: the one that listens is first")
        further = {one: Further(name=names.get(one, "")) for one in everyone if one not in (own, other)}
        number_here = number if number > 1 else None
        record = Record(proposed_by=proposed_by, peer=names[other], ours=ours, keys=keys)
        return record.model_copy(update={"number": number_here, "further": further})

    def replaced(self, record: Record) -> str:
        """Return the first participant of a job with holders whose certificate is another than the job's; else "".

        A succession that this node knows makes the new certificate the same participant's.
        """
        holding, peers = record.proposal.holding, filter(None, map(self.log.peers.get, record.names))
        return next((who.peer_name for who in peers if holding and who.listed(holding.everyone) is None), "")

    def archive(self, record: Record, content: str) -> None:
        """Record in the log that a job was archived, and remove the job; in the caller's transaction.

        Args:
            record: The job.
            content: SHA-256 of its lines in the archive file.
        """
        job = record.proposal
        fields = {"peer": record.peer, "protocol": job.task.name, "digest": job.digest, "table": record.table}
        self.log.audit.archive(record.id, {**fields, "content": content})
        self.store.remove(record.id)

    def tell(self, record: Record, say: bool = True) -> Record:
        """Report a change of a job here, and to its peer. The caller must hold no lock.

        Args:
            record: The job.
            say: Whether our statement must go to the peer.
        """
        for name in record.names if say and not is_held(record) else ():
            if (speak := self._speakers.get(name)) is not None:
                speak(record.id)
        self.changed(record.id)
        return record

    def speak(self, peer: str, identifier: str) -> None:
        """Send our statement about a job to a peer, also about a job that is not kept here.

        Args:
            peer: Name of the peer.
            identifier: The job.
        """
        self._speakers[peer](identifier)

    def check(self, path: Path) -> None:
        """Raise InputError if the records are damaged, see `NodeLog.check`; `path` is that of the log's marker.

        Jobs that an earlier release stored without a peer's name get the name from the log.
        """
        self.log.check(path)
        if nameless := [record for record in self.store.all() if not record.peer]:
            with self.log.writing():
                proposed = (entry for entry in self.log.audit.of_kind("proposed") if entry.fields)
                names = {entry.job: entry.fields["peer"] for entry in proposed}
                for record in nameless:
                    self.apply(record, Unlogged({"peer": names[record.id]}))

    # Lookup.

    def all(self) -> list[Record]:
        """Return all jobs, newest first."""
        with self.log.lock:
            return self.store.all()[::-1]

    def last(self, most: int, before: str | None = None, states: Collection[State] = ()) -> list[Record]:
        """Return the last jobs, newest first.

        Args:
            most: Largest number of jobs.
            before: Only jobs proposed before this one.
            states: Only jobs in one of these states; empty for all.
        """
        with self.log.lock:
            number = None if before is None else self.store.number(self.find(before).id)
            jobs = self.store.newest(number)
            if states and not ENDED_STATES.intersection(states):
                open_jobs = (one for one in reversed(self.index.open()) if number is None or one < number)
                jobs = map(self.store.at, open_jobs)
            return list(islice((job for job in jobs if not states or self.state(job) in states), most))

    def counts(self) -> Counter[State]:
        """Return the number of jobs in each state."""
        with self.log.lock:
            counts = self.index.counts.copy()
            for record in filter(None, map(self.store.get, self.running)):
                counts[base_state(record)] -= 1
                counts[self.state(record)] += 1
            return counts

    def known(self, identifier: str) -> Record | None:
        """Return a job by its full identifier; None if it does not exist (any more)."""
        with self.log.lock:
            return self.store.get(identifier)

    def get(self, identifier: str) -> Record:
        """Return a job by its full identifier. Raise InputError if it does not exist (any more)."""
        if (record := self.known(identifier)) is None:
            raise InputError("there is no such job here")
        return record

    def find(self, beginning: str, states: tuple[State, ...] = ()) -> Record:
        """Return a job by an unambiguous beginning of its identifier.

        Args:
            beginning: The beginning, or `latest` for the newest job.
            states: States from which `latest` chooses; empty for all.

        Raises:
            InputError: There is no such job, or several.
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
                count = "no job begins" if not matches else f"{len(matches)} jobs begin"
                raise InputError(f"{count} with {quoted(beginning)}; smc jobs lists all")
            return matches[0]

    def who(self, record: Record) -> PeerIdentity:
        """Return the link with a job's peer. Raise InputError if the peer is no longer in party.toml."""
        if (who := self.log.peers.get(record.peer)) is None:
            raise InputError(f"its peer {quoted(record.peer)} is not in party.toml any more")
        return who if record.number is None else replace(who, party=record.number)

    def state(self, record: Record) -> State:
        """Return the state of a job."""
        return state(record.statements, record.id in self.running, record.sessions > 0)

    def has_ended(self, record: Record) -> bool:
        """Return whether a job has ended."""
        return self.state(record) in ENDED_STATES

    def changes(self) -> str:
        """Return a text that differs after each change of a job, or of the set of running jobs."""
        with self.log.lock:
            return " ".join([str(self.store.changes), *sorted(self.running)])

    def to_greet(self, peer: str) -> list[str]:
        """Return the jobs to report on a new link to a peer: those without an end, or whose end may be news to it."""
        with self.log.lock:
            return [self.store.at(number).id for number in self.index.news[peer]]

    def lacks_word(self, identifier: str) -> bool:
        """Return whether a job has our consent and no known decision of the peer."""
        record = self.known(identifier)
        return record is not None and record.ours.verdict == "approved" and self.state(record) == "waiting"

    def agreed(self, peer: str, queue: Queue) -> list[Record]:
        """Return the agreed jobs of a queue that are not running, oldest first.

        Args:
            peer: Name of the peer.
            queue: "ready" for jobs that can begin or go on now; "table" for those that wait for our table.
        """
        with self.log.lock:
            jobs = map(self.store.at, self.index.queue(peer, queue))
            return [record for record in jobs if record.id not in self.running]

    def overdue(self, peer: str) -> list[Record]:
        """Return the jobs with holders that wait longer than their proposal allows, and have no result here."""
        with self.log.lock:
            jobs = map(self.store.at, self.index.queue(peer, "waiting", "ready", "table", "peer"))
            return [
                record
                for record in jobs
                if (holding := record.proposal.holding) is not None
                and record.ours.end == ""
                and record.id not in self.running
                and datetime.now(UTC) > record.proposal.proposed_at + timedelta(hours=holding.wait_hours)
            ]

    def withdrawn(self) -> list[Record]:
        """Return the jobs whose result was withdrawn."""
        with self.log.lock:
            return list(self.index.withdrawn.values())

    def answers(self, record: Record, version: str) -> list[Record]:
        """Return the done jobs with the same peer and question on this version of our rows, newest first.

        Args:
            record: The job to answer.
            version: Version of our rows.
        """
        with self.log.lock:
            return list(map(self.store.at, reversed(self.index.answers(record, version))))


def now() -> str:
    """Return the present time in the form of the records, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
