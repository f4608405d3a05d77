"""One session of a job, run by a worker without access to the node: an order goes in, events come out.

The order and the events are plain values, and a session can be cut from outside. So a worker may be a thread, as here,
or a process. `sessions` decides how the node acts on an event.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from parties.jobs.execution import profiles
from parties.jobs.execution.engine_selection import check_memory, choice_for, memory_of_shard
from parties.jobs.execution.running import cost_report, note_code, profile_for
from parties.jobs.execution.sharding import sharded
from parties.jobs.holders import Door, joined
from parties.jobs.inputs import AwayError
from parties.jobs.kind import Inputs, Kind, Opened, State, Step, refusal
from parties.link.identity import Identity
from parties.link.opening import Link
from parties.node.acts.accounts import Terms
from parties.node.exchanges import checkpoint, commitment, counting, readiness
from parties.node.exchanges.commitment import Commitments, exchange
from parties.node.exchanges.counting import BitsError
from parties.node.exchanges.openings import Leaving, Stored, Written, WrittenFirst
from parties.node.exchanges.readiness import PeerAwayError
from parties.node.links.giving import BothNodes, Givers, Paid, Turn, give, opened_doors
from parties.node.links.precheck import precheck
from parties.node.proposal import Proposal
from parties.node.records import Committed, commit
from parties.tables.unfit import without_cells
from smc.engines import Profile, engine_of
from smc.errors import InputError, LinkError, ProtocolError
from smc.meter import Cost
from smc.session import Session

SESSION_BYTES = 1 << 16  # garbage that a session leaves at least, roughly
WORTH_BYTES = 1 << 20  # collect garbage once sessions have left this much
SHARES = "shares"  # what a holder computes, in place of a profile
WHOLE = 32  # one collection in 32 looks through long-lived objects, too


@dataclass(frozen=True)
class Order:
    """A worker's order.

    `state` is the checkpoint. `profile` and `fingerprint` are those of earlier sessions. `identity` makes and signs
    commitments to private rows. `stored` are the openings of a step by earlier sessions.
    """

    job: Proposal
    inputs: Inputs
    state: Any
    profile: str
    fingerprint: str
    identity: Identity = field(repr=False)
    stored: Stored = field(default_factory=Stored, repr=False)
    terms: Terms = field(default_factory=Terms)
    doors: Mapping[str, Door] = field(default_factory=dict, repr=False)  # of the job's holders, by name
    gives: bool = True  # whether we have rows
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # of the job; without them those of `identity`
    word: Callable[[], bytes] = field(default=bytes, repr=False)  # a holder's signed statement


@dataclass(frozen=True)
class Linked:
    """The peer is connected. `total` is the cost of the session, and is updated as it runs."""

    total: Cost


@dataclass(frozen=True)
class Preparing:
    """The session waits before any computation; `words` describes the reason."""

    words: str


@dataclass(frozen=True)
class Met:
    """Both parties go on from this step, with these commitments if the step needs rows.

    If an earlier job has answered this one, `repeats` names it; then nothing is computed and the profile is empty.
    """

    step: int
    profile: str
    commitments: Commitments | None = None
    repeats: str = ""
    rows: Committed | None = None  # a holder's commitment


@dataclass(frozen=True)
class Reached:
    """Event: a run has reached a step. All steps before it are decided; `state` is their checkpoint, as JSON."""

    step: int
    size: int  # items that the step decides
    words: str
    state: Any
    total: Cost
    bits: int = 0  # of exact answers, opened by this step at most


@dataclass(frozen=True)
class Counted:
    """The bits of the step fit the bounds of both parties' tables: the step begins, and they are booked."""

    step: int


@dataclass(frozen=True)
class Paying:
    """At a holder: the nodes begin the step, and the holder must pay for it before it answers."""

    step: int


@dataclass(frozen=True)
class Failing:
    """The session ends by an error, which no other party can have noticed yet."""

    error: BaseException


@dataclass(frozen=True)
class Finished:
    """Both parties have the result; `state` is JSON, None for a holder that does not get the result."""

    state: Any
    total: Cost
    report: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Stopped:
    """The session has ended by an error."""

    error: BaseException


Event = Linked | Preparing | Met | Reached | Counted | Paying | Paid | Written | Leaving | Failing | Finished | Stopped
Tell = Callable[[Event], None]


class _Garbage:
    """Garbage collection after sessions.

    A session leaves megabytes of cyclic garbage, which would spread among long-lived objects. So it is collected once
    enough may be there. Long-lived objects, such as the jobs, are skipped (`gc.freeze`), or each collection would take
    longer with every kept job. One in `WHOLE` looks at all objects: those in use earlier may be garbage by now.
    """

    def __init__(self) -> None:
        self._lock, self._size, self._times = threading.Lock(), 0, 0

    def add(self, size: int) -> None:
        """Note the end of a session that sent and received `size` bytes."""
        with self._lock:
            self._size += SESSION_BYTES + size
            if self._size < WORTH_BYTES:
                return
            self._size = 0
            is_whole = self._times % WHOLE == 0
            self._times += 1
        if is_whole:
            gc.unfreeze()
        gc.collect()
        if is_whole:
            gc.freeze()


