"""Limit on the frequency of an action."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Rate:
    """Rate limit: `burst` actions at once, then `a_second` more in each second. Any thread may call it."""

    def __init__(self, burst: float, a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._a_second, self._clock = burst, a_second, clock
        self._lock = threading.Lock()
        self._left, self._at = float(burst), clock()

    def delay(self, cost: float = 1.0) -> float:
        """Use up `cost` actions, available or not, and return the seconds to wait until the rate allows them."""
        with self._lock:
            self._refill()
            self._left -= cost
            return max(0.0, -self._left / self._a_second)

    def allows(self) -> bool:
        """Use up one action if one is available, and return whether it was."""
        with self._lock:
            self._refill()
            if self._left < 1:
                return False
            self._left -= 1
            return True

    def back(self) -> None:
        """Make one used action available again, because it had no effect."""
        with self._lock:
            self._left += 1

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._a_second)
        self._at = now
