"""When a charge counts from, and when a window of time ends, by a clock that may be wrong.

A window forgets a charge too early if the charge is stamped too early, or if the window ends too late. Nobody tells a
party what time it is, but some things are known to have been before:

- of a charge: whatever the party's own log says it wrote, the beginning of its certificate, and the verdicts and the
  proposal of the job, the peer's by the peer's clock. A charge counts from the latest of these. The peer could say any
  time, so at most `AHEAD` of what it says counts: it makes its own job's charge count so much longer, and no other's.
- of a window: the time at which the program started, and how long it has run by a clock that nobody sets. A clock that
  is set ahead while it runs ends no window.

What is left: a clock that ran behind, at a party that wrote nothing by the right one and whose peer's was no better;
and one that is ahead when the program starts, which cannot be told from one that is right. Charges that it forgot count
again once it is right: then more may have been spent than fits, and nothing more does. A clock that once ran ahead
makes what is charged afterwards count longer, by as much as it was ahead.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

AHEAD = timedelta(days=31)  # of the peer's times before ours; a job that waited longer is refused


def stamp(own: datetime, known: Iterable[datetime | str | None], told: Iterable[datetime | str | None]) -> datetime:
    """Return the moment from which a charge counts: never before `own`, `known` or, within `AHEAD` of these, `told`.

    Moments are aware, or ISO 8601 with a zone; what is no moment counts for nothing, for the peer may say anything.
    """
    least = max([own, *_moments(known)])
    return max([least, *(min(moment, least + AHEAD) for moment in _moments(told))])


def window_end(own: datetime, started: datetime, passed: timedelta) -> datetime:
    """Return the end of a window: now by the own clock, but at most the program's start and how long it has run."""
    return min(own, started + passed)


class Clock:
    """The time for windows: this machine's, but no later than time has passed since this began."""

    def __init__(self) -> None:
        self._started, self._ticks = datetime.now(UTC), _ticks()

    def now(self) -> datetime:
        """See `window_end`."""
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
    """Return seconds by a clock that nobody sets, of a machine that sleeps too where there is such a clock."""
    boot: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)
