"""Temporary directories that are removed later if their process is killed.

After `kill -9` only another process can clean up. So a process holds a lock on each of its directories, which the
system releases however the process ends. The next process removes the directories without a lock.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from smc.errors import InputError

YOUNGEST = 60.0  # seconds: the process of a younger directory may not have taken the lock yet
_NAME = re.compile(r"smc-[a-z]+-[a-z0-9_]{8}")


class HeldDirectory(tempfile.TemporaryDirectory[str]):
    """A `TemporaryDirectory` for this user alone, named smc-KIND-..., and locked while it is in use."""

    def __init__(self, kind: str) -> None:
        folder = ensure()
        sweep(folder)
        super().__init__(prefix=f"smc-{kind}-", dir=folder)
        self._lock: int | None = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def cleanup(self) -> None:
        """Remove the directory and its content; may be called twice."""
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def ensure(*instead: Path) -> str:
    """Return the folder for temporary files, also for libraries and child processes.

    If the system's folders are not usable, it is a folder of this user: the first writable one of `instead`, or one in
    the cache of the home.

    Args:
        instead: folders to take, made if they are not there; the best first.

    Raises:
        InputError: no folder can be written.
    """
    with suppress(FileNotFoundError):
        return tempfile.gettempdir()
    home = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # a user without a home
        instead = (*instead, (Path(home) if home else Path.home() / ".cache") / "smc" / "tmp")
    for folder in instead:
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(b"?")
            tempfile.tempdir = os.environ["TMPDIR"] = str(folder.absolute())
            return tempfile.tempdir
    tried = ", ".join(map(str, instead))
    raise InputError(f"no folder for temporary files is writable (nor is {tried}): set TMPDIR to a writable folder")


@cache
def sweep(directory: str) -> None:
    """Remove the directories in `directory` that killed processes of this user have left; later calls do nothing."""
    try:
        with os.scandir(directory) as entries:
            paths = [Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for path in paths:
        _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    """Remove a directory if this user owns it and no process holds it; ignore every obstacle."""
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
    except OSError:  # another process holds it
        return
    finally:
        os.close(lock)
