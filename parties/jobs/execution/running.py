"""Execution of a task over a link, by a command, a notebook or a node."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parties.base import memory
from parties.base.code_digest import code_of_kind
from parties.base.console import MEASURING, StatusLine, size
from parties.base.text import visible
from parties.link.identity import (
    SHORT,
    Identity,
    common_name,
    fingerprint,
    load_certificate,
    load_identity,
    short_fingerprint,
)
from parties.link.settings import LinkSettings, require_link
from smc.errors import InputError, JobMismatchError, ProtocolError, SmcError

if TYPE_CHECKING:  # slow imports happen where they are used, if possible while waiting for the peer
    from parties.jobs.execution.engine_selection import Choice
    from parties.jobs.holders import Givers, Holders
    from parties.jobs.kind import Kind, State
    from parties.link.opening import Link
    from parties.link.options import LinkOptions
    from smc.engines import Engine, Profile
    from smc.session import Session

Report = dict[str, Any]


MORE = 4  # a run may cost 4 x what it has cost so far once both operators agree
ANSWER_SECONDS = 60.0  # limit for the operator's answer; the peer waits meanwhile
DECLINE_SECONDS = 2.0  # a peer that waits dials again within this time


class Connection:
    """Connection to the peer, not dialled yet: keys and certificates are read and checked."""

    def __init__(self, settings: LinkSettings) -> None:
        self._link = require_link(settings)
        self._identity: Identity = load_identity(self._link.identity, self._link.certificate)
        self._peer = load_certificate(self._link.peer)

    @property
    def party(self) -> int:
        """0 if this party listens, 1 if it connects."""
        return 0 if self._link.listen is not None else 1

    def run_task(
        self,
        task: Kind,
        data: Any,
        status: StatusLine,
        on_engine: Callable[[Profile], object] = lambda _: None,
        givers: Givers | None = None,
    ) -> tuple[State, Report]:
        """Run a task from its beginning on this party's data; return its final state and the cost report.

        Args:
            task: The task.
            data: This party's data, as the task's `run` takes them.
            status: Progress line.
            on_engine: Called with the profile before the computation, if the link decided it.
            givers: Further holders of rows; None for the rows of both parties alone.

        Raises:
            InputError: A machine of this party cannot do its part; the peer is informed.
            LinkError: The peer cannot be reached, or the link fails.
            JobMismatchError: The peer's job differs.
            LargerThanForecastError: The run has cost more than allowed, and one operator does not go on.
        """
        from parties.jobs.execution.engine_selection import check_memory, choice_for, memory_of_shard
        from parties.jobs.execution.profiles import shards_of
        from parties.jobs.inputs import Inputs
        from parties.jobs.kind import LargerThanForecastError, digest

        choice = choice_for(task, Inputs(self.party))
        try:
            if self._link.ray is None:
                check_memory(choice)
            elif shards_of(task.specification()) > 1:
                from parties.jobs.execution.ray_shards import require_ray

                require_ray()
        except InputError:
            with suppress(SmcError):
                self.decline()
            raise
        specification = task.specification()
        if givers is not None:
            specification |= givers.terms(self.party, self._identity.certificate, self._peer).public()
        with (
            _naming_holders(givers),
            self.agreed(specification, status, choice, lambda: code_of_kind(type(task))) as run,
            nullcontext() if givers is None else self._holders(givers, specification, run.link, status) as holders,
        ):
            from parties.jobs.execution.sharding import sharded

            if holders is not None:
                from parties.jobs.holders import joined

                run.engine.masked_numbers, data = True, joined(data, holders.ask)

            note_code(run.session, task)
            data = task.with_engine(run.engine, data)
            if choice.profile is None:
                on_engine(run.profile)
            with sharded(run.link, run.engine, run.profile, memory_of_shard(choice)), status.reporting():
                state = task.states.beginning
                while True:
                    try:
                        state = task.run(run.engine, data, state, lambda step: status.doing(step.words))
                        break
                    except LargerThanForecastError as error:
                        allowed = MORE * error.spent
                        question = f"{error}\nGo on, up to {size(allowed)}? [y/N] "
                        ours = status.asked(question, min(ANSWER_SECONDS, self._link.timeout / 2))
                        with status.waiting("the peer is asked the same: waiting for its answer", self._link.timeout):
                            if not _both_say_yes(run.session, ours):
                                raise
                        task, state = error.allowing(allowed), error.state
            if holders is not None:
                holders.add_cost(run.session.meter)
            report = run.finish(digest(task, state))
            if holders is not None:
                holders.end()
            return state, report

    def _holders(
        self, givers: Givers, specification: Report, link: Link, status: StatusLine
    ) -> AbstractContextManager[Holders]:
        from parties.jobs.holders import open_holders

        def check_peer() -> None:
            if link.channel.ended.is_set():
                link.channel.receive("holders", 0)  # raises the peer's reason

        way = self._link
        terms = (self._identity, givers, self.party, specification, way.wait, way.timeout)
        return open_holders(*terms, status, way.classical, check_peer)

    def _options(self) -> LinkOptions:
        from parties.link.options import options_of

        return options_of(self._link, self._identity, self._peer, wait=self._link.wait)

    def decline(self) -> None:
        """Inform a waiting peer that this party gives up because of its own input, without the reason."""
        from parties.link.opening import decline

        decline(replace(self._options(), wait=min(DECLINE_SECONDS, self._link.wait), shape=None))

    @contextmanager
    def agreed(
        self,
        specification: Mapping[str, Any],
        status: StatusLine,
        choice: Choice,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Iterator[Run]:
        """Reach the peer and agree on the job; yield the engine for it.

        If the choice leaves the profile to the link, both parties measure the link and take the fastest profile.

        Args:
            specification: The public specification of the job.
            status: Progress line.
            choice: The choice of the profile.
            meanwhile: Called while this party waits for the peer.

        Raises:
            LinkError: The peer cannot be reached, or the link fails.
            JobMismatchError: The peer's job differs.
        """
        from parties.jobs.execution.engine_selection import agreed_fields, warning_of
        from parties.link.opening import open_link
        from smc.kernels.warm import NOTICE

        memory.keep_freed()
        if warning := warning_of(choice):
            status.say(warning)
        auto = choice.profile is None
        way = self._link
        waiting = f"waiting for the peer with certificate {short_fingerprint(self._peer)}"

        def compiling(done: int, total: int) -> None:
            status.share(NOTICE, done, total)
            if done == total:
                status.doing(waiting)

        options = replace(
            self._options(),
            measure=auto,
            on_listening=lambda address: status.say(f"listening on {address}"),
            on_waiting=lambda left: status.log(f"no answer yet at {way.connect}; dialling on for {left:.0f} s"),
            meanwhile=lambda: (importlib.import_module("smc.engines"), meanwhile()),
            kernels=kernels_of(choice.possible),
            on_compile=compiling,
        )
        status.doing(waiting)
        if way.connect is not None:
            status.log(f"dialling {way.connect}, for {way.wait:g} s at most")
        with ExitStack() as opened:
            with nullcontext() if way.listen is None else status.waiting(waiting, way.wait, first=30, again=30):
                link = opened.enter_context(open_link(options, agreed_fields(specification, choice)))
            from smc.engines import engine_of

            if auto:
                status.doing("choosing the engine")
            profile = profile_for(link, choice)
            if auto:
                status.say(f"engine auto, on {link.measured}: {profile}")
            status.doing("computing")
            session = link.session()
            yield Run(link, session, profile, engine_of(session, profile))


@dataclass(frozen=True)
class Run:
    """A job that both parties have agreed on, with its link, this party's session, and its engine."""

    link: Link
    session: Session
    profile: Profile
    engine: Engine

    def finish(self, digest: bytes = b"") -> Report:
        """End the job and return the cost report. Raise ProtocolError if the parties' digests of the result differ."""
        report = cost_report(self.link, str(self.profile))
        self.link.finish(digest)
        return report


