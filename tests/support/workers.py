"""Both parties' workers of a session in one process: what each tells, over a link in memory that fails when told to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from parties.link.opening import Link
from parties.node.links.executor import Event, Order, Reached, Worker
from smc.channel import Buffer, Channel, MemoryChannel, memory_pair
from smc.errors import LinkError
from smc.link_shape import LinkShape
from smc.meter import Cost
from smc.session import Session
from tests.support.waiting import PATIENCE

Trouble = Callable[[str], object]


class Line(Channel):
    """One end of the line; `trouble` is asked with the name of every step before anything is sent."""

    def __init__(self, inner: MemoryChannel, trouble: Trouble) -> None:
        self._inner, self._trouble = inner, trouble

    def send(self, step: str, payload: Buffer) -> None:
        self._trouble(step)
        self._inner.send(step, payload)

    def receive(self, step: str, size: int) -> Buffer:
        return self._inner.receive(step, size)

    def abort(self, why: str) -> None:
        self._inner.close()


class MemoryLink:
    """As much of a link as a session needs."""

    options = None
    measured = LinkShape.parse("lan")
    measuring = Cost(bytes_sent=1000)
    pace = 1.0

    def __init__(self, session: Session) -> None:
        self._session, self.channel = session, session.channel

    def session(self) -> Session:
        return self._session

    def finish(self) -> None:
        self.channel.send("goodbye", b"")
        self.channel.receive("goodbye", 0)


@dataclass
class Heard:
    """What a worker has told; `overs` is how often it said that it is over, `refuses` raises what telling meets."""

    events: list[Event] = field(default_factory=list)
    overs: int = 0
    refuses: Callable[[Event], object] = lambda event: None

    def tell(self, event: Event) -> None:
        assert not self.overs, "told after its end"
        self.events.append(event)
        self.refuses(event)

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


class Noted(Line):
    """A line that keeps the shares that it sends, each with the step of the job in which it was sent."""

    heard: Heard  # by the party whose end it is

    def __init__(self, inner: MemoryChannel, trouble: Trouble) -> None:
        super().__init__(inner, trouble)
        self.shares: list[tuple[int, bytes]] = []

    def send(self, step: str, payload: Buffer) -> None:
        super().send(step, payload)
        if step == "reveal":
            now = [event.step for event in self.heard.events if isinstance(event, Reached)][-1]
            self.shares.append((now, bytes(payload)))


def peace(step: str) -> None:
    """No trouble."""


def breaks_at(step: str, times: int = 1) -> Trouble:
    """Trouble: the line is lost when a message of this step is sent for the n-th time."""
    seen: list[str] = []

    def trouble(now: str) -> None:
        seen.append(now)
        if seen.count(step) >= times:
            raise LinkError("the line is lost")

    return trouble


def worked(
    orders: tuple[Order, Order],
    troubles: tuple[Trouble, Trouble] = (peace, peace),
    refuses: Callable[[Event], object] | None = None,
    dial: Callable[[], Any] | None = None,
    lines: tuple[Callable[[MemoryChannel, Trouble], Channel], ...] = (Line, Line),
) -> tuple[Heard, Heard]:
    """Let both workers do their orders. `refuses` and `dial`, if given, are of party 1."""
    heard, identifier = (Heard(), Heard()), os.urandom(32)
    heard[1].refuses = refuses or heard[1].refuses
    ends = [threading.Event(), threading.Event()]
    for party, inner in enumerate(memory_pair(timeout=PATIENCE)):

        @contextmanager
        def link(party: int = party, inner: MemoryChannel = inner) -> Iterator[Link]:
            try:
                if party == 1 and dial is not None:
                    dial()
                line = lines[party](inner, troubles[party])
                if isinstance(line, Noted):
                    line.heard = heard[party]
                session = Session(party, line, identifier)
                yield cast("Link", MemoryLink(session))
            finally:
                inner.close()

        def over(party: int = party) -> None:
            heard[party].overs += 1
            ends[party].set()

        Worker(orders[party], link, heard[party].tell, over).start()
    for end in ends:
        assert end.wait(PATIENCE), "a worker does not end"
    return heard
