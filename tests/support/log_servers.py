"""Servers that take entries of a log: syslog over TLS in a few lines, and rsyslog as it is."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

from parties.link.identity import Identity
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, eventually

# RFC 5424, 6, as far as it is used: PRI VERSION, TIMESTAMP, HOSTNAME, APP-NAME, PROCID, MSGID, one element with one
# parameter, MSG in ASCII.
MESSAGE = re.compile(
    rb"<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 [!-~]{1,255} smc - [!-~]{1,32} "
    rb'\[meta sequenceId="([1-9]\d*)"\] ([ -~]*)'
)


class SyslogServer:
    """A server that keeps messages and closes, as rsyslog does, without close_notify unless `answers` says so.

    While it is `deaf`, it takes connections and reads nothing, with a small buffer, until it closes them; with "end" it
    says at once that it has nothing to say.
    """

    def __init__(self, identity: Identity, answers: bool = False) -> None:
        self._answers = answers
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(identity.certificate_path, identity.key_path)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self.port = self._listener.getsockname()[1]
        self.got: list[tuple[int, str]] = []
        self.connections = 0
        self.deaf: Literal["", "close", "end"] = ""
        self.waits = threading.Event()  # how long a deaf one does before it closes
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.waits.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                threading.Thread(target=self._read, args=(plain,), daemon=True).start()

    def _read(self, plain: socket.socket) -> None:
        with suppress(OSError), self._context.wrap_socket(plain, server_side=True) as connection:
            self.connections += 1
            if self.deaf:
                if self.deaf == "end":
                    socket.socket.shutdown(connection, socket.SHUT_WR)
                self.waits.wait(PATIENCE)
                return
            with connection.makefile("rb") as stream:
                while length := _length(stream):
                    message = MESSAGE.fullmatch(stream.read(length))
                    assert message is not None
                    self.got.append((int(message[1]), message[2].decode()))
            if self._answers:
                connection.unwrap()


def _length(stream: object) -> int:
    """MSG-LEN of RFC 5425; 0 at the end."""
    digits = b""
    while (byte := stream.read(1)) not in (b" ", b""):  # type: ignore[attr-defined]
        digits += byte
    return int(digits or b"0")


class Rsyslog:
    """rsyslogd with TLS on a port of its own, which writes what it gets into a file."""

    def __init__(self, program: str, folder: Path, identity: Identity) -> None:
        self.program, self.folder, self.port = program, folder, free_port()
        self.file = folder / "received.log"
        self._config = folder / "rsyslog.conf"
        self._config.write_text(f"""
global(workDirectory="{folder}" maxMessageSize="64k" defaultNetstreamDriver="gtls"
  defaultNetstreamDriverCAFile="{identity.certificate_path}"
  defaultNetstreamDriverCertFile="{identity.certificate_path}"
  defaultNetstreamDriverKeyFile="{identity.key_path}")
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="anon")
input(type="imtcp" address="127.0.0.1" port="{self.port}")
action(type="omfile" file="{self.file}" template="RSYSLOG_SyslogProtocol23Format")
""")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self.program, "-n", "-f", str(self._config), "-i", str(self.folder / "pid")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._listens)

    def stop(self, kill: bool = False) -> None:
        if self._process is not None:
            (self._process.kill if kill else self._process.terminate)()
            self._process.wait(PATIENCE)
        self._process = None

    def text(self) -> str:
        return self.file.read_text() if self.file.exists() else ""

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        assert self._process is not None
        assert self._process.poll() is None, "rsyslogd ended"
        return False
