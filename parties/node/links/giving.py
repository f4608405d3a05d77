"""Session of a job with its holders of rows: what a computing node asks, and what a holder answers.

Both nodes send a holder each message alike, or it answers nothing more:

- *start*: the step from which the nodes go on, and the digest of their code of the protocol;
- *step*: the public state before a step. The holder answers whether the bits of the step fit its table's bound;
- *go*: the step begins. The holder's ledger pays for it. It answers with its signed statement, which says so;
- a question for shares, see `parties.jobs.holders`: after *start*, and not between *step* and *go*;
- *refused*: the nodes stop, with the reason if it is public;
- *end*: the job is computed. Holders that get the result receive the last state.

A node stores the statement before it goes on. So every holder has paid before a share of an opening leaves a node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from parties.base.canonical import canonical
from parties.base.code_digest import code_of_kind
from parties.base.text import printable
from parties.jobs.contributing import answer, same
from parties.jobs.holders import Door, Holders, receive_sized, send_sized
from parties.jobs.kind import Kind, State, Step
from parties.link.measurement import MeteredChannel
from parties.link.opening import Link, link_over, open_link
from parties.link.options import LinkOptions
from parties.node.exchanges import readiness
from parties.node.exchanges.counting import PastBitsError
from parties.node.proposal import Proposal
from smc.errors import JobMismatchError, JointRefusalError, LinkError, ProtocolError
from smc.session import Session

LABEL = "rows "
DOOR_SECONDS = 8.0  # for the streams of all holders, once a session has begun
SILENCE_SECONDS = 3600.0  # of a node that computes a step; a dead link ends earlier
FITS, TOO_MUCH = b"\x01", b"\x00"
ROWS_REFUSE = "the two that compute have stopped: what they computed does not allow a result"


@dataclass(frozen=True)
class Paid:
    """A holder has paid for a step: its signed statement, by the name of the holder here."""

    name: str
    step: int
    statement: bytes


def asking(options: LinkOptions, identifier: str) -> LinkOptions:
    """Return the options of a link between a node and a holder for one job; both ends use them.

    Args:
        options: Options of the standing link.
        identifier: The job.
    """
    return replace(options, label=LABEL + identifier, shape=None, kernels=(), measure=False)


class Givers(Holders):
    """Open links to all holders of a node's job, with their names here."""

    def __init__(self, party: int, links: Mapping[str, Link]) -> None:
        super().__init__(party, [*links.values()])
        self._names = [*links]

    def start(self, step: int, task: Kind) -> None:
        """Tell all holders the step from which this session goes on.

        Args:
            step: The step.
            task: The task, whose code the holders compare with theirs.
        """
        self.send(canonical({"start": step, "code": code_of_kind(type(task))}).encode())

    def fits(self, step: Step, state: Any) -> bool:
        """Return whether the bits of a step fit all holders' bounds. Raise ProtocolError if an answer is unknown.

        Args:
            step: The step.
            state: The state before it, as JSON.
        """
        fields = {"step": step.number, "size": step.size, "words": step.words, "state": state}
        self.send(canonical(fields).encode())
        answers = [bytes(channel.receive("fits", 1)) for channel in self.channels]
        if not {*answers} <= {FITS, TOO_MUCH}:
            raise ProtocolError("a holder's answer about a step's bits is neither yes nor no")
        return TOO_MUCH not in answers

    def go(self, step: int) -> Iterator[Paid]:
        """Begin a step; yield for each holder its signed statement that it has paid for the step."""
        self.send(canonical({"go": step}).encode())
        for name, channel in zip(self._names, self.channels, strict=True):
            yield Paid(name, step, receive_sized(channel, "paid"))

    def finished(self, job: Proposal, state: Any) -> None:
        """Tell all holders that the job is computed, and those that get the result the last state.

        Args:
            job: The job.
            state: The state, as JSON.
        """
        assert job.holding is not None
        for holder, channel in zip(job.holding.holders, self.channels, strict=True):
            shown = state if holder in job.holding.to else None
            send_sized(channel, "question", canonical({"end": True, "state": shown}).encode())


def shown_to_holders(refusal: JointRefusalError) -> str:
    """Return the text of a refusal for holders; a fixed one if the refusal may depend on rows."""
    return str(refusal) if isinstance(refusal, PastBitsError) else ROWS_REFUSE


