"""Free memory of this machine for a process, and a setting that makes the process keep freed memory."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)
KEPT, FROM_HEAP = 128 << 20, 32 << 20  # bytes to keep, and the largest block that glibc takes from kept memory
MEMINFO, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free() -> int | None:
    """Return the bytes that are free or reclaimable, within the control group's limit; None if unknown."""
    known = []
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
        known.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # "max" means no limit
        known.append(int((GROUP / "memory.max").read_text()) - int((GROUP / "memory.current").read_text()))
    return min(known, default=None)


def keep_freed() -> None:
    """Let this process keep up to `KEPT` bytes of memory that it frees, because fresh pages take time; glibc only."""
    with suppress(OSError, TypeError, AttributeError):  # no such function, or no such library
        libc = ctypes.CDLL(None)
        libc.mallopt(MMAP_THRESHOLD, FROM_HEAP)
        libc.mallopt(TRIM_THRESHOLD, KEPT)
