"""How much memory a process may still take on this machine."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

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
