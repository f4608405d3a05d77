"""What our own rows say of a job that waits for our operator: looked at when the operator looks, told to nobody else.

The table is read beside all else, once for a job. Nothing that a peer sees depends on it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass

from parties.jobs.kind import Inputs, Kind
from smc.errors import SmcError

SECONDS = 3.0  # that an operator waits for it at first
MOST_KEPT = 1024  # jobs


@dataclass
class _Look:
    thread: threading.Thread
    remarks: list[str]


class OwnRows:
    """Remarks on jobs by our own rows, kept until the node ends."""

    def __init__(self) -> None:
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._looks: dict[str, _Look] = {}

    def remarks(self, job: str, task: Kind, inputs: Inputs) -> list[str]:
        """Return what is known of a job: nothing as long as the table is being read."""
        with self._lock:
            if job not in self._looks:
                while len(self._looks) >= MOST_KEPT:
                    self._looks.pop(next(iter(self._looks)))
                found: list[str] = []
                what = (found, task, inputs)
                thread = threading.Thread(target=self._look, args=what, name="smc-own-rows", daemon=True)
                self._looks[job] = _Look(thread, found)
                thread.start()
            look = self._looks[job]
        look.thread.join(SECONDS)
        return [*look.remarks]

    def _look(self, found: list[str], task: Kind, inputs: Inputs) -> None:
        with self._reading, suppress(SmcError):  # what is wrong with the table is told where it matters
            if not task.misfit(inputs):
                found += task.remarks(inputs)
