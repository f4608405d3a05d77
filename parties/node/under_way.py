"""A session under way: how far it is, and a way to cut it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from parties.node.executor import Reached, Worker
from parties.operator.interface import Progress
from smc.meter import Cost


@dataclass
class Running:
    """A session under way, as its worker's events tell; `why` is the reason if it was cut."""

    started: float = field(default_factory=time.monotonic)
    worker: Worker | None = None
    why: str = ""
    shards: tuple[int, int] = (0, 0)  # its processes, and the bytes that they take by forecast
    linked: bool = False  # the peer is there: from now on our rows may decide what happens
    begun: bool = False
    counted: bool = False  # it is a try, by the records
    leaving: bool = False  # a share of ours has left, or may have
    doing: str = "beginning"
    first: int = 0
    step: Reached | None = None
    cost: Cost = field(default_factory=Cost)
    costs_of_steps: tuple[int, ...] = ()  # of a typical run: none if it could not be counted

    @property
    def got_further(self) -> bool:
        """True if it has decided a step that the sessions before had not."""
        return self.step is not None and self.step.step > self.first

    def abort(self, why: str) -> None:
        """Cut it, if there is anything to cut yet; of several reasons the first counts."""
        if self.worker is not None and self.worker.can_be_cut:
            self.why = self.why or why
            self.worker.abort(why)

    def progress(self) -> Progress:
        """Return where it is."""
        seconds = time.monotonic() - self.started
        step = self.step.step if self.step is not None else self.first
        done, ahead = sum(self.costs_of_steps[self.first : step]), sum(self.costs_of_steps[step:])
        return Progress(
            depth=step,
            nodes=self.step.size if self.step is not None else 0,
            doing=self.step.words if self.step is not None else self.doing,
            bytes_sent=self.cost.bytes_sent,
            bytes_received=self.cost.bytes_received,
            rounds=self.cost.rounds,
            seconds=round(seconds, 1),
            seconds_left=round(seconds * ahead / done, 1) if done else None,
        )