_garbage = _Garbage()


class Worker:
    """A thread that carries out an order over a link that it dials or takes. `over` is called at its end."""

    def __init__(
        self,
        order: Order,
        dial: Callable[[], AbstractContextManager[Link | BothNodes]],
        tell: Tell,
        over: Callable[[], None],
        cut: Callable[[str], object] | None = None,
    ) -> None:
        self._order, self._dial, self._tell, self._over, self._cut = order, dial, tell, over, cut
        self._total = Cost()
        self._reported: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"smc-job-{order.job.id[:8]}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def abort(self, why: str) -> None:
        """Cut the session, if it can be cut yet."""
        if self._cut is not None:
            self._cut(why)

    @property
    def can_be_cut(self) -> bool:
        """True if the session can be cut."""
        return self._cut is not None

    def _run(self) -> None:
        self._work()
        _garbage.add(self._total.bytes_sent + self._total.bytes_received)

    def _report(self, event: Event) -> None:
        """Pass an event on; an error once, though several blocks report it on its way."""
        if not isinstance(event, Failing):
            self._tell(event)
        elif event.error is not self._reported:
            self._reported = event.error
            self._tell(event)

    def _work(self) -> None:
        try:
            with self._dial() as link, _reported_first(self._report):
                self._cut = link.channel.abort
                self._total = link.session().meter.total
                self._tell(Linked(self._total))
                session = _give if isinstance(link, BothNodes) else run
                finished = session(link, self._order, self._report)  # type: ignore[arg-type]
                self._cut = None  # both parties have sent their last message
                self._tell(finished)  # while the stream ends
        except BaseException as error:
            self._tell(Stopped(error))
        finally:
            self._over()


def run(link: Link, order: Order, tell: Tell) -> Finished:
    """Run a session: agree on the last common step, then compute from there to the end.

    The data is opened only if any step remains that no earlier job has answered, and both parties can pay.

    Args:
        link: Link with the peer.
        order: The job and its checkpoint.
        tell: Called with each event, in order.

    Returns:
        The event `Finished`, which the caller must pass on.
    """
    session, task = link.session(), order.job.task
    start, repeated = checkpoint.common(session, task, task.states.decode(order.state), order.stored)
    first = task.states.steps(start)
    if task.states.is_done(start):
        with _givers(link, order) as givers:
            tell(Met(first, ""))
            state, profile = start, "nothing to compute"
            _finish(link, order, givers, state)
    elif task.disclosure.spends and (earlier := precheck(session, order.terms)) is not None:
        tell(Met(first, "", repeats=earlier.job.id))
        state, profile = task.states.decode(earlier.state), f"nothing to compute: the result of job {earlier.job.id}"
        link.finish()
    else:
        chosen = _profile(link, order)
        profile = str(chosen)
        with _both_open(link, order, tell) as (ours, fingerprint, givers):
            both = exchange(session, order.identity, order.job, fingerprint) if fingerprint else None
            tell(Met(first, profile, both))
            openings = session.openings = WrittenFirst(session, repeated, tell)
            note_code(session, task)
            engine = engine_of(session, chosen)
            data = task.with_engine(engine, ours.data)
            if givers is not None:
                givers.start(first, task)
                engine.masked_numbers, data = True, joined(data, givers.ask)
            shards = sharded(link, engine, chosen, memory_of_shard(choice_for(task, order.inputs)))
            with shards, _reported_first(tell):  # before the end of our shards breaks the peer's
                state = task.run(engine, data, start, _reporting(session, task, openings, tell, givers))
            _finish(link, order, givers, state)
    return Finished(task.states.encode(state), session.meter.total, cost_report(link, profile))


def _finish(link: Link, order: Order, givers: Givers | None, state: State) -> None:
    link.finish()
    if givers is not None:
        givers.finished(order.job, order.job.task.states.encode(state))


def _give(both: BothNodes, order: Order, tell: Tell) -> Finished:
    """Give shares of our rows to both computing nodes until the job ends."""
    task, total = order.job.task, both.session().meter.total
    with ExitStack() as stack:
        with both.opening(), _reported_first(tell):
            ours, fingerprint = stack.enter_context(opened(order))
        rows = commit(order.identity, order.job.digest, fingerprint)

        def fits(step: Step) -> bool:
            bits, state = task.disclosure.bits.of_step(step), task.states.encode(step.state)
            try:
                tell(Reached(step.number, step.size, step.words, state, total, bits))
            except BitsError:
                return False
            return True

        def go(step: int) -> bytes:
            tell(Counted(step))
            tell(Paying(step))
            return order.word()

        turn = Turn(lambda first: tell(Met(first, SHARES, rows=rows)), fits, go)
        state = give(both, order.job, ours.data, turn)
    return Finished(state, total, cost_report(both.links[0], SHARES))


