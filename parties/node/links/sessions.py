"""Start and end of sessions: the connecting node dials for each ready job, the listening node admits it.

So one side alone decides the order, and two nodes with room for one session each cannot wait for each other. A broken
session is tried again, from its last step, as soon as the peer is back. So is a session that ends by an error without
proof that the peer or the job is at fault, as often as `tries` allows. Any other error ends the job.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial

from parties.base.machine_failure import own_trouble
from parties.jobs.execution.engine_selection import choice_for, memory_of_shard
from parties.jobs.execution.profiles import shards_of
from parties.jobs.holders import Door
from parties.jobs.inputs import AwayError
from parties.link.channel import PeerTroubleError
from parties.link.listening import Admit, RefusedError, Take
from parties.link.opening import Link, hello_for, link_over, open_link, outbox_for
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.link.transport import Stream, Wire
from parties.node.acts.ledger import Ledger
from parties.node.acts.limits import too_large
from parties.node.budget.account import BudgetError
from parties.node.events import Events, stack_of
from parties.node.exchanges.counting import PastBitsError
from parties.node.exchanges.openings import Leaving, Written
from parties.node.links import executor
from parties.node.links.executor import (
    Counted,
    Event,
    Failing,
    Finished,
    Linked,
    Met,
    Order,
    Paying,
    Preparing,
    Reached,
    Stopped,
    Worker,
)
from parties.node.links.giving import BothNodes, Paid, asking, both_dialled, shown_to_holders
from parties.node.links.pauses import Pauses
from parties.node.links.progress import Running
from parties.node.links.validity import lapsed
from parties.node.log import outcome
from parties.node.log.node_log import ClosedError
from parties.node.log.store import Record
from parties.node.peers import PeerIdentity
from parties.node.prediction import predicted
from parties.node.records.sealed import errors
from parties.node.settings import LimitSettings
from parties.operator.interface import Progress
from smc.errors import InputError, JobMismatchError, JointRefusalError, LinkError, MachineError, ProtocolError

LABEL = "job "
NOT_LISTED = "the links here are not those of the participants that the job lists"
DIAL_SECONDS = 10.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 15.0  # before a session is tried again
SHORTEST_TABLE_PAUSE, LONGEST_TABLE_PAUSE = 2.0, 60.0  # before a table that was away is opened again
LOOK_SECONDS = 1.0
WORD_SECONDS = 1.0  # for the statement of a peer that dials already
SIGNATURE_SECONDS = 0.5  # after a session, for the peer's signature; until then the job is running
MOST_BELIEVED = 1000  # sessions of a job that are no tries because the peer told of a trouble of its machine
SMALL_BYTES = 1 << 20  # largest session on the standing link's connection, both ways: it delays nothing there


class Sessions:
    """The sessions of a node with one peer, at most `limit` at a time: so no peer takes another peer's room."""

    def __init__(
        self,
        ledger: Ledger,
        who: PeerIdentity,
        options: LinkOptions,
        limit: int,
        connected: Callable[[], bool],
        events: Events,
        link: str = "lan",  # kind of link assumed by predictions
        standing: Callable[[], Wire | None] = lambda: None,  # the connection of the standing link
        limits: LimitSettings | None = None,
        way: Callable[[str], LinkOptions | None] = lambda _: None,  # to another connected peer, by its name
        call: Callable[[str, str], object] = lambda name, job: None,  # calls a holder to the session of a job
    ) -> None:
        self._ledger, self._jobs, self._runs = ledger, ledger.jobs, ledger.runs
        self._who, self._options = who, options
        self._peer, self._limit, self._connected, self._events = who.peer_name, limit, connected, events
        self._link, self._standing, self._limits, self._way = link, standing, limits or LimitSettings(), way
        self._call, self._called = call, defaultdict[str, set[str]](set)  # by job: the nodes that have called
        self._lock = threading.RLock()  # taken before the ledger's, never after
        self._running: dict[str, Running] = {}
        self._pauses = Pauses(SHORTEST_PAUSE, LONGEST_PAUSE)
        self._table_pauses = Pauses(SHORTEST_TABLE_PAUSE, LONGEST_TABLE_PAUSE)
        self._troubles: dict[str, str] = {}  # by job: trouble of this machine that ended its last session
        self._unbegun: dict[str, str] = {}  # by job: reason why the last attempt to begin a session failed
        self._believed = Counter[str]()  # by job: sessions that ended by a trouble of the peer's machine, as it says
        self._opening: set[str] = set()  # jobs whose table was away and is being opened
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._idle = threading.Condition(self._lock)
        # of jobs; its lock is also taken before the ledger's, and no other lock after it
        self._news = threading.Condition()

    def start(self) -> None:
        """Start to dial, if this is the connecting node, and to look for tables that are away."""
        threading.Thread(target=self._look_for_tables, name="smc-away-tables", daemon=True).start()
        if self._who.party == 1:
            threading.Thread(target=self._dial_ready, name="smc-sessions", daemon=True).start()

    def succeed(self, who: PeerIdentity) -> None:
        """Use the peer's new certificate from the next session on."""
        self._who, self._options = who, replace(self._options, peer=who.peer)

    def wake(self) -> None:
        """Check, after a change, whether a session can begin or must end.

        It does not take `_lock`: the caller may hold that of another peer's `Sessions`, which may in turn call this.
        """
        self._wake.set()
        with self._news:
            self._news.notify_all()
        for identifier, session in self._running.copy().items():  # a copy made in one step
            record = self._jobs.known(identifier)
            if record is None:
                continue
            if self._jobs.has_ended(record):
                session.abort("the job was ended")
            elif record.proposal.holding is not None and record.peer_waits and not session.begun:
                session.abort("another participant's table is away")

    def forget(self, identifier: str) -> None:
        """Forget the pauses of a job that has ended."""
        self._pauses.forget(identifier)
        self._table_pauses.forget(identifier)
        self._unbegun.pop(identifier, None)
        self._believed.pop(identifier, None)
        self._called.pop(identifier, None)

    def why_not_begun(self, identifier: str) -> str:
        """Return the reason why the last attempt to begin a job's session failed; empty if it has begun."""
        record = self._jobs.known(identifier)
        return self._unbegun.get(identifier, "") or ("" if record is None else _absence(self._ways(record)))

    def progress(self, identifier: str) -> Progress | None:
        """Return the progress of a running job; None if it is not running."""
        with self._lock:
            session = self._running.get(identifier)
            return session.progress() if session is not None else None

    def trouble(self, identifier: str) -> str:
        """Return the trouble of this machine that ended the job's last session; empty if there was none."""
        return self._troubles.get(identifier, "")

    def all_progress(self) -> list[Progress]:
        """Return the progress of each running job."""
        with self._lock:
            return [session.progress() for session in self._running.values()]

    def stop(self, seconds: float, why: str = "the node is stopping") -> None:
        """Begin no more sessions, let the running ones finish, then cut the others. They go on after a restart.

        Args:
            seconds: Time to finish.
            why: Reason for the peer.
        """
        self._stopping.set()
        self._wake.set()
        deadline = time.monotonic() + seconds
        with self._idle:
            while self._running and (remaining := deadline - time.monotonic()) > 0:
                self._idle.wait(remaining)
            unfinished = list(self._running.values())
        for session in unfinished:
            session.abort(why)
        with self._idle:
            self._idle.wait_for(lambda: not self._running, timeout=5)

    # The listening node.

    def admit(self, identifier: str) -> tuple[Outbox, Take]:
        """Return the outbox for the peer's stream of a job's session, and the function that starts it on the stream.

        Raise RefusedError if the session cannot begin now.
        """
        with self._lock:
            older = self._running.get(identifier)
        if older is not None:
            older.abort("the peer has begun anew")
            raise RefusedError("the session before is ending")
        with self._news:  # the peer's consent may be on its way, on another stream
            self._news.wait_for(lambda: not self._jobs.lacks_word(identifier), WORD_SECONDS)
        record, session = self._begin(identifier)
        try:
            options = self._options_for(record)
            hello = hello_for(0, record.proposal.job, options)
        except InputError as error:
            self._end(identifier)
            raise RefusedError(str(error)) from None

        def take(stream: Stream) -> None:
            self._start(record, session, partial(link_over, stream, options, hello), lambda _: stream.cancel())

        return outbox_for(options, hello), take

    def called(self, identifier: str, node: str) -> None:
        """As a holder, note that a node calls us to a job's session; it begins once both nodes have called.

        Args:
            identifier: The job.
            node: Name of the node that calls.
        """
        self._called[identifier].add(node)
        self._wake.set()

    def door(self, identifier: str, holder: str) -> Admit:
        """Return the function that admits a holder to a job's session. Raise RefusedError if none is under way.

        Args:
            identifier: The job.
            holder: Name of the holder.
        """
        session = self._running.get(identifier)
        if session is None or holder not in session.doors:
            raise RefusedError("the two nodes have not begun yet")
        return session.doors[holder].admit

    # The connecting node.

    def _dial_ready(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(min(LOOK_SECONDS, self._pauses.left()))
            self._wake.clear()
            if not self._connected():
                continue
            for record in self._jobs.agreed(self._peer, "ready") if len(self._running) < self._limit else ():
                if self._pauses.lasts(record.id) or self._is_uncalled(record):
                    continue
                try:
                    record, session = self._begin(record.id)
                except RefusedError:
                    if len(self._running) >= self._limit:
                        break
                    continue
                self._start(record, session, partial(self._dialled, record))

    def _is_uncalled(self, record: Record) -> bool:
        return record.number is not None and not {*record.names} <= self._called[record.id]

    def _dialled(self, record: Record) -> AbstractContextManager[Link | BothNodes]:
        """Dial for a session; a small session is another stream on the standing link's connection."""
        if record.number is not None:
            others = filter(None, self._ways(record).values())
            ways = [replace(self._options, connection=self._standing()), *others]
            if not self._are_listed(record, ways, slice(2)):
                raise LinkError(NOT_LISTED)
            return both_dialled(ways, record.proposal)
        options, proposal = self._options_for(record), record.proposal
        cost = None if options.measure else predicted(proposal.task, self._runs.inputs(record), self._link)
        if cost is not None and (cost.most or cost.bytes) <= SMALL_BYTES:
            options = replace(options, connection=self._standing())
        return open_link(options, proposal.job)

    # Both nodes.

    def _look_for_tables(self) -> None:
        """Try repeatedly to open a table that is away, without a session; the peer learns when it is back."""
        while not self._stopping.wait(LOOK_SECONDS):
            with suppress(ClosedError):
                self._runs.end_overdue(self._peer)
                for record in self._jobs.agreed(self._peer, "table"):
                    if record.id in self._opening or self._table_pauses.lasts(record.id):
                        continue
                    self._opening.add(record.id)
                    threading.Thread(target=self._open_table, args=(record,), name="smc-table", daemon=True).start()

    def _open_table(self, record: Record) -> None:
        try:
            if not self._runs.reserve(record.id):
                self._table_pauses.put(record.id)
                return
            try:
                with executor.opened(self._order(record)):
                    pass
            except AwayError as error:
                self._table_away(record.id, error)
                return
            except Exception as error:
                self._stopped(record.id, Running(linked=True), error)
                return
            finally:
                self._runs.over(record.id)
            self._events.log("table there again", job=record.id)
            self._runs.table_there(record.id)
        except errors(ClosedError):
            pass  # the node ends, or cannot write now
        finally:
            self._opening.discard(record.id)

    def _table_away(self, identifier: str, error: AwayError) -> None:
        self._table_pauses.put(identifier)
        self._runs.table_away(identifier, str(error))

    def _begin(self, identifier: str) -> tuple[Record, Running]:
        try:
            for attempt in self._ledger.gate.attempts():
                with attempt, self._lock:
                    shards, doors = self._room_for(identifier)
                    if (record := self._runs.begin(identifier, self._peer, attempt.word)) is None:
                        raise RefusedError("the rules do not allow it now")
                    begun = record, Running(shards=shards, doors=doors)
                    self._running[identifier] = begun[1]
            return begun
        except InputError as error:
            raise RefusedError(str(error)) from None

    def _room_for(self, identifier: str) -> tuple[tuple[int, int], dict[str, Door]]:
        """Return the number of a job's shards and the bytes that they take, and a door for each of its holders.

        Raise RefusedError if there is no room for its session now, or if a participant is away.
        """
        if self._stopping.is_set():
            raise RefusedError("the node is stopping")
        if why := lapsed(self._who):
            raise RefusedError(why)
        if identifier in self._running or len(self._running) >= self._limit:
            raise RefusedError("the node runs as many sessions as it may, or this one already")
        shards = self._shards_of(identifier)
        others = [session.shards for session in self._running.values()]
        if why := too_large(*shards, (sum(one[0] for one in others), sum(one[1] for one in others)), self._limits):
            self._unbegun[identifier] = why
            raise RefusedError(why)
        return shards, self._doors(identifier)

    def _doors(self, identifier: str) -> dict[str, Door]:
        record = self._jobs.known(identifier)
        if record is None or len(record.names) == 1:
            return {}
        ways = self._ways(record)  # read once: a link may break at any time
        if why := _absence(ways):
            raise RefusedError(why)
        if record.number is not None:
            return {}
        job, present = record.proposal.job, {name: way for name, way in ways.items() if way is not None}
        if not self._are_listed(record, [*present.values()], slice(2, None)):
            raise RefusedError(NOT_LISTED)
        return {name: Door(asking(way, identifier), job) for name, way in present.items()}

    def _are_listed(self, record: Record, ways: Sequence[LinkOptions], participants: slice) -> bool:
        assert record.proposal.holding is not None
        listed = record.proposal.holding.everyone[participants]
        return self._ledger.log.peers.are([way.peer for way in ways], listed)

    def _ways(self, record: Record) -> dict[str, LinkOptions | None]:
        """Return the link options of each participant beside the peer, by name; None if it is not connected."""
        return {name: self._way(name) for name in record.names[1:]}

    def _shards_of(self, identifier: str) -> tuple[int, int]:
        """Return the number of a job's shard processes, and the forecast of the bytes that they take."""
        record = self._jobs.known(identifier)
        if record is None or (shards := shards_of(record.proposal.specification)) == 1:
            return 0, 0
        return shards, shards * memory_of_shard(choice_for(record.task, self._runs.inputs(record)))

    def _options_for(self, record: Record) -> LinkOptions:
        choice = choice_for(record.task, self._runs.inputs(record))
        return replace(self._options, label=LABEL + record.id, wait=DIAL_SECONDS, measure=choice.profile is None)

    def _start(
        self,
        record: Record,
        session: Running,
        dial: Callable[[], AbstractContextManager[Link | BothNodes]],
        cut: Callable[[str], object] | None = None,
    ) -> None:
        job, identifier = record.proposal, record.id
        self._called.pop(identifier, None)
        for holder in session.doors:
            self._call(holder, identifier)
        tell = partial(self._heard, identifier, session)
        try:
            order = replace(self._order(record), doors=session.doors)
            typical = predicted(job.task, order.inputs, self._link)
            session.costs_of_steps = typical.steps if typical is not None else ()
        except Exception as error:
            tell(Stopped(error))
            self._end(identifier)
            return
        session.worker = Worker(order, dial, tell, partial(self._end, identifier), cut)
        session.worker.start()

    def _order(self, record: Record) -> Order:
        stored, terms = self._runs.openings(record.id), self._ledger.accounts.terms(record)
        checkpoint = record.tree, record.profile, record.participants["us"].rows
        word = partial(self._ledger.hearing.statement, record.id, self._peer)
        inputs, identity, gives = self._runs.inputs(record), self._who.identity, record.gives
        return Order(
            record.proposal, inputs, *checkpoint, identity, stored, terms, gives=gives, word=word, keys=record.keys
        )

    def _end(self, identifier: str) -> None:
        with self._news:
            self._news.wait_for(lambda: not self._awaits_signature(identifier), SIGNATURE_SECONDS)
        with self._idle:
            doors = self._running.pop(identifier).doors
            self._idle.notify_all()
        for door in doors.values():
            door.close()
        self._runs.over(identifier)

    def _awaits_signature(self, identifier: str) -> bool:
        record = self._jobs.known(identifier)
        is_computed = record is not None and record.ours.end == "computed" and not self._jobs.has_ended(record)
        return is_computed and self._connected()

    def _heard(self, identifier: str, session: Running, event: Event) -> None:
        """Pass a worker's event on to the ledger. An error raised here ends the session."""
        try:
            match event:
                case Linked(total):
                    session.linked, session.cost = True, total
                case Preparing(words):
                    session.doing = words
                case Met(step, profile, both, repeats, rows):
                    session.begun, session.first, session.started = True, step, time.monotonic()
                    self._table_pauses.forget(identifier)
                    self._unbegun.pop(identifier, None)
                    self._runs.met(identifier, step, profile, both, repeats, rows)
                    session.counted = True
                    self._troubles.pop(identifier, None)
                    self._events.well()
                    self._events.log("session began", job=identifier, depth=step, profile=profile)
                case Reached():
                    session.step = event
                    self._runs.reached(identifier, event.state, event.total, event.step, event.bits)
                    self._events.log("level", job=identifier, depth=event.step)
                case Counted(step):
                    self._runs.counted(identifier, step)
                case Paying(step):
                    session.leaving = True
                    self._runs.pay(identifier, step)
                case Paid():
                    self._ledger.hearing.hear(event.name, event.statement)
                    self._runs.check_paid(identifier, event.name, event.step)
                case Written():
                    self._runs.write_opening(identifier, event)
                case Leaving():
                    session.leaving = True
                    self._runs.opening_leaves(identifier, event)
                case Failing(error):
                    self._failing(identifier, session, error)
                case Finished(state, total, report):
                    self._pauses.put(identifier, longer=not session.got_further)  # the peer's signature is on its way
                    self._runs.computed(identifier, state, total, report)
                    self._events.log("session finished", job=identifier, **outcome.traffic(total))
                    self._events.session_ended(time.monotonic() - session.started, total)
                case Stopped(error):
                    self._stopped(identifier, session, error)
        except ClosedError:
            if not isinstance(event, Finished | Stopped):
                raise  # the node has closed: the session ends

    def _stopped(self, identifier: str, session: Running, error: BaseException) -> None:
        """Record that a session ended by an error: the job goes on later, or it has failed."""
        self._failing(identifier, session, error)
        match error:
            case ClosedError():
                pass
            case _ if why := self._own_trouble(error):  # a full disk, or a token that is away: the job goes on later
                of_records = isinstance(error, errors())
                self._events.log("records cannot be written" if of_records else "own trouble", job=identifier, why=why)
                self._events.troubled(why)
                self._troubles[identifier] = why
                self._pauses.put(identifier)
                self._not_a_try(identifier, session)
            case AwayError():
                self._events.log("table away", job=identifier)
                self._broke(identifier, session, str(error), begun=False)
                self._table_away(identifier, error)
            case BudgetError():
                self._events.log("job refused", job=identifier, by="budget")
                self._runs.unpaid(identifier, str(error))
            case ProtocolError() | JobMismatchError() | InputError() if not isinstance(error, MachineError):
                self._events.log("job failed", job=identifier, error=type(error).__name__)
                by_own_input = isinstance(error, InputError) and not isinstance(error, JointRefusalError)
                public = "an error in its own input" if by_own_input else str(error)
                if isinstance(error, JointRefusalError) and self._jobs.get(identifier).proposal.holding is not None:
                    public = shown_to_holders(error)
                self._runs.failed(identifier, error, public)
            case LinkError():
                if isinstance(error, PeerTroubleError) and self._believed[identifier] < MOST_BELIEVED:
                    self._believed[identifier] += 1
                    self._not_a_try(identifier, session)
                self._broke(identifier, session, session.why or str(error), session.begun)
            case _:  # not known to be the fault of the peer or of the job
                self._events.log("session failed", job=identifier, error=type(error).__name__, stack=stack_of(error))
                self._pauses.put(identifier, longer=not session.got_further)
                self._table_pauses.put(identifier)
                is_ours = isinstance(error, MachineError)
                public = "an error in its own input" if is_ours else "internal error"
                self._runs.failed(identifier, error, public, (session.begun, session.cost))
        if session.begun:
            self._events.session_ended(time.monotonic() - session.started, session.cost)

    def _failing(self, identifier: str, session: Running, error: BaseException) -> None:
        """Act on an error once, before the others notice it: charge the job if our own rows may be the cause."""
        if error is session.failing:
            return
        session.failing = error
        if isinstance(error, AwayError):
            self._runs.table_away(identifier, str(error))  # the others need not wait for the end of this session
        others = AwayError | BudgetError | ClosedError | LinkError | JobMismatchError | MachineError | PastBitsError
        if session.linked and not isinstance(error, others) and not self._own_trouble(error):
            self._runs.failing(identifier, error)

    def _own_trouble(self, error: BaseException) -> str:
        """Return the trouble of this machine that ended a session; empty if the session's own error or the peer did."""
        if isinstance(error, AwayError | LinkError | JobMismatchError | BudgetError):
            return ""
        return own_trouble(error) or (str(error) if isinstance(error, errors()) else "")

    def _not_a_try(self, identifier: str, session: Running) -> None:
        """Do not count a session as a try if it made no progress and no share has left: it opened nothing."""
        if session.counted and not session.leaving and not session.got_further:
            self._runs.spare(identifier)

    def _broke(self, identifier: str, session: Running, why: str, begun: bool) -> None:
        """Pause the job of a broken session, longer each time that the session made no progress."""
        record = self._jobs.known(identifier)
        if record is None or self._jobs.has_ended(record):
            return
        self._pauses.put(identifier, longer=not (begun and session.got_further))
        if not begun:
            self._unbegun[identifier] = why
        else:
            self._events.log("session broke", job=identifier, **outcome.traffic(session.cost))
            self._runs.broke(identifier, why, session.cost)


def _absence(ways: Mapping[str, LinkOptions | None]) -> str:
    away = [name for name, way in ways.items() if way is None]
    return f"waits for {', '.join(away)}, not connected here" if away else ""
