"""How long what went wrong is left alone before it is tried again: twice as long each time, up to a bound."""

from __future__ import annotations

import math
import time


class Pauses:
    """A time for each job until when it is left alone. `shortest` and `longest` in seconds."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest, self._longest = shortest, longest
        self._pauses: dict[str, tuple[float, float]] = {}  # until when, and how long that was

    def lasts(self, identifier: str) -> bool:
        """Return whether a job is to be left alone for a while yet."""
        return time.monotonic() < self._pauses.get(identifier, (0.0, 0.0))[0]

    def left(self) -> float:
        """Return seconds until the first of those that are left alone is one no more; infinite if there is none."""
        now = time.monotonic()
        return min((until - now for until, _ in list(self._pauses.values()) if until > now), default=math.inf)

    def put(self, identifier: str, longer: bool = True) -> None:
        """Leave a job alone from now on: longer than the last time, or as short as it may be."""
        last = self._pauses.get(identifier, (0.0, self._shortest / 2))[1]
        pause = min(2 * last, self._longest) if longer else self._shortest
        self._pauses[identifier] = (time.monotonic() + pause, pause)

    def forget(self, identifier: str) -> None:
        """Forget a job that has gone well: the next pause is a first one."""
        self._pauses.pop(identifier, None)
