"""What operators have typed for jobs, and each job's secret: the one only in memory, the other only while it runs."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from parties import files

SECRET_BYTES = 32


class Inputs:
    """Private inputs by job. They are never written: after a restart the operator types them again."""

    def __init__(self) -> None:
        self._typed: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def put(self, identifier: str, typed: Mapping[str, Any]) -> None:
        """Keep what was typed for a job."""
        if typed:
            with self._lock:
                self._typed[identifier] = dict(typed)

    def of(self, identifier: str) -> dict[str, Any]:
        """What was typed for a job."""
        with self._lock:
            return dict(self._typed.get(identifier, {}))

    def forget(self, identifier: str) -> None:
        """The job has ended."""
        with self._lock:
            self._typed.pop(identifier, None)


class Secrets:
    """A secret of each job under way, from which this party's contributions to joint randomness come, step by step.

    A step that is computed again so draws what it drew before. The files are for their owner only, written before a
    job's first step and removed at its end.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def of(self, identifier: str) -> bytes:
        """The secret of a job, 32 bytes; made and on the disk when this returns. `InputError` if it cannot be."""
        path = self._directory / identifier
        if not path.exists():
            with suppress(FileExistsError):
                self._directory.mkdir(mode=0o700)
            files.write_bytes(path, secrets.token_bytes(SECRET_BYTES), private=True)
        return files.read_bytes(path)

    def forget(self, identifier: str) -> None:
        """The job has ended."""
        with suppress(OSError):
            (self._directory / identifier).unlink(missing_ok=True)

    def keep_only(self, identifiers: Iterable[str]) -> None:
        """Remove those of all other jobs: of ones that ended while the node was ending, too."""
        kept = set(identifiers)
        if self._directory.is_dir():
            for path in self._directory.iterdir():
                if path.name not in kept:
                    self.forget(path.name)
