"""A thread that asks the decision point about peers' jobs that our rules permit, so that nothing else waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from parties.node.point.decision_point import AGAIN_SECONDS
from parties.node.records.sealed import errors
from smc.errors import InputError

LOOK_SECONDS = 60.0


class Unasked(Protocol):
    """The jobs of the ledger that the decision point must still decide."""

    def unasked(self) -> list[str]:
        """Return the jobs that the decision point has not decided yet."""

    def settle(self, identifier: str) -> bool:
        """Ask about one job and act on the answer; return whether there was one."""


class Asking:
    """A thread that asks about each job in turn; jobs without an answer come last. `tell` is the node's log."""

    def __init__(self, jobs: Unasked, tell: Callable[..., None]) -> None:
        self._jobs, self._log = jobs, tell
        self._tried: dict[str, float] = {}  # time of the last request without an answer, by job
        self._failing = False
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="smc-asking", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Ask about the undecided jobs now instead of at the next interval."""
        self._wake.set()

    def stop(self) -> None:
        """Begin no further request; one under way has its deadline."""
        self._stopped.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            if self._round():
                self._wake.wait(LOOK_SECONDS)
            else:
                self._stopped.wait(AGAIN_SECONDS)

    def _round(self) -> bool:
        """Ask about all jobs until one gets no answer; return whether all got one."""
        unasked = self._jobs.unasked()
        self._tried = {job: when for job, when in self._tried.items() if job in unasked}
        for job in sorted(unasked, key=lambda job: self._tried.get(job, 0.0)):
            if self._stopped.is_set():
                return True
            self._tried[job] = time.monotonic()
            try:
                answered = self._jobs.settle(job)
            except errors(InputError):  # the node is ending, cannot write now, or the job no longer exists
                answered = False
            if answered == self._failing:
                self._failing = not answered
                self._log("decision point", answers=answered)
            if not answered:
                return False
        return True
