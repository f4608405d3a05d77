"""What a node lets the outside see of its work: structured log lines, and figures for Prometheus.

Neither can hold anything private: a line names what happened, to which job, and sizes that the peer knows as well;
texts of errors, which may quote a party's data, are not logged at any level.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import TextIO, get_args

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from parties.link.address import Address
from parties.operator.interface import State
from smc.errors import InputError
from smc.meter import Cost


class Events:
    """The log (JSON lines) and the figures of one node."""

    def __init__(self, stream: TextIO | None = None) -> None:
        stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
        self._logger = structlog.wrap_logger(
            structlog.PrintLogger(stream or sys.stderr), processors=[stamp, structlog.processors.JSONRenderer()]
        )
        self.registry = CollectorRegistry()
        self.connected = Gauge("smc_connected", "Whether the peer's node is there.", registry=self.registry)
        self._jobs = Gauge("smc_jobs", "Jobs by state.", ["state"], registry=self.registry)
        self._sessions = Counter("smc_sessions", "Sessions that have ended.", registry=self.registry)
        self._seconds = Histogram("smc_session_seconds", "How long sessions took.", registry=self.registry)
        self._bytes = Counter("smc_session_bytes", "Bytes of sessions.", ["direction"], registry=self.registry)

    def watch_process(self) -> None:
        """Let nothing in this process write of errors by itself: neither our modules nor threads nor libraries."""
        for name in ("parties", "uvicorn"):
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [_Unexpected(self)], False

        def thread_failed(failure: threading.ExceptHookArgs) -> None:
            self.log("unexpected error", where="thread", error=failure.exc_type.__name__)

        threading.excepthook = thread_failed

    def log(self, event: str, **fields: str | int | bool) -> None:
        """Write a line."""
        self._logger.msg(event, **fields)

    def jobs(self, states: list[str]) -> None:
        """The present states of all jobs."""
        for state in get_args(State):
            self._jobs.labels(state).set(states.count(state))

    def session_ended(self, seconds: float, cost: Cost) -> None:
        """Add a session's figures."""
        self._sessions.inc()
        self._seconds.observe(seconds)
        self._bytes.labels("sent").inc(cost.bytes_sent)
        self._bytes.labels("received").inc(cost.bytes_received)


class _Unexpected(logging.Handler):
    """Turns what our modules log of unexpected errors into such lines: where it was, and the kind of the error."""

    def __init__(self, events: Events) -> None:
        super().__init__(logging.WARNING)
        self._events = events

    def emit(self, record: logging.LogRecord) -> None:
        """Never the message of an error: it may quote anything."""
        kind = record.exc_info[0] if record.exc_info else None
        self._events.log("unexpected error", where=record.name, error=kind.__name__ if kind else "none")


class MetricsServer:
    """Serves the figures to Prometheus at http://ADDRESS/metrics."""

    def __init__(self, address: Address, registry: CollectorRegistry) -> None:
        try:
            self._server, self._thread = start_http_server(address.port, address.host, registry)
        except OSError as error:
            raise InputError(f"cannot serve metrics on {address}: {error.strerror}") from None
        self.address = Address(address.host, self._server.server_port)

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
