"""Pauses before a failed job is tried again: each is twice as long as the last, up to a bound."""

from __future__ import annotations

import math
import time


class Pauses:
    """The end of each job's pause. `shortest` and `longest` are in seconds."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest, self._longest = shortest, longest
        self._pauses: dict[str, tuple[float, float]] = {}  # end of the pause, and its length

    def lasts(self, identifier: str) -> bool:
        """Return whether a job's pause has not ended yet."""
        return time.monotonic() < self._pauses.get(identifier, (0.0, 0.0))[0]

    def left(self) -> float:
        """Return the seconds until the first pause ends; infinite if there is none."""
        now = time.monotonic()
        return min((until - now for until, _ in list(self._pauses.values()) if until > now), default=math.inf)

    def put(self, identifier: str, longer: bool = True) -> None:
        """Start a job's pause.

        Args:
            identifier: The job.
            longer: Pause twice as long as the last time; otherwise as short as possible.
        """
        last = self._pauses.get(identifier, (0.0, self._shortest / 2))[1]
        pause = min(2 * last, self._longest) if longer else self._shortest
        self._pauses[identifier] = (time.monotonic() + pause, pause)

    def forget(self, identifier: str) -> None:
        """Forget a job's pauses once it has gone well: its next pause is the shortest."""
        self._pauses.pop(identifier, None)