@contextmanager
def declining(settings: LinkSettings) -> Iterator[None]:
    """Inform a waiting peer if the enclosed block finds this party's own input invalid, without the reason."""
    try:
        yield
    except InputError:
        with suppress(SmcError):
            Connection(settings).decline()
        raise


@contextmanager
def _naming_holders(givers: Givers | None) -> Iterator[None]:
    """Name the differing options about holders in the enclosed block's JobMismatchError, as they were typed."""
    try:
        yield
    except JobMismatchError as error:
        for one, other, who in (
            (error.theirs, error.ours, "this command"),
            (error.ours, error.theirs, "the peer's command"),
        ):
            if "holder_rows" in one.keys() - other:
                raise JobMismatchError(f"{who} has no --holders; both need it, with equal lists: {error}") from None
        if givers is not None and (differing := _differing_terms(givers, error.ours, error.theirs)):
            raise JobMismatchError(
                f"both parties that compute need equal --holders, --max-rows and --compute-only: {'; '.join(differing)}"
            ) from None
        raise


def _differing_terms(givers: Givers, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return the differences of two jobs in options about holders; none if the jobs differ in other options too.

    Args:
        givers: This party's holders.
        ours: This party's job.
        theirs: The peer's job.
    """
    terms = {"holders", "holder_rows", "nodes_give", "max_rows"}  # max_rows follows from the others
    if any(ours.get(name) != theirs.get(name) for name in {*ours, *theirs} - terms):
        return []
    names = {fingerprint(one): f"{common_name(one)} ({short_fingerprint(one)})" for one in givers.certificates}
    here, there = (some if isinstance(some := job.get("holders"), list) else [] for job in (ours, theirs))
    lines = [f"the peer's --holders lacks {names.get(one, one)}" for one in here if one not in there]
    lines += [f"--holders here lacks the certificate {visible(str(one)[:SHORT])}" for one in there if one not in here]
    rows, peer_rows = ours.get("holder_rows"), visible(str(theirs.get("holder_rows")))
    if str(rows) != peer_rows:
        lines.append(f"--max-rows is {rows} here, {peer_rows} at the peer")
    if ours.get("nodes_give") != theirs.get("nodes_give"):
        lines.append(f"--compute-only is given {'at the peer' if ours.get('nodes_give') else 'here'} only")
    return lines


def note_code(session: Session, task: Kind) -> None:
    """Record the name and the code digest of a job's protocol: the engine's first message compares them.

    Args:
        session: The session.
        task: The job.
    """
    session.agreement.note_code(f"protocol {task.name} of code {code_of_kind(type(task))}")


def _both_say_yes(session: Session, ours: bool) -> bool:
    import numpy as np

    with session.phase("going on"):
        session.send("going on", np.array([ours], dtype=np.uint8))
        return bool(session.receive("going on", np.uint8, (1,))[0]) and ours


def cost_report(link: Link, profile: str) -> Report:
    """Return the cost of a link's session, and the cost of measuring the link if it was measured.

    Args:
        link: The connected link.
        profile: Name of the profile that computed the job.
    """
    report = {"profile": profile, **link.session().meter.report()}
    if link.measuring is not None:
        report[MEASURING] = {"link": str(link.measured), **link.measuring.as_dict()}
    return report


def kernels_of(profiles: Sequence[Profile]) -> list[str]:
    """Return the kernel modules that a run on one of these profiles may call."""
    return list(dict.fromkeys(module for profile in profiles for module in profile.kernels))


def profile_for(link: Link, choice: Choice) -> Profile:
    """Return the profile of the choice, or the fastest one on the measured link.

    Both parties compute it from the same numbers and compare their choices.

    Args:
        link: The connected link.
        choice: Candidates, and the cost of the job for each.

    Raises:
        ProtocolError: The parties' choices differ.
    """
    if choice.profile is not None:
        return choice.profile
    assert link.measured is not None
    possible = choice.possible
    chosen = choice.quickest(link.measured, link.pace)
    ours = possible.index(chosen)
    link.channel.send("profile", bytes([ours]))
    peers = bytes(link.channel.receive("profile", 1))[0]
    if peers != ours:
        theirs = possible[peers] if peers < len(possible) else "another"
        raise ProtocolError(f"engine auto: ours chose {chosen}, the peer's {theirs}; name an engine on both sides")
    return chosen
