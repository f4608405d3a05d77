"""Both parties' tables are opened and counted before a session computes anything; who takes long says so meanwhile.

A party that is ready, or whose table is away, says so once. Until then it gives a sign of life now and then, so that
a slow start is not taken for a lost peer. Why a table is away is never said: only that it is. It is so too if its rows
do not fit the schema or the table's public bounds: that one row more decides is for its owner alone to see.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from smc.errors import LinkError, ProtocolError
from smc.session import Session

STEP = "checkpoint.table"
STILL, READY, AWAY = range(3)
ALIVE_SECONDS = 5.0  # between signs of life
LONGEST_SECONDS = 3600.0  # that the peer may take
ROUNDS, BYTES = 1, 2  # what it costs, both ways, if both are ready at once


class PeerAwayError(LinkError):
    """The peer's table is away: it will say when it is there."""


@contextmanager
def telling(session: Session) -> Iterator[None]:
    """Tell the peer, while this party opens its table, that it still does. Nothing else may use the session."""
    over = threading.Event()

    def tell() -> None:
        with suppress(LinkError):  # who waits for the peer next will be told why
            while not over.wait(ALIVE_SECONDS):
                _say(session, STILL)

    teller = threading.Thread(target=tell, name="smc-table-alive", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def exchange(session: Session, ready: bool, waiting: Callable[[], object]) -> bool:
    """Say whether our table is there, and hear the same of the peer's; `waiting` is called while it is not known.

    `LinkError` if the peer takes longer than anybody should.
    """
    _say(session, READY if ready else AWAY)
    deadline = time.monotonic() + LONGEST_SECONDS
    while (heard := int(session.receive(STEP, np.uint8, (1,))[0])) == STILL:
        waiting()
        if time.monotonic() > deadline:
            raise LinkError(f"the peer has not opened its table within {LONGEST_SECONDS:g} s")
    if heard not in (READY, AWAY):
        raise ProtocolError("the peer says neither that its table is there nor that it is away")
    return heard == READY


def _say(session: Session, what: int) -> None:
    session.send(STEP, np.array([what], dtype=np.uint8))
