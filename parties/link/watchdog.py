"""A deadline for calls that know none, such as reading from a gRPC stream."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

LOOK_SECONDS = 0.1  # how late the watchdog may be


class Watchdog:
    """Calls `expire` once, in a thread of its own, if an armed wait takes longer than its timeout.

    Arming costs two stores; the thread looks now and then whether the deadline has passed. `progress` tells
    when the link last moved: the wait is counted from there, so a slow link is not a dead one.
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
        """Begin a wait of at most `timeout` seconds."""
        self._timeout = timeout
        self._since = time.monotonic()

    def disarm(self) -> None:
        """End the wait."""
        self._since = math.inf

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            if time.monotonic() > max(self._since, self._progress()) + self._timeout:
                self.expired = True
                self._expire()
                return
