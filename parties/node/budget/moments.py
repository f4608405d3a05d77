"""Timestamps of budget charges and windows, robust against a wrong clock.

A window drops a charge too early if the charge is stamped too early, or if the window ends too late. A party has no
trusted time, but some times are certain to be past:

- for a charge: the times in the party's own log, the start of its certificate, and the verdicts and the proposal of
  the job, the peer's by the peer's clock. A charge counts from the latest of these. The peer could state any time, so
  at most `AHEAD` of it counts: it makes its own job's charge count longer by that, and no other's.
- for a window: the start time of the program plus the run time by a clock that cannot be set. A clock that is set ahead
  while the program runs ends no window.

Two faults remain. One is a clock that ran behind, at a party whose log has no correct time and whose peer's clock was
no better. The other is a clock that is ahead when the program starts, which cannot be distinguished from a correct one.
Charges that it dropped count again once it is correct: then more may have been spent than fits, and no further job
fits. A clock that once ran ahead makes later charges count longer, by as much as it was ahead.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

AHEAD = timedelta(days=31)  # of the peer's times before ours; a job that waited longer is refused


def stamp(
    clock: datetime, known: Iterable[datetime | str | None], claimed: Iterable[datetime | str | None]
) -> datetime:
    """Return the start of a charge: the latest of all these times.

    A claimed time later than our latest time plus `AHEAD` is lowered to that. Times are aware datetimes, or ISO 8601
    with a zone. Invalid ones are ignored, for the peer may send anything.

    Args:
        clock: The present time by our clock.
        known: Past times by our own clock.
        claimed: Past times by the peer's clock.
    """
    earliest = max([clock, *_moments(known)])
    return max([earliest, *(min(moment, earliest + AHEAD) for moment in _moments(claimed))])


def window_end(clock: datetime, started: datetime, passed: timedelta) -> datetime:
    """Return the end of a window: now by our clock, but at most the program's start plus its run time.

    Args:
        clock: The present time by our clock.
        started: Start time of the program.
        passed: Run time by a clock that cannot be set.
    """
    return min(clock, started + passed)


class Clock:
    """The time for windows: this machine's, but no later than its value at the start plus the run time."""

    def __init__(self) -> None:
        self._started, self._ticks = datetime.now(UTC), _ticks()

    def now(self) -> datetime:
        """Return the present time by our clock, but at most the start time plus the time since."""
        return window_end(datetime.now(UTC), self._started, timedelta(seconds=_ticks() - self._ticks))


def _moments(moments: Iterable[datetime | str | None]) -> Iterable[datetime]:
    for value in moments:
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            continue
        if moment is not None and moment.utcoffset() is not None and moment.year < datetime.max.year:
            yield moment.astimezone(UTC)


def _ticks() -> float:
    """Return seconds by a clock that cannot be set, and that includes sleep where the system has such a clock."""
    boot: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)
