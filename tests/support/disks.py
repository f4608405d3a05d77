"""Sessions of a job in one process, and what the parties' disks hold of it between them, by what their workers tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from parties.jobs.kind import digest
from parties.node.exchanges.openings import Stored
from parties.node.links.executor import Event, Finished, Leaving, Order, Reached, Written
from smc.channel import Channel, MemoryChannel
from tests.support.workers import Heard, Noted, Trouble, peace, worked

Opening = tuple[int, int]  # its step and its place in that


class Disk:
    """One party's."""

    def __init__(self) -> None:
        self.state: Any = None
        self.stored = Stored()
        self.finished = False

    def hear(self, events: Iterable[Event]) -> None:
        """Write down what a session told, as the ledger does."""
        for event in events:
            match event:
                case Reached(state=state):
                    self.state = state
                case Finished(state=state):
                    self.state, self.finished = state, True
                case Written(step, place, share, seed):
                    before = self.stored.shares[:place] if self.stored.step == step else ()
                    assert len(before) == place, "a share is written at a place before which there is none"
                    left = min(self.stored.left, place) if self.stored.step == step else 0
                    self.stored = Stored(step, left, (*before, share), seed)
                case Leaving(step, place):
                    assert self.stored.step == step
                    assert place <= self.stored.left, "shares leave in their order"
                    self.stored = replace(self.stored, left=max(self.stored.left, place + 1))

    def order(self, fresh: Order) -> Order:
        """The order of the next session."""
        return replace(fresh, state=self.state, stored=self.stored)


class Job:
    """Sessions of a job, until both have its result. `sent`: all shares that each party has sent of every opening."""

    def __init__(self, *orders: Order, lines: tuple[Any, Any] = (Noted, Noted)) -> None:
        self.orders, self.lines = orders, lines
        self.disks = Disk(), Disk()
        self.sent: tuple[dict[Opening, set[bytes]], dict[Opening, set[bytes]]] = ({}, {})

    def session(self, *troubles: Trouble) -> tuple[Heard, Heard]:
        """One more; `troubles` are both parties'."""
        made: dict[int, Any] = {}

        def line(party: int) -> Callable[[MemoryChannel, Trouble], Channel]:
            def make(inner: MemoryChannel, trouble: Trouble) -> Channel:
                made[party] = self.lines[party](inner, trouble)
                return made[party]  # type: ignore[no-any-return]

            return make

        orders = [disk.order(order) for disk, order in zip(self.disks, self.orders, strict=True)]
        both = troubles or (peace, peace)
        heard = worked((orders[0], orders[1]), (both[0], both[1]), lines=(line(0), line(1)))
        for party, one in enumerate(heard):
            self.disks[party].hear(one.events)
            places: Counter[int] = Counter()
            for step, share in made[party].shares:
                self.sent[party].setdefault((step, places[step]), set()).add(share)
                places[step] += 1
        return heard

    def finish(self) -> None:
        """Sessions without trouble to the end."""
        for _ in range(3):
            if all(disk.finished for disk in self.disks):
                return
            self.session()
        assert all(disk.finished for disk in self.disks)

    def opened_once(self) -> None:
        """Both have one result, and no opening had two shares of a party."""
        task = self.orders[0].job.task
        assert digest(task, task.states.decode(self.disks[0].state)) == digest(
            task, task.states.decode(self.disks[1].state)
        )
        assert self.sent[0].keys() == self.sent[1].keys()
        for sent in self.sent:
            assert {len(shares) for shares in sent.values()} == {1}


def messages_of(job: Job) -> list[tuple[str, int]]:
    """All messages of party 0 in an unbroken session: the step, and the how manieth of that step."""
    seen: list[str] = []
    job.session(seen.append, peace)
    return [(step, seen[: number + 1].count(step)) for number, step in enumerate(seen)]
