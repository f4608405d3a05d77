"""A deadline for calls without one, such as reading from a gRPC stream."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

LOOK_SECONDS = 0.1  # largest delay of the watchdog


class Watchdog:
    """Calls `expire` once, in a separate thread, if an armed wait exceeds its timeout.

    Arming costs two stores; the thread checks periodically whether the deadline has passed. `progress` returns the time
    at which the link last made progress; the wait counts from there, so a slow link is not a dead one.
    """

    def __init__(self, progress: Callable[[], float], expire: Callable[[], None]) -> None:
        self._progress = progress
        self._expire = expire
        self._timeout = math.inf
        self._since = math.inf
        self._stopped = threading.Event()
        self.expired = False
        threading.Thread(target=self._watch, name="smc-watchdog", daemon=True).start()

    def arm(self, timeout: float) -> None:
        """Start a wait of at most `timeout` seconds."""
        self._timeout = timeout
        self._since = time.monotonic()

    def disarm(self) -> None:
        """Stop watching: the wait that was armed is over."""
        self._since = math.inf

    def stop(self) -> None:
        """End the thread of the watchdog."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            if time.monotonic() > max(self._since, self._progress()) + self._timeout:
                self.expired = True
                self._expire()
                return
