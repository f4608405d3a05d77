"""How garbled tables travel: in messages of `ROWS` rows, so those of a large job never exist in memory at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smc.primitives.hash import BATCH
from smc.session import Session

ROWS = 1 << 15  # 32-byte table rows (AND gates times instances) a message: 1 MiB

Tables = NDArray[np.uint64]


class TableWriter:
    """The garbler's side: gives out buffer space, sends whole messages."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._buffer: Tables = np.empty((ROWS + BATCH, 4), dtype=np.uint64)
        self._filled = 0

    def take(self, count: int) -> Tables:
        """Space for the next `count` <= `BATCH` rows, uint64[count, 4], to be filled before the next call."""
        if self._filled >= ROWS:
            self._session.send("yao.tables", self._buffer[:ROWS])
            rest = self._filled - ROWS
            self._buffer[:rest] = self._buffer[ROWS : self._filled]
            self._filled = rest
        space = self._buffer[self._filled : self._filled + count]
        self._filled += count
        return space

    def flush(self) -> None:
        """Send what is left."""
        for start in range(0, self._filled, ROWS):
            self._session.send("yao.tables", self._buffer[start : min(start + ROWS, self._filled)])
        self._filled = 0


class TableReader:
    """The evaluator's side; `total` rows will come in all."""

    def __init__(self, session: Session, total: int) -> None:
        self._session = session
        self._remaining = total
        self._rows: Tables = np.empty((0, 4), dtype=np.uint64)

    def take(self, count: int) -> Tables:
        """The next `count` rows, uint64[count, 4]."""
        while len(self._rows) < count:
            size = min(ROWS, self._remaining)
            self._remaining -= size
            received = self._session.receive("yao.tables", np.uint64, (size, 4))
            self._rows = np.concatenate([self._rows, received]) if len(self._rows) else received
        rows, self._rows = self._rows[:count], self._rows[count:]
        return rows
