"""One session of a job, by a worker that knows nothing of the node: a description goes in, events come out.

The description and the events are plain values, and a session can be cut from outside; so a worker may be a thread, as
here, or a process. What the node does about an event is `sessions`' business.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from parties.jobs import profiles
from parties.jobs.choosing import check_memory, choice_for, memory_of_shard
from parties.jobs.inputs import AwayError
from parties.jobs.kind import Inputs, Kind, Opened, Step, refusal
from parties.jobs.running import cost_report, note_code, profile_for
from parties.jobs.sharding import sharded
from parties.link.identity import Identity
from parties.link.opening import Link
from parties.node import checkpoint, commitment, counting, readiness
from parties.node.accounts import Terms
from parties.node.commitment import Commitments, exchange
from parties.node.counting import BitsError
from parties.node.openings import Leaving, Stored, Written, WrittenFirst
from parties.node.precheck import precheck
from parties.node.proposal import Proposal
from parties.node.readiness import PeerAwayError
from parties.tables.unfit import without_cells
from smc.engines import Profile, engine_of
from smc.errors import InputError, LinkError, ProtocolError
from smc.meter import Cost
from smc.session import Session

SESSION_BYTES = 1 << 16  # that a session leaves at least, about
WORTH_BYTES = 1 << 20  # of what sessions leave: then it is collected
WHOLE = 32  # times that it is: once all that stays is looked through, too


@dataclass(frozen=True)
class Order:
    """A worker's order. `state` is the checkpoint, `profile` and `fingerprint` those of sessions before.

    `identity` makes and signs commitments to private rows, `stored` is what sessions before have opened of a step.
    """

    job: Proposal
    inputs: Inputs
    state: Any
    profile: str
    fingerprint: str
    identity: Identity = field(repr=False)
    stored: Stored = field(default_factory=Stored, repr=False)
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True)
class Linked:
    """The peer is there. `total` is what the session has cost, and goes on counting."""

    total: Cost


@dataclass(frozen=True)
class Preparing:
    """Nothing is computed yet; what is waited for, in words."""

    words: str


@dataclass(frozen=True)
class Met:
    """Both go on from this step, with these commitments if rows are needed for it.

    Or an earlier job has answered it: then nothing is computed, and the profile is empty.
    """

    step: int
    profile: str
    commitments: Commitments | None = None
    earlier: str = ""


@dataclass(frozen=True)
class Reached:
    """All steps before this one are decided; `state` as JSON."""

    step: int
    size: int
    words: str
    state: Any
    total: Cost
    bits: int = 0  # of exact answers, that this step opens at most


@dataclass(frozen=True)
class Counted:
    """The bits of the step fit at both parties: it begins."""

    step: int


@dataclass(frozen=True)
class Finished:
    """The result is there, and the peer has it too; `state` as JSON."""

    state: Any
    total: Cost
    report: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Stopped:
    """The session has ended by an error."""

    error: BaseException


Event = Linked | Preparing | Met | Reached | Counted | Written | Leaving | Finished | Stopped
Tell = Callable[[Event], None]


class _Leavings:
    """What sessions have made goes in circles, megabytes of it: left for later, it grows in among what stays.

    So it is collected, once there may be enough of it: meanwhile nothing else in this process runs, for 30 ms and more.
    What stays, such as the jobs, is not looked through each time (`gc.freeze`): that would take longer with every job
    that a node keeps. One time in `WHOLE` all is, for what ran at the time before may be in circles by now.
    """

    def __init__(self) -> None:
        self._lock, self._size, self._times = threading.Lock(), 0, 0

    def add(self, size: int) -> None:
        """Note that a session has ended that sent and received so many bytes."""
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


_leavings = _Leavings()


class Worker:
    """A thread that carries out an order over a link that it dials, or takes, itself. `over` is called at its end."""

    def __init__(
        self,
        order: Order,
        dial: Callable[[], AbstractContextManager[Link]],
        tell: Tell,
        over: Callable[[], None],
        cut: Callable[[str], object] | None = None,
    ) -> None:
        self._order, self._dial, self._tell, self._over, self._cut = order, dial, tell, over, cut
        self._total = Cost()
        self._thread = threading.Thread(target=self._run, name=f"smc-job-{order.job.id[:8]}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def abort(self, why: str) -> None:
        """Cut the session, if there is anything to cut yet."""
        if self._cut is not None:
            self._cut(why)

    @property
    def can_be_cut(self) -> bool:
        """True if there is anything to cut."""
        return self._cut is not None

    def _run(self) -> None:
        self._work()
        _leavings.add(self._total.bytes_sent + self._total.bytes_received)

    def _work(self) -> None:
        try:
            with self._dial() as link:
                self._cut = link.channel.abort
                self._total = link.session().meter.total
                self._tell(Linked(self._total))
                finished = run(link, self._order, self._tell)
                self._cut = None  # both have had their last word
                self._tell(finished)  # while the stream ends
        except BaseException as error:
            self._tell(Stopped(error))
        finally:
            self._over()


def run(link: Link, order: Order, tell: Tell) -> Finished:
    """Run the session: agree on the last common step, go on from there to the end.

    The data are opened only if there is anything left to decide.
    """
    session, task = link.session(), order.job.task
    start, repeated = checkpoint.common(session, task, task.states.decode(order.state), order.stored)
    first = task.states.steps(start)
    if task.states.is_done(start):
        tell(Met(first, ""))
        state, profile = start, "nothing to compute"
    else:
        chosen = _profile(link, order)
        profile = str(chosen)
        with _both_open(link, order, tell) as (ours, fingerprint):
            both = exchange(session, order.identity, order.job, fingerprint) if fingerprint else None
            earlier = precheck(session, order.terms) if task.disclosure.spends else None
            if earlier is not None:
                tell(Met(first, "", both, earlier.job.id))
                state, profile = (
                    task.states.decode(earlier.state),
                    f"nothing to compute: the result of job {earlier.job.id}",
                )
            else:
                tell(Met(first, profile, both))
                openings = session.openings = WrittenFirst(session, repeated, tell)
                note_code(session, task)
                engine = engine_of(session, chosen)
                with sharded(link, engine, chosen, memory_of_shard(choice_for(task, order.inputs))):
                    state = task.run(engine, ours.data, start, _reporting(session, task, openings, tell))
    link.finish()
    return Finished(task.states.encode(state), session.meter.total, cost_report(link, profile))


def _reporting(session: Session, task: Kind, openings: WrittenFirst, tell: Tell) -> Callable[[Step], None]:
    """Return what is called before each step: it tells the event, then the step contributes to joint randomness.

    Bits of exact answers are booked in between, if they fit at both parties.
    """

    def on_step(step: Step) -> None:
        bits, fits = task.disclosure.bits.of_step(step), True
        try:
            tell(Reached(step.number, step.size, step.words, task.states.encode(step.state), session.meter.total, bits))
        except BitsError:
            fits = False
        if bits:
            counting.agree(session, step, bits, fits)
            tell(Counted(step.number))
        openings.begin(step.number)

    return on_step


@contextmanager
def _both_open(link: Link, order: Order, tell: Tell) -> Iterator[tuple[Opened, str]]:
    """Open our data, and give them with their fingerprint once the peer's are there too.

    `AwayError` if our table is away, which the peer is told, without the reason; `PeerAwayError` if the peer's is.
    """
    session, task = link.session(), order.job.task

    with ExitStack() as stack:
        if not task.reads_table:
            yield stack.enter_context(opened(order))
            return
        ours: tuple[Opened, str] | AwayError
        with session.phase("checkpoint"):
            tell(Preparing("opening its table"))
            with readiness.telling(session):
                try:
                    ours = stack.enter_context(opened(order))
                except AwayError as error:
                    ours = error
            ready = not isinstance(ours, AwayError)
            theirs = readiness.exchange(session, ready, lambda: tell(Preparing("the peer is opening its table")))
        if isinstance(ours, AwayError) or not theirs:
            with suppress(LinkError):  # part in order: this is no accident
                link.finish()
            raise ours if isinstance(ours, AwayError) else PeerAwayError("the peer's table is away")
        yield ours


@contextmanager
def opened(order: Order) -> Iterator[tuple[Opened, str]]:
    """Open our data, checked, and give them with their keyed fingerprint.

    `AwayError` if a table's rows are away, or not fit: the peer must not see which it is. `InputError` if they are not
    those of sessions before any more, or if the job does not fit our public bounds any more.
    """
    task, secret = order.job.task, commitment.key(order.identity, order.job, "choices")
    if misfit := refusal(task, order.inputs):
        raise InputError(misfit)
    with ExitStack() as stack:
        try:
            ours = stack.enter_context(task.open(replace(order.inputs, secret=secret)))
            fingerprint = _fingerprint(order, ours)
        except AwayError:
            raise
        except InputError as error:
            if not task.reads_table:
                raise
            raise AwayError(without_cells(error)) from None
        if order.fingerprint and order.fingerprint != fingerprint:
            raise InputError("the table's rows have changed since the job began: it cannot go on; propose it anew")
        yield ours, fingerprint


def _fingerprint(order: Order, ours: Opened) -> str:
    if ours.fingerprint is None:
        return ""
    return ours.fingerprint(commitment.key(order.identity, order.job)).hex()


def _profile(link: Link, order: Order) -> Profile:
    """Return the profile of the job. What "auto" has chosen is kept: another may decide near-ties else."""
    task, specification = order.job.task, order.job.specification
    contenders = profiles.contenders(task.about.integers, profiles.shards_of(specification))
    choice = choice_for(task, order.inputs)
    if link.options is not None and link.options.ray is None:
        check_memory(choice)
    if specification["engine"] == "auto":
        names = [str(profile) for profile in contenders]
        channel, none = link.session().channel, len(contenders)  # no cost of the job
        ours = [names.index(name) if name in names else none for name in (order.profile, str(choice.profile))]
        channel.send("checkpoint.profile", bytes(ours))
        theirs = list(bytes(channel.receive("checkpoint.profile", 2)))
        before = {ours[0], theirs[0]} - {none}
        if len(before) > 1 or max(before, default=0) > none or (not before and ours[1] != theirs[1]):
            raise ProtocolError("the two parties know different profiles of the job: it cannot go on")
        if before:
            return contenders[before.pop()]
    return profile_for(link, choice)
