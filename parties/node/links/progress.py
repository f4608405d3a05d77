"""A session under way: its progress, and a way to cut it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from parties.jobs.holders import Door
from parties.node.links.executor import Reached, Worker
from parties.operator.interface import Progress
from smc.meter import Cost


@dataclass
class Running:
    """A session under way, updated by its worker's events; `why` is the reason if it was cut."""

    started: float = field(default_factory=time.monotonic)
    worker: Worker | None = None
    why: str = ""
    doors: dict[str, Door] = field(default_factory=dict)  # of the job's holders, by name
    shards: tuple[int, int] = (0, 0)  # number of shard processes, and the forecast of the bytes that they take
    linked: bool = False  # the peer is connected: from now on our rows may decide what happens
    failing: BaseException | None = None  # the error by which it ends, once the job is charged for that
    begun: bool = False
    counted: bool = False  # the records count it as a try
    leaving: bool = False  # a share of ours has left, or may have
    doing: str = "beginning"
    first: int = 0
    step: Reached | None = None
    cost: Cost = field(default_factory=Cost)
    costs_of_steps: tuple[int, ...] = ()  # of a typical run; empty if it could not be counted

    @property
    def got_further(self) -> bool:
        """True if this session has decided a step that no earlier session had decided."""
        return self.step is not None and self.step.step > self.first

    def abort(self, why: str) -> None:
        """Cut the session, if it can be cut yet; the first of several reasons counts."""
        if self.worker is not None and self.worker.can_be_cut:
            self.why = self.why or why
            self.worker.abort(why)

    def progress(self) -> Progress:
        """Return the progress of the session."""
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
