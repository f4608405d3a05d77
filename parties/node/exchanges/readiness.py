"""Opening and counting of both parties' tables before a session computes, with signs of life from a slow party.

A party sends one message when it is ready or its table is away. Until then it sends a sign of life at intervals, so
that a slow start is not taken for a lost peer. The peer learns that a table is away, never why. A table also counts as
away if its rows do not fit the schema or the table's public bounds: that depends on rows, so only the owner may see it.
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
ROUNDS, BYTES = 1, 2  # cost of `exchange`, both ways, if both parties are ready at once


class PeerAwayError(LinkError):
    """The peer's table is away: the peer will report when it is back."""


@contextmanager
def telling(session: Session) -> Iterator[None]:
    """Send signs of life to the peer while this party opens its table. Nothing else may use the session."""
    over = threading.Event()

    def tell() -> None:
        with suppress(LinkError):  # the next receive from the peer reports the reason
            while not over.wait(ALIVE_SECONDS):
                _say(session, STILL)

    sender = threading.Thread(target=tell, name="smc-table-alive", daemon=True)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()


def exchange(session: Session, ready: bool, waiting: Callable[[], object]) -> bool:
    """Tell the peer whether our table is open, and return whether the peer's is.

    Args:
        session: Session with the peer.
        ready: Whether our table is open; False if it is away.
        waiting: Called at each sign of life of a peer that is still opening its table.

    Raises:
        LinkError: The peer takes longer than `LONGEST_SECONDS`.
    """
    say(session, ready)
    return hear(session, waiting)


def say(session: Session, ready: bool) -> None:
    """Tell the peer whether our table is open.

    Args:
        session: Session with the peer.
        ready: Whether our table is open; False if it is away.
    """
    _say(session, READY if ready else AWAY)


def hear(session: Session, waiting: Callable[[], object] = lambda: None) -> bool:
    """Return whether the peer's table is open; see `exchange`.

    Args:
        session: Session with the peer.
        waiting: Called at each sign of life of a peer that is still opening its table.

    Raises:
        LinkError: The peer takes longer than `LONGEST_SECONDS`.
    """
    deadline = time.monotonic() + LONGEST_SECONDS
    while (answer := int(session.receive(STEP, np.uint8, (1,))[0])) == STILL:
        waiting()
        if time.monotonic() > deadline:
            raise LinkError(f"the peer has not opened its table within {LONGEST_SECONDS:g} s; ask its operator")
    if answer not in (READY, AWAY):
        raise ProtocolError("the peer's answer about its table is neither yes nor no")
    return answer == READY


def _say(session: Session, what: int) -> None:
    session.send(STEP, np.array([what], dtype=np.uint8))