@contextmanager
def opened_doors(peer: Link, doors: Mapping[str, Door]) -> Iterator[Givers]:
    """Wait for the streams of all holders and yield their links once all have opened their tables.

    If the block ends by a refusal on which both nodes have agreed, the holders hear it.

    Args:
        peer: The link with the other node.
        doors: The door of each holder, where its stream arrives, by name, in the job's order.

    Raises:
        LinkError: A holder does not come in time, or its table is away; or the other node has left.
    """

    def check_peer() -> None:
        if peer.channel.ended.is_set():
            raise LinkError("the peer has left while holders were awaited")

    deadline = time.monotonic() + DOOR_SECONDS
    with _refused_in_full(), ExitStack() as stack:
        links = {}
        for name, door in doors.items():
            if (stream := door.accepted(deadline, check_peer)) is None:
                raise LinkError(f"waits for holder {name}, which does not answer")
            links[name] = stack.enter_context(link_over(stream, door.options, door.hello))
        for name, link in links.items():
            with link.session().phase("checkpoint"):
                if not readiness.exchange(link.session(), True, lambda: None):
                    raise LinkError(f"waits for holder {name}, whose table is away")
        givers = Givers(peer.party, links)
        try:
            yield givers
        except JointRefusalError as refusal:
            shown = shown_to_holders(refusal)
            givers.send(canonical({"refused": shown}).encode())
            raise JointRefusalError(shown) from refusal  # the goodbye to holders has a digest of this text
        finally:
            givers.add_cost(peer.session().meter)


@contextmanager
def _refused_in_full() -> Iterator[None]:
    """Raise the refusal on which the two nodes agreed, in place of the shorter one that holders were shown."""
    try:
        yield
    except JointRefusalError as shown:
        raise shown.__cause__ or shown from None


class BothNodes:
    """A holder's links to both computing nodes of one job, cut and counted as one: the meter of party 0's has both."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links, self.channel = links, self
        meter = self.session().meter
        self.channels = [MeteredChannel(link.channel, meter) for link in links]
        for link in links:
            link.session().meter = meter

    def abort(self, why: str) -> None:
        """Cut both links."""
        for link in self.links:
            link.channel.abort(why)

    def session(self) -> Session:
        """Return the session with party 0, whose meter stands for both."""
        return self.links[0].session()

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Send signs of life to both nodes while the block opens our table; tell them whether it is open."""
        with ExitStack() as stack:
            stack.enter_context(self.session().phase("checkpoint"))
            is_open = False
            try:
                with ExitStack() as alive:
                    for link in self.links:
                        alive.enter_context(readiness.telling(link.session()))
                    yield
                is_open = True
            finally:
                for link in self.links:  # both at once: one node may wait for our answer to the other
                    readiness.say(link.session(), is_open)
                for link in self.links:
                    readiness.hear(link.session())


@contextmanager
def both_dialled(ways: Sequence[LinkOptions], job: Proposal) -> Iterator[BothNodes]:
    """Dial both computing nodes, parties 0 and 1.

    Args:
        ways: Options of the links.
        job: The job, which the hellos compare.
    """
    with ExitStack() as stack:
        asked = [replace(asking(way, job.id), timeout=SILENCE_SECONDS) for way in ways]
        yield BothNodes([stack.enter_context(open_link(way, job.job)) for way in asked])


@dataclass(frozen=True)
class Turn:
    """Actions of a holder at the messages of the nodes; each function returns once its effect is on the disk.

    `start` begins the session. `step` returns whether the bits of a step fit the budget. `go` pays for the step, and
    returns the signed statement.
    """

    start: Callable[[int], object]
    step: Callable[[Step], bool]  # whether its bits fit
    go: Callable[[int], bytes]  # the signed statement


def give(both: BothNodes, job: Proposal, data: Any, turn: Turn) -> Any:
    """Answer both nodes until the job ends; return the last state as JSON, None if the result is for others.

    Args:
        both: Links to the nodes.
        job: The job.
        data: Own data, as the task's `run` takes them; private.
        turn: What to do at each message.

    Raises:
        PastBitsError: The nodes stop before a step, whose bits do not fit somewhere.
        JobMismatchError: The nodes send different messages, or run other code; nothing is answered.
        ProtocolError: A message does not belong to the job, or is not in turn.
    """
    channels, number, code = both.channels, 0, code_of_kind(type(job.task))
    begun, announced, fits = False, -1, False  # announced: the step that has not begun yet
    while "end" not in (asked := same(channels, "question")):
        match asked:
            case {"start": int(first), "code": str(theirs)} if not begun:
                if theirs != code:
                    raise JobMismatchError(
                        f"the nodes run other code of the protocol ({printable(theirs)}, here {code}): "
                        "all need the same release"
                    )
                begun = True
                turn.start(first)
            case {"step": int(step), "size": int(size), "words": str(words), "state": state} if begun:
                announced = step
                fits = turn.step(Step(step, size, _decoded(job, state), words))
                for channel in channels:
                    channel.send("fits", FITS if fits else TOO_MUCH)
            case {"go": int(step)} if step == announced and fits:
                announced, word = -1, turn.go(step)
                for channel in channels:
                    send_sized(channel, "paid", word)
            case {"refused": str(why)}:
                raise PastBitsError(printable(why))
            case _ if begun and announced < 0:
                answer(job.task, data, channels, asked, number)
                number += 1
            case _:
                raise ProtocolError("the nodes send a message that is not the next one: nothing more is answered")
    return asked.get("state")


def _decoded(job: Proposal, state: Any) -> State:
    try:
        return job.task.states.decode(state)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ProtocolError("the nodes send a state that the job cannot have") from None
