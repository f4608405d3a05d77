"""Shipping targets: a file, syslog, a webhook, OpenTelemetry. A sending returns, or raises its error.

An entry is a line of canonical JSON, as in an export (`records.export.line`), with its number and hash.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import socket
import ssl
import struct
import termios
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from parties.base import keyfile
from parties.base.address import parse_address
from parties.base.canonical import canonical
from parties.base.exchange import exchange
from parties.base.trust import client_context
from parties.node.records.chain import Row
from parties.node.records.export import OTLP_SCOPE, line
from parties.node.shipping.settings import ShipSettings
from smc import __version__
from smc.errors import InputError

PRIORITY = 13 * 8 + 6  # RFC 5424: facility "log audit", severity "informational"
MOST_SEQUENCE = 2**31 - 1  # RFC 5424, 7.3.1


class Target(Protocol):
    """A destination to which log entries are shipped, such as a file or a server."""

    def send(self, rows: Sequence[Row]) -> None:
        """Send these entries, in this order, and return once they have arrived. After an error they are sent again."""


def target(settings: ShipSettings) -> Target:
    """Return the target of shipped log entries that these settings describe."""
    if settings.file is not None:
        return ToFile(settings.file)
    if settings.syslog is not None:
        return ToSyslog(settings)
    return ToWebhook(settings) if settings.webhook is not None else ToCollector(settings)


class ToFile:
    """An append-only file, on the disk before `send` returns; it may be moved away at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, rows: Sequence[Row]) -> None:
        """Append a line for each entry; a line cut short by an earlier crash is ended first."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(handle, "r+b", buffering=0) as stream:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            text = "".join(f"{line(row)}\n" for row in rows).encode()
            remaining = memoryview(b"\n" * torn + text)
            while remaining:
                remaining = remaining[stream.write(remaining) :]
            os.fsync(handle)


class ToSyslog:
    """A syslog server over TLS, messages octet-counted (RFC 5425, 4.3), with a connection for each `send`.

    Syslog has no confirmation of a message, and buffers on the way hold thousands. But a server that receives the end
    of the stream closes the connection once it has read everything.
    """

    def __init__(self, settings: ShipSettings) -> None:
        self._settings, self._context = settings, client_context(settings.ca, settings.certificate, settings.key)
        self._host = _header(socket.gethostname(), 255)

    def send(self, rows: Sequence[Row]) -> None:
        """Send a message for each entry. Raise OSError if the server may not have read them all."""
        with self._connect() as connection:
            connection.sendall(b"".join(map(self._message, rows)))
            _end(connection)

    def _message(self, row: Row) -> bytes:
        """Return an entry as a message (RFC 5424, 6), with its length before it."""
        number = (row.number - 1) % MOST_SEQUENCE + 1
        header = f"<{PRIORITY}>1 {_moment(row.at)} {self._host} smc - {_header(row.kind, 32)}"
        data = f'{header} [meta sequenceId="{number}"] {line(row)}'.encode()
        return b"%d %b" % (len(data), data)

    def _connect(self) -> ssl.SSLSocket:
        assert self._settings.syslog is not None
        host, port = parse_address(self._settings.syslog)
        plain = socket.create_connection((host, port), self._settings.seconds)
        try:
            return self._context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise


class ToWebhook:
    """A web address that takes lines of JSON by POST, and confirms them by status 2xx."""

    content_type = "application/x-ndjson"
    most_answer = 0  # bytes of the answer to read

    def __init__(self, settings: ShipSettings) -> None:
        self._settings, self._context = settings, client_context(settings.ca, settings.certificate, settings.key)

    def send(self, rows: Sequence[Row]) -> None:
        """Send all entries in one request."""
        settings, headers = self._settings, {"Content-Type": self.content_type}
        assert settings.web is not None
        if settings.token_file is not None:
            headers["Authorization"] = f"Bearer {keyfile.secret_line(settings.token_file, 'token_file')}"
        content = self._content(rows).encode()
        status, answer = exchange(
            "POST", settings.web, self._context, settings.seconds, self.most_answer, content=content, headers=headers
        )
        if status // 100 != 2:
            raise InputError(f"the server answers {status}")
        self._check(answer)

    def _content(self, rows: Sequence[Row]) -> str:
        return "".join(f"{line(row)}\n" for row in rows)

    def _check(self, answer: bytes) -> None:
        """Raise an error if the answer does not confirm all entries; a webhook's answer is not read."""


