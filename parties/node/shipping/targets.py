"""The ways to hand entries on: a file, syslog, a webhook, OpenTelemetry. A sending returns, or raises what went wrong.

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
    """A place where entries go."""

    def send(self, rows: Sequence[Row]) -> None:
        """Hand these on, in this order, until they are there. Whatever it raises, they are sent again."""


def target(settings: ShipSettings) -> Target:
    """Return the target of these settings."""
    if settings.file is not None:
        return ToFile(settings.file)
    if settings.syslog is not None:
        return ToSyslog(settings)
    return ToWebhook(settings) if settings.webhook is not None else ToCollector(settings)


class ToFile:
    """A file that is only added to, on the disk before `send` returns; it may be moved away at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, rows: Sequence[Row]) -> None:
        """Add a line each; one that was cut short by a crash before is ended."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(handle, "r+b", buffering=0) as stream:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            text = "".join(f"{line(row)}\n" for row in rows).encode()
            left = memoryview(b"\n" * torn + text)
            while left:
                left = left[stream.write(left) :]
            os.fsync(handle)


class ToSyslog:
    """A syslog server over TLS, messages octet-counted (RFC 5425, 4.3), a connection for each `send`.

    Nothing in syslog says that a message arrived, and buffers on the way hold thousands. But a server that is told that
    nothing more comes ends the connection once it has read everything.
    """

    def __init__(self, settings: ShipSettings) -> None:
        self._settings, self._context = settings, client_context(settings.ca, settings.certificate, settings.key)
        self._host = _header(socket.gethostname(), 255)

    def send(self, rows: Sequence[Row]) -> None:
        """Send a message each. OSError if the server may not have read them all."""
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
    """A web address that takes lines of JSON by POST, and says by 2xx that it has them."""

    content_type = "application/x-ndjson"
    most_answer = 0  # bytes of the answer that are read

    def __init__(self, settings: ShipSettings) -> None:
        self._settings, self._context = settings, client_context(settings.ca, settings.certificate, settings.key)

    def send(self, rows: Sequence[Row]) -> None:
        """Send all in one request."""
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
        """Raise an error if the server has not all, by what it says; what a webhook says is not read."""


class ToCollector(ToWebhook):
    """A collector of OpenTelemetry's that takes logs: OTLP/HTTP in its JSON encoding, one request for each `send`.

    An entry is a log record: its kind is the event's name, its line the body. A collector that answers that it took
    some of them only (`partialSuccess`) has none, or what is missing would stay so: all are sent again.
    """

    content_type = "application/json"
    most_answer = 1 << 16

    @override
    def _content(self, rows: Sequence[Row]) -> str:
        scope = {"name": OTLP_SCOPE, "version": __version__}
        about = {"attributes": [_attribute("service.name", "smc"), _attribute("host.name", socket.gethostname())]}
        logs = {"scope": scope, "logRecords": list(map(_log_record, rows))}
        return canonical({"resourceLogs": [{"resource": about, "scopeLogs": [logs]}]})

    @override
    def _check(self, answer: bytes) -> None:
        if len(answer) > self.most_answer:
            raise InputError("the collector's answer is too long")
        rejected: object = 0
        with suppress(ValueError, LookupError, TypeError, RecursionError):  # 2xx and nothing else is a success, too
            rejected = json.loads(answer)["partialSuccess"]["rejectedLogRecords"]
        if rejected not in (0, "0", None):  # whatever else it is: "1e2" is a number in OTLP's JSON, too
            count = rejected if re.fullmatch("[0-9]{1,3}", str(rejected)) else "some"
            raise ConnectionError(errno.EREMOTEIO, f"the collector rejects {count} entries")


def _log_record(row: Row) -> dict[str, Any]:
    """Return an entry as a LogRecord of OTLP 1, in which numbers of 64 bits are texts; a time that is none is left
    out."""
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
    """Say that nothing more comes, and wait until the server has read it all and ends, too. OSError if it does not.

    A server should answer close_notify with its own (RFC 5425, 4.4), but rsyslog only closes. Its system resets a
    connection that is closed with something unread, and has not confirmed what came after it was closed.
    """
    with suppress(ssl.SSLEOFError):
        connection.unwrap()
    (unconfirmed,) = struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))
    connection.shutdown(socket.SHUT_WR)
    if connection.recv(1) or unconfirmed:
        raise ConnectionResetError(errno.ECONNRESET, "the server has closed before it had everything")


def _moment(at: str) -> str:
    """Return a time of the log as RFC 5424 has it; one that nobody wrote is left out."""
    return at if at.isascii() and at.isprintable() and " " not in at and at else "-"


def _header(text: str, most: int) -> str:
    """Return a text as a field of the header: printable ASCII without blanks."""
    return "".join(c if "!" <= c <= "~" else "-" for c in str(text))[:most] or "-"
