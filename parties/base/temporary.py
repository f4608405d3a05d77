"""Temporary directories that do not stay for good when their process is killed.

Nothing can clean up after `kill -9` but whoever comes next: so a process holds a lock on each of its directories, which
the system takes from it however it ends, and the next process removes those that nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from functools import cache
from pathlib import Path

YOUNGEST = 60.0  # seconds: its process may be about to take the lock
_NAME = re.compile(r"smc-[a-z]+-[a-z0-9_]{8}")


class HeldDirectory(tempfile.TemporaryDirectory[str]):
    """A `TemporaryDirectory` for this user alone, named smc-KIND-..., that is held by a lock while it is in use."""

    def __init__(self, kind: str) -> None:
        sweep(tempfile.gettempdir())
        super().__init__(prefix=f"smc-{kind}-")
        self._lock: int | None = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def cleanup(self) -> None:
        """Remove it with all that it holds; may be called twice."""
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@cache
def sweep(directory: str) -> None:
    """Remove what killed processes of this user have left in `directory`; once a process."""
    try:
        with os.scandir(directory) as entries:
            paths = [Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for path in paths:
        _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    """Remove a directory if it is ours and nobody holds it. Whatever stands in the way is no reason to fail."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        facts = os.fstat(lock)
        ours = facts.st_uid == os.geteuid() and stat.S_IMODE(facts.st_mode) == 0o700
        if ours and facts.st_mtime < time.time() - YOUNGEST:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:  # somebody holds it
        return
    finally:
        os.close(lock)
