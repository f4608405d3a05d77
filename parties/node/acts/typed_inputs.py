"""Private inputs typed by operators, kept in memory only."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any


class TypedInputs:
    """Private inputs by job. They are never written: after a restart the operator types them again."""

    def __init__(self) -> None:
        self._typed: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def put(self, identifier: str, typed: Mapping[str, Any]) -> None:
        """Keep the inputs typed for a job.

        Args:
            identifier: The job.
            typed: The values by name.
        """
        if typed:
            with self._lock:
                self._typed[identifier] = dict(typed)

    def of(self, identifier: str) -> dict[str, Any]:
        """Return the inputs typed for a job."""
        with self._lock:
            return dict(self._typed.get(identifier, {}))

    def forget(self, identifier: str) -> None:
        """Forget the inputs of a job that has ended."""
        with self._lock:
            self._typed.pop(identifier, None)
