"""How often something may be done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Rate:
    """A rate at which something may be done: `burst` times at once, and then `a_second`. Calls come from any thread."""

    def __init__(self, burst: float, a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._a_second, self._clock = burst, a_second, clock
        self._lock = threading.Lock()
        self._left, self._at = float(burst), clock()

    def delay(self, cost: float = 1.0) -> float:
        """Take this much, and return how many seconds to wait before the rate is kept."""
        with self._lock:
            self._refill()
            self._left -= cost
            return max(0.0, -self._left / self._a_second)

    def allows(self) -> bool:
        """Take one, and return whether there was one."""
        with self._lock:
            self._refill()
            if self._left < 1:
                return False
            self._left -= 1
            return True

    def back(self) -> None:
        """Give one back: it came to nothing."""
        with self._lock:
            self._left += 1

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._a_second)
        self._at = now
