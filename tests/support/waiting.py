"""Waiting for what another thread or process does, with a deadline."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

# Seconds until a test gives up: a loaded machine may need a minute to start a program, and it costs nothing otherwise.
# Where most that is waited for never comes, as of mutants, it costs that.
PATIENCE = float(os.environ.get("SMC_TEST_PATIENCE", "300"))


def eventually(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until it is true; a failure after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)
