"""The mark of a starting node, in its state directory: commands wait for the node instead of failing.

A start may take a minute: the first one on a machine compiles the inner loops. The node holds a lock on the file until
it answers, so the mark of a killed node is ignored.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FILE_NAME = "starting"
LOCK_SECONDS = 1.0  # a command that looks holds the lock for a moment
LOOK_SECONDS = 0.2
LONGEST_SECONDS = 600.0  # that a command waits for a node


class Starting:
    """Mark of a node that is starting. It lasts until `over` is called or the process ends."""

    def __init__(self, state: Path) -> None:
        self._path, self._file = state / FILE_NAME, -1
        with suppress(OSError):  # without a mark commands do not wait, but the node can start
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        end = time.monotonic() + LOCK_SECONDS
        while not _taken(self._file, fcntl.LOCK_EX) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS / 10)
        self.tell("starting")

    def tell(self, what: str, done: int = 0, total: int = 0) -> None:
        """Write the present step and its progress, for commands that wait.

        Args:
            what: Name of the present step.
            done: Number of finished parts.
            total: Number of all parts; 0 if unknown.
        """
        with suppress(OSError):  # a full disk
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps([what, done, total]).encode(), 0)

    def over(self) -> None:
        """Remove the mark; may be called twice."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


def step(state: Path) -> str | None:
    """Return the present step of a node that is starting here, in words; None if none is starting."""
    try:
        file = os.open(state / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if _taken(file, fcntl.LOCK_SH):
            return None
        content = os.pread(file, 1000, 0)
    finally:
        os.close(file)
    try:
        what, done, total = json.loads(content)
    except ValueError:  # it is being written
        return "starting"
    return f"{what}, {done} of {total} done" if total else str(what)


def wait(state: Path, tell: Callable[[str], None]) -> bool:
    """Wait while a node is starting here; return whether there was one and its start is over.

    Args:
        state: The state directory.
        tell: Called with each new step.
    """
    end, last = time.monotonic() + LONGEST_SECONDS, None
    while (now := step(state)) is not None and time.monotonic() < end:
        if now != last:
            tell(now)
        last = now
        time.sleep(LOOK_SECONDS)
    return last is not None and now is None


def _taken(file: int, how: int) -> bool:
    """Take a lock on an open file if that is possible now; return whether it was. `how` is shared or exclusive."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
