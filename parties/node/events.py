"""Log lines and Prometheus metrics of a node.

On a terminal the lines are formatted for people. Elsewhere each line is JSON, for programs.

Lines and metrics hold no private data. A line names the event, the job, and sizes that the peer knows as well. The text
of an unexpected error may quote a party's data, so it is not logged at any level.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO, TypeAlias, get_args

import structlog
import structlog.dev
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from structlog.typing import EventDict, Processor

from parties.base.text import visible
from parties.node.folding import Folding, Repeats
from parties.operator.interface import State
from smc.meter import Cost

LogLevel: TypeAlias = Literal["info", "warning", "error"]
LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
LEVEL_OF: dict[str, LogLevel] = {  # all other events are normal operation: "info"
    "certificate": "warning",
    "disconnected": "warning",
    "log-in failed": "warning",
    "not connected": "warning",
    "policy": "warning",
    "records not shipped": "warning",
    "decision point": "warning",
    "nobody told": "warning",
    "session broke": "warning",
    "session held back": "warning",
    "schema changed": "warning",
    "statement refused": "warning",
    "table away": "warning",
    "table not available": "warning",
    "job failed": "error",
    "own trouble": "error",
    "session failed": "error",
    "statement failed": "error",
    "records cannot be written": "error",
    "unexpected error": "error",
}
# Events that a peer can cause at will.
FOLDED = ("connected", "disconnected", "not connected", "session held back", "statement refused", "statement failed")
FREE, WINDOW_SECONDS = 10, 60.0  # lines of one such event about a peer before repeats are folded
MOST_FRAMES = 30  # frames of a stack in a line
QUIET_SECONDS = 10.0  # pause before the same unexpected error is logged again


def stack_of(error: BaseException) -> str:
    """Return the stack of an error, innermost function first, without its message, which may quote anything."""
    frames = traceback.extract_tb(error.__traceback__)[::-1][:MOST_FRAMES]
    return " < ".join(f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} {frame.name}" for frame in frames)


class Events:
    """The log and the metrics of one node. The log leaves out events below `level`; the metrics do not depend on it."""

    def __init__(self, stream: TextIO | None = None, level: LogLevel = "info") -> None:
        stream = stream or sys.stderr
        self._min_level = LEVELS.index(level)
        lines = _for_people() if stream.isatty() else _for_programs()
        self._logger = structlog.wrap_logger(structlog.PrintLogger(stream), processors=lines)
        self._folding = Folding(self._repeats, FREE, WINDOW_SECONDS)
        self.registry = CollectorRegistry()
        self.connected = Gauge("smc_connected", "Number of connected peers' nodes.", registry=self.registry)
        jobs = Gauge("smc_jobs", "Jobs by state.", ["state"], registry=self.registry)
        self._jobs = {state: jobs.labels(state) for state in get_args(State)}
        self._own_trouble = Gauge(
            "smc_own_trouble", "1 while trouble of this machine delays jobs.", ["reason"], registry=self.registry
        )
        self.own_trouble = ""
        self._sessions = Counter("smc_sessions", "Sessions that have ended.", registry=self.registry)
        self._seconds = Histogram("smc_session_seconds", "Duration of sessions in seconds.", registry=self.registry)
        self.failed_log_ins = Counter("smc_failed_log_ins", "Log-ins at the page that failed.", registry=self.registry)
        self._bytes = Counter("smc_session_bytes", "Bytes of sessions.", ["direction"], registry=self.registry)

    def measure(self, name: str, description: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        """Add a metric that is read at each request for the metrics.

        Args:
            name: Name of the metric.
            description: Its meaning and unit.
            label: Name of the label that tells its values apart.
            read: Function that returns the present number for each value of the label.
        """
        self.registry.register(_Measured(name, description, label, read))

    def watch_process(self) -> None:
        """Log warnings and errors that our modules, uvicorn and asyncio report, and errors that end a thread."""
        for name in ("parties", "uvicorn", "asyncio"):
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [_Unexpected(self)], False

        def thread_failed(failure: threading.ExceptHookArgs) -> None:
            self.log("unexpected error", where="thread", error=failure.exc_type.__name__)

        threading.excepthook = thread_failed

    def log(self, event: str, **fields: str | int | bool) -> None:
        """Write a line, if the event's level is at least the log's. Repeats that a peer can cause are folded.

        Args:
            event: Name of the event, a key of `LEVEL_OF` or any other for level "info".
            fields: Public facts about the event.
        """
        if event in FOLDED and not self._folding.add((event, str(fields.get("peer", ""))), fields):
            return
        self._write(event, fields)

    def log_repeats(self) -> None:
        """Write the lines of counted repeats now."""
        self._folding.flush()

    def _repeats(self, key: tuple[str, str], repeats: Repeats) -> None:
        self._write(key[0], {**repeats.fields, "times": repeats.times, "first": repeats.first, "last": repeats.last})

    def _write(self, event: str, fields: Mapping[str, str | int | bool]) -> None:
        if LEVELS.index(LEVEL_OF.get(event, "info")) >= self._min_level:
            self._logger.msg(event, **fields)

    def jobs(self, counts: Mapping[State, int]) -> None:
        """Set the number of jobs in each state."""
        for state, number in self._jobs.items():
            number.set(counts.get(state, 0))

    def troubled(self, why: str) -> None:
        """Show trouble of this machine in the metrics, until `well` is called."""
        self.well()
        self.own_trouble = why
        self._own_trouble.labels(why).set(1)

    def well(self) -> None:
        """Note that this machine works again."""
        if self.own_trouble:
            self._own_trouble.remove(self.own_trouble)
            self.own_trouble = ""

    def session_ended(self, seconds: float, cost: Cost) -> None:
        """Add a finished session to the metrics.

        Args:
            seconds: Duration of the session.
            cost: Cost of the session.
        """
        self._sessions.inc()
        self._seconds.observe(seconds)
        self._bytes.labels("sent").inc(cost.bytes_sent)
        self._bytes.labels("received").inc(cost.bytes_received)


@dataclass(frozen=True)
class _Measured(Collector):
    """A metric that is read when it is requested."""

    name: str
    description: str
    label: str
    read: Callable[[], Mapping[str, float]]

    def describe(self) -> Iterable[Metric]:
        return [GaugeMetricFamily(self.name, self.description, labels=[self.label])]

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(self.name, self.description, labels=[self.label])
        for value, number in self.read().items():
            family.add_metric([value], number)
        return [family]


def _graded(logger: object, method: str, event: EventDict) -> EventDict:
    return {**event, "level": LEVEL_OF.get(event["event"], "info")}


def _for_programs() -> list[Processor]:
    return [structlog.processors.TimeStamper(fmt="iso", utc=True), _graded, structlog.processors.JSONRenderer()]


def _for_people() -> list[Processor]:
    """Return the processors for lines in local time, coloured unless NO_COLOR is set, with text made safe."""

    def harmless(logger: object, method: str, event: EventDict) -> EventDict:
        return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}

    stamp = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
    return [stamp, harmless, _graded, structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"))]


class _Unexpected(logging.Handler):
    """A handler that logs unexpected errors as a place and a kind of error.

    A repeated error is logged once in `QUIET_SECONDS`, with the number of repeats left out. So a peer that can cause an
    error at will cannot fill the disk.
    """

    def __init__(self, events: Events) -> None:
        super().__init__(logging.WARNING)
        self._events = events
        self._logged: dict[tuple[str, str], tuple[float, int]] = {}  # time of the last line, and repeats left out since

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line without the error's message, which may quote anything."""
        kind = record.exc_info[0] if record.exc_info else None
        where, error = record.name, kind.__name__ if kind else "none"
        last, left_out = self._logged.get((where, error), (-math.inf, 0))
        if time.monotonic() < last + QUIET_SECONDS:
            self._logged[where, error] = last, left_out + 1
            return
        self._logged[where, error] = time.monotonic(), 0
        repeated = {"repeated": left_out} if left_out else {}
        self._events.log("unexpected error", where=where, error=error, **repeated)
