"""Folding of repeated events into one entry, so that a peer that causes events at will cannot fill a disk.

The first few events of a key are passed on one by one. Those that follow within a window are counted. When the window
ends, one entry states their number and the times of the first and the last. While repeats continue, the windows double
in length, up to an hour; a window without a repeat ends the folding. So a flood of any rate leaves about one entry an
hour.
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
    """The folded events: their number, times of the first and last (ISO 8601, UTC), and the last one's fields."""

    times: int
    first: str
    last: str
    fields: Mapping[str, Any]


@dataclass
class _Window:
    ends: float
    seconds: float
    passed_on: int = 0
    times: int = 0
    first: str = ""
    last: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


class Folding:
    """Events folded by key, for a small number of keys: `free` events pass before, in a first window of `seconds`.

    `tell` logs the repeats of a window. A separate thread calls it at the window's end, or `flush` earlier.
    """

    def __init__(self, tell: Callable[[tuple[str, str], Repeats], None], free: int, seconds: float) -> None:
        self._tell, self._free, self._seconds = tell, free, seconds
        self._lock = threading.Lock()
        self._windows: dict[tuple[str, str], _Window] = {}

    def add(self, key: tuple[str, str], fields: Mapping[str, Any]) -> bool:
        """Count an event and return whether the caller must log it; otherwise it is logged later with its repeats.

        Args:
            key: Kind of event and its subject, such as the peer.
            fields: Fields of the event; of repeats, the last event's fields are logged.
        """
        with self._lock:
            now = time.monotonic()
            window = self._windows.get(key)
            if window is None or (now >= window.ends and not window.times):
                window = self._windows[key] = _Window(now + self._seconds, self._seconds)
            if window.passed_on < self._free:
                window.passed_on += 1
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
        """Log all counted repeats now."""
        with self._lock:
            open_windows = list(self._windows.items())
        for key, window in open_windows:
            self._end(key, window)

    def _end(self, key: tuple[str, str], window: _Window) -> None:
        with self._lock:
            if self._windows.get(key) is not window or not window.times:
                return
            seconds = min(2 * window.seconds, LONGEST_SECONDS)
            self._windows[key] = _Window(time.monotonic() + seconds, seconds, passed_on=self._free)
        self._tell(key, Repeats(window.times, window.first, window.last, window.fields))