class ToCollector(ToWebhook):
    """An OpenTelemetry collector of logs: OTLP/HTTP in its JSON encoding, one request for each `send`.

    An entry is a log record: its kind is the event's name, its line the body. After an answer that only some were
    accepted (`partialSuccess`) all entries are sent again: otherwise the rejected ones would stay missing.
    """

    content_type = "application/json"
    most_answer = 1 << 16

    @override
    def _content(self, rows: Sequence[Row]) -> str:
        scope = {"name": OTLP_SCOPE, "version": __version__}
        origin = {"attributes": [_attribute("service.name", "smc"), _attribute("host.name", socket.gethostname())]}
        logs = {"scope": scope, "logRecords": list(map(_log_record, rows))}
        return canonical({"resourceLogs": [{"resource": origin, "scopeLogs": [logs]}]})

    @override
    def _check(self, answer: bytes) -> None:
        if len(answer) > self.most_answer:
            raise InputError("the collector's answer is too long")
        rejected: object = 0
        # status 2xx with another content is a success, too
        with suppress(ValueError, LookupError, TypeError, RecursionError):
            rejected = json.loads(answer)["partialSuccess"]["rejectedLogRecords"]
        if rejected not in (0, "0", None):  # any other value: "1e2" is a number in OTLP's JSON, too
            count = rejected if re.fullmatch("[0-9]{1,3}", str(rejected)) else "some"
            raise ConnectionError(errno.EREMOTEIO, f"the collector rejects {count} entries")


def _log_record(row: Row) -> dict[str, Any]:
    """Return an entry as a LogRecord of OTLP 1, with 64-bit numbers as text, and without an invalid time."""
    record = {
        "severityNumber": 9,
        "severityText": "INFO",
        "eventName": row.kind,
        "body": {"stringValue": line(row)},
        "attributes": [
            {"key": "smc.entry.number", "value": {"intValue": str(row.number)}},
            _attribute("smc.entry.hash", row.hash),
            *([] if row.job is None else [_attribute("smc.job", row.job)]),
        ],
    }
    with suppress(ValueError, TypeError):
        since = datetime.fromisoformat(row.at) - datetime(1970, 1, 1, tzinfo=UTC)
        nanoseconds = str(since // timedelta(microseconds=1) * 1000)
        record |= {"timeUnixNano": nanoseconds, "observedTimeUnixNano": nanoseconds}
    return record


def _attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def _end(connection: ssl.SSLSocket) -> None:
    """End the stream, and wait until the server has read everything and closes. Raise OSError if it does not.

    A server should answer close_notify with its own (RFC 5425, 4.4), but rsyslog only closes. The system under it
    resets a connection that is closed with unread data, and has not confirmed data that came after the close.
    """
    with suppress(ssl.SSLEOFError):
        connection.unwrap()
    (unconfirmed,) = struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))
    connection.shutdown(socket.SHUT_WR)
    if connection.recv(1) or unconfirmed:
        raise ConnectionResetError(errno.ECONNRESET, "the server has closed before it had everything")


def _moment(at: str) -> str:
    """Return a log time in the form of RFC 5424; an invalid one becomes "-"."""
    return at if at.isascii() and at.isprintable() and " " not in at and at else "-"


def _header(text: str, most: int) -> str:
    return "".join(c if "!" <= c <= "~" else "-" for c in str(text))[:most] or "-"