def _reporting(
    session: Session, task: Kind, openings: WrittenFirst, tell: Tell, givers: Givers | None
) -> Callable[[Step], None]:
    """Return the function to call before each step: it reports that the run has reached the step, and begins it.

    In between, bits of exact answers are booked if they fit at all parties, and the holders pay for the step.
    """

    def on_step(step: Step) -> None:
        bits, fits, state = task.disclosure.bits.of_step(step), True, task.states.encode(step.state)
        try:
            tell(Reached(step.number, step.size, step.words, state, session.meter.total, bits))
        except BitsError:
            fits = False
        holders_fit = None if givers is None else givers.fits(step, state)
        if bits:
            counting.agree(session, step, bits, fits, holders_fit)
            tell(Counted(step.number))
        for paid in () if givers is None else givers.go(step.number):
            tell(paid)
        openings.begin(step.number)

    return on_step


@contextmanager
def _both_open(link: Link, order: Order, tell: Tell) -> Iterator[tuple[Opened, str, Givers | None]]:
    """Open our data and the links to the holders, and yield them once the peer has done so too.

    Raise AwayError if our table is away, which the peer learns without the reason. Raise PeerAwayError if the peer's
    is. Raise LinkError if a holder is away.
    """
    session, task = link.session(), order.job.task

    with ExitStack() as stack:
        if not task.reads_table:
            yield *stack.enter_context(opened(order)), None
            return
        ours: tuple[Opened, str, Givers | None] | AwayError | LinkError
        with session.phase("checkpoint"):
            tell(Preparing("opening its table"))
            with readiness.telling(session):
                try:
                    ours = *stack.enter_context(opened(order)), stack.enter_context(_givers(link, order))
                except (AwayError, LinkError) as error:
                    tell(Failing(error))
                    ours = error
            ready = not isinstance(ours, AwayError | LinkError)
            theirs = readiness.exchange(session, ready, lambda: tell(Preparing("the peer is opening its table")))
        if isinstance(ours, AwayError | LinkError) or not theirs:
            with suppress(LinkError):  # part in order: this is no accident
                link.finish()
            away = PeerAwayError("the peer's table is not available now")
            raise ours if isinstance(ours, AwayError | LinkError) else away
        with _reported_first(tell):
            yield ours


@contextmanager
def _reported_first(tell: Tell) -> Iterator[None]:
    """Report an error of the block before it reaches a link, where another party would notice it."""
    try:
        yield
    except BaseException as error:
        tell(Failing(error))
        raise


@contextmanager
def _givers(link: Link, order: Order) -> Iterator[Givers | None]:
    if order.job.holding is None:
        yield None
        return
    with opened_doors(link, order.doors) as givers:
        yield givers


@contextmanager
def opened(order: Order) -> Iterator[tuple[Opened, str]]:
    """Open our data, check it, and yield it with its keyed fingerprint.

    Raises:
        AwayError: A table's rows are away or unfit; the peer must not see which of the two.
        InputError: The rows differ from those of earlier sessions, or the job no longer fits our public bounds.
    """
    task, keys = order.job.task, order.keys or commitment.keys(order.identity, order.job.id)
    if not order.gives:
        yield Opened(task.of_nobody()), ""
        return
    if misfit := refusal(task, order.inputs):
        raise InputError(misfit)
    with ExitStack() as stack:
        try:
            ours = stack.enter_context(task.open(replace(order.inputs, secret=bytes.fromhex(keys["choices"]))))
            fingerprint = "" if ours.fingerprint is None else ours.fingerprint(bytes.fromhex(keys["rows"])).hex()
        except AwayError:
            raise
        except InputError as error:
            if not task.reads_table:
                raise
            raise AwayError(without_cells(error)) from None
        if order.fingerprint and order.fingerprint != fingerprint:
            raise InputError("the table's rows have changed since the job began: it cannot go on; propose it anew")
        yield ours, fingerprint


def _profile(link: Link, order: Order) -> Profile:
    """Return the job's profile. A choice made for "auto" is kept: a later one may decide near-ties otherwise."""
    task, specification = order.job.task, order.job.specification
    contenders = profiles.contenders(task.about.integers, profiles.shards_of(specification))
    choice = choice_for(task, order.inputs)
    if link.options is not None and link.options.ray is None:
        check_memory(choice)
    if specification["engine"] == "auto":
        names = [str(profile) for profile in contenders]
        channel, none = link.session().channel, len(contenders)  # not part of the job's cost
        ours = [names.index(name) if name in names else none for name in (order.profile, str(choice.profile))]
        channel.send("checkpoint.profile", bytes(ours))
        theirs = list(bytes(channel.receive("checkpoint.profile", 2)))
        before = {ours[0], theirs[0]} - {none}
        if len(before) > 1 or max(before, default=0) > none or (not before and ours[1] != theirs[1]):
            raise ProtocolError("the two parties have used different profiles; propose the job anew")
        if before:
            return contenders[before.pop()]
    return profile_for(link, choice)
