"""How much memory a process may still take on this machine, and how it keeps what it has freed."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt(3)
KEPT, FROM_HEAP = 128 << 20, 32 << 20  # bytes; glibc takes no larger ones from what it keeps
MEMINFO, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free() -> int | None:
    """Return bytes that are free, or can be made so, within the control group's bound too; None if nobody says."""
    known = []
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
        known.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # "max" is no bound
        known.append(int((GROUP / "memory.max").read_text()) - int((GROUP / "memory.current").read_text()))
    return min(known, default=None)


def keep_freed() -> None:
    """Let this process keep memory that it frees, up to `KEPT` bytes: fresh pages take time. Of glibc only."""
    with suppress(OSError, TypeError, AttributeError):  # no such function, or no such library
        libc = ctypes.CDLL(None)
        libc.mallopt(MMAP_THRESHOLD, FROM_HEAP)
        libc.mallopt(TRIM_THRESHOLD, KEPT)
