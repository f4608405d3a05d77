"""A hostile party: it takes shares, hangs up, and comes back with other contributions and other words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.node.exchanges.openings import WrittenFirst
from smc.channel import Buffer, Channel, MemoryChannel
from smc.errors import LinkError
from smc.primitives.bits import unpack
from smc.session import Session
from tests.support.workers import Noted, Trouble


class Flipped:
    """Contributions to joint randomness: zeros, but for the bits of one row."""

    def __init__(self, row: int | None) -> None:
        self._row = row

    def bits(self, width: int, batch: int) -> NDArray[np.uint8]:
        found = np.zeros((width, batch), dtype=np.uint8)
        if self._row is not None:
            found[self._row] = 1
        return found


class Grasper:
    """What a hostile party 1 has got by now: of every session the values that its peer's shares open for it.

    `row` is the row of its contributions that the next session flips, `claim` what it says then of its checkpoint:
    steps, step of its openings, written, left; None: the truth.
    """

    def __init__(self) -> None:
        self.row: int | None = None
        self.claim: tuple[int, int, int, int] | None = None
        self.shares: list[bytes] = []
        self.values: list[NDArray[np.uint8]] = []

    def line(self, inner: MemoryChannel, trouble: Trouble) -> Channel:
        """Its end of the line: it lies as told, sends no share, and hangs up when it has one."""
        grasper = self

        class Line(Noted):
            def send(self, step: str, payload: Buffer) -> None:
                if step == "checkpoint.levels" and grasper.claim is not None:
                    payload = np.array(grasper.claim, dtype=np.int64).tobytes()
                if step != "reveal":
                    super().send(step, payload)

            def receive(self, step: str, size: int) -> Buffer:
                payload = super().receive(step, size)
                if step == "reveal":
                    grasper.shares.append(bytes(payload))
                    raise LinkError("has what it wanted")
                return payload

        return Line(inner, trouble)

    def openings(self, honest: type[WrittenFirst]) -> Callable[..., WrittenFirst]:
        """In place of `executor.WrittenFirst`: `honest` for party 0, its own way for itself."""
        grasper = self

        class Own(WrittenFirst):
            def begin(self, step: int) -> None:
                super().begin(step)
                self._session.contributions = Flipped(grasper.row)  # type: ignore[assignment]

            def open(self, session: Session, own: NDArray[np.uint8]) -> NDArray[np.uint8]:
                try:
                    return super().open(session, own)
                finally:  # what it computed itself, whatever it says of what was before
                    if grasper.shares:
                        share = np.frombuffer(grasper.shares[-1], dtype=np.uint8)
                        grasper.values.append(unpack(own ^ share, 8 * own.size))

            def ready(self, own: NDArray[np.uint8]) -> NDArray[np.uint8]:
                super().ready(own)
                return own

        def made(session: Session, *rest: Any) -> WrittenFirst:
            return (honest if session.party == 0 else Own)(session, *rest)

        return made
