"""Cache of the last results of slow, repeated look-ups."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class ResultCache(Generic[Key, Answer]):
    """Cache of at most `most` results by key, the oldest dropped first; only one thread at a time computes a result."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._working = threading.Lock()
        self._known: dict[Key, Answer] = {}

    def get(self, key: Key, find: Callable[[], Answer]) -> Answer:
        """Return the cached result of a key, or compute it.

        Args:
            key: The key.
            find: Computes the result. Its error is raised and not cached.
        """
        with self._working:
            if key not in self._known:
                answer = find()
                while len(self._known) >= self._most:
                    self._known.pop(next(iter(self._known)))
                self._known[key] = answer
            return self._known[key]
