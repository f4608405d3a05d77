"""Repeats told as one: whoever can cause an event at will cannot fill a disk with it.

Of each thing the first few are told one by one. What follows within the window is counted, and told when the window
ends: how often it was, when first and when last. While it goes on windows double in length, up to an hour; one without
a repeat ends that. So a flood of whatever rate is told in about as many entries as there are hours.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

LONGEST_SECONDS = 3600.0


@dataclass(frozen=True)
class Repeats:
    """The events not told one by one: how often, when first and last (ISO 8601, UTC), and the last one's fields."""

    times: int
    first: str
    last: str
    fields: Mapping[str, Any]


@dataclass
class _Window:
    ends: float
    seconds: float
    told: int = 0
    times: int = 0
    first: str = ""
    last: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


class Folding:
    """Events of few keys, folded by them. `tell` is called from a thread of its own, or by `flush`."""

    def __init__(self, tell: Callable[[tuple[str, str], Repeats], None], free: int, seconds: float) -> None:
        self._tell, self._free, self._seconds = tell, free, seconds
        self._lock = threading.Lock()
        self._windows: dict[tuple[str, str], _Window] = {}

    def add(self, key: tuple[str, str], fields: Mapping[str, Any]) -> bool:
        """Count an event and return whether the caller tells it; if not, it is told later with its repeats."""
        with self._lock:
            now = time.monotonic()
            window = self._windows.get(key)
            if window is None or (now >= window.ends and not window.times):
                window = self._windows[key] = _Window(now + self._seconds, self._seconds)
            if window.told < self._free:
                window.told += 1
                return True
            window.times += 1
            window.last, window.fields = datetime.now(UTC).isoformat(timespec="seconds"), fields
            window.first = window.first or window.last
            if window.times == 1:
                timer = threading.Timer(max(0.0, window.ends - now), self._end, [key, window])
                timer.daemon = True
                timer.start()
            return False

    def flush(self) -> None:
        """Tell now what is counted."""
        with self._lock:
            open_ones = list(self._windows.items())
        for key, window in open_ones:
            self._end(key, window)

    def _end(self, key: tuple[str, str], window: _Window) -> None:
        with self._lock:
            if self._windows.get(key) is not window or not window.times:
                return
            seconds = min(2 * window.seconds, LONGEST_SECONDS)
            self._windows[key] = _Window(time.monotonic() + seconds, seconds, told=self._free)
        self._tell(key, Repeats(window.times, window.first, window.last, window.fields))
