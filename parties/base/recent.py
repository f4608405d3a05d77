"""The last few answers to questions that take long and are asked again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class Recent(Generic[Key, Answer]):
    """At most so many answers by their keys, the oldest dropped first; no question is worked on by two threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._working = threading.Lock()
        self._known: dict[Key, Answer] = {}

    def get(self, key: Key, find: Callable[[], Answer]) -> Answer:
        """Return the answer that is known, or else find it; an error in that is raised, and not kept."""
        with self._working:
            if key not in self._known:
                answer = find()
                while len(self._known) >= self._most:
                    self._known.pop(next(iter(self._known)))
                self._known[key] = answer
            return self._known[key]
