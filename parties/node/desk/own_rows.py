"""Remarks on a waiting job from this party's own rows, read when the operator looks and shown to the operator only.

The table is read in the background, once for each job. Nothing that a peer sees depends on it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass

from parties.jobs.kind import Inputs, Kind
from smc.errors import SmcError

SECONDS = 3.0  # that an operator waits for it at first
MOST_KEPT = 1024  # jobs with kept remarks


@dataclass
class _Look:
    thread: threading.Thread
    remarks: list[str]


class OwnRows:
    """Remarks on jobs from our own rows, kept until the node ends."""

    def __init__(self) -> None:
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._looks: dict[str, _Look] = {}

    def remarks(self, job: str, task: Kind, inputs: Inputs) -> list[str]:
        """Return the remarks on a job; an empty list if its table is still being read after `SECONDS`.

        Args:
            job: Identifier of the job.
            task: The task of the job.
            inputs: This party's inputs to it.
        """
        with self._lock:
            if job not in self._looks:
                while len(self._looks) >= MOST_KEPT:
                    self._looks.pop(next(iter(self._looks)))
                new_remarks: list[str] = []
                arguments = (new_remarks, task, inputs)
                thread = threading.Thread(target=self._look, args=arguments, name="smc-own-rows", daemon=True)
                self._looks[job] = _Look(thread, new_remarks)
                thread.start()
            look = self._looks[job]
        look.thread.join(SECONDS)
        return [*look.remarks]

    def _look(self, found: list[str], task: Kind, inputs: Inputs) -> None:
        with self._reading, suppress(SmcError):  # trouble with the table is reported by the session
            if not task.misfit(inputs):
                found += task.remarks(inputs)
