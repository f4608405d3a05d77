"""A thread for each target, which ships new log entries, and missed ones once the target is back.

The progress of a target is stored after it has the entries, so entries arrive at least once. A receiver detects repeats
and gaps by their numbers and hashes (`smc audit gaps`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from parties.node.notify import why_failed
from parties.node.records.chain import Row
from parties.node.records.sealed import errors
from parties.node.records.shipped import Shipped
from parties.node.shipping.settings import ShipSettings
from parties.node.shipping.targets import target
from smc.errors import InputError

BATCH = 100  # entries at once
LOOK_SECONDS = 5.0  # commands write to the log, too
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # after a failure, doubled each time

Tell = Callable[..., None]  # takes an event and its fields, like `Events.log`

log = logging.getLogger(__name__)


class Source(Protocol):
    """The log that is shipped."""

    def shipped(self, name: str) -> Shipped:
        """Return the last entry that a target has, if the log still has that entry."""

    def note_shipped(self, name: str, shipped: Shipped) -> None:
        """Record the last entry that a target has.

        Args:
            name: Name of the target.
            shipped: The entry.
        """

    def rows_after(self, number: int, most: int) -> Sequence[Row]:
        """Return the log entries after a number, as stored.

        Args:
            number: Number of the entry before them.
            most: Largest number of entries.
        """


class Shipper:
    """One target with the thread that ships to it."""

    def __init__(self, settings: ShipSettings, source: Source, tell: Tell) -> None:
        self._name, self._source, self._log = settings.called, source, tell
        self._target = target(settings)
        self._over, self._news = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="smc-ship", daemon=True)
        self._longest = settings.seconds

    def start(self) -> None:
        """Start the thread, which ships from the first entry that the target lacks."""
        self._thread.start()

    def wake(self) -> None:
        """Look for new entries now."""
        self._news.set()

    def stop(self) -> None:
        """Ship the remaining entries in one attempt, and stop; may be called without a start."""
        self._over.set()
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join(self._longest)

    def _run(self) -> None:
        pause, at = 0.0, self._source.shipped(self._name)
        while True:
            last_time = self._over.is_set()
            self._news.clear()
            try:
                while rows := self._source.rows_after(at.number, BATCH):
                    self._target.send(rows)
                    at = Shipped(rows[-1].number, rows[-1].hash, _now())
                    self._source.note_shipped(self._name, at)
                if pause:
                    self._log("records shipped again", target=self._name)
                pause = 0.0
            except InputError as error:
                at, pause = self._failed(at, str(error), pause)
            except Exception as error:  # the node goes on, whatever a server does
                log.debug("shipping to %s failed", self._name, exc_info=error)
                at, pause = self._failed(at, why_failed(error), pause)
            if last_time:
                return
            if pause:
                self._over.wait(pause)
            else:
                self._news.wait(LOOK_SECONDS)

    def _failed(self, at: Shipped, why: str, pause: float) -> tuple[Shipped, float]:
        """Note a failure; return the target's progress, and the pause in seconds."""
        at = at._replace(why=why)
        if not pause:
            self._log("records not shipped", target=self._name, why=why)
        try:
            self._source.note_shipped(self._name, at)
        except errors(InputError) as error:  # the disk is full, or the node is ending
            log.debug("cannot note it", exc_info=error)
        return at, min(2 * pause, LONGEST_PAUSE) if pause else SHORTEST_PAUSE


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
