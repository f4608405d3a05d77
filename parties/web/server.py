"""Server of the page, or the metrics, in a thread of the node, for this machine only."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import threading
import time
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from parties.base import bounds
from parties.base.address import Address
from parties.web.connection import Connection
from smc.errors import InputError

STOP_SECONDS = 3.0  # for answers under way
START_SECONDS = 10.0
QUEUE = 1024  # connections that the system queues until they are accepted


class WebServer:
    """An ASGI application at an address; port 0 takes any free port.

    Args:
        address: The address.
        app: The application.
        loopback_only: False serves other machines, too: for a container whose port is published on loopback.
        what: Name of the application in messages.
        tls: Settings of https; None serves http.
        socket_file: Unix socket, for this user alone, in place of the address.
    """

    def __init__(
        self,
        address: Address,
        app: ASGIApp,
        loopback_only: bool = True,
        what: str = "the web page",
        tls: ssl.SSLContext | None = None,
        socket_file: Path | None = None,
    ) -> None:
        self._address, self._app, self._loopback_only, self._what = address, app, loopback_only, what
        self._tls, self._file = tls, socket_file
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> Address:
        """The page's address: with its actual port once started."""
        return self._address

    def start(self) -> None:
        """Start to serve. Raise InputError if the address is not on this machine's loopback, or not available."""
        listening = self._listen() if self._file is None else self._listen_in(self._file)
        config = uvicorn.Config(
            self._app,
            http=Connection,
            backlog=bounds.local_connections(),  # connections accepted at once, before one can be closed for another
            log_config=None,  # the node's logging is used
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=int(STOP_SECONDS),
        )
        config.load()
        config.ssl = self._tls
        self._server = uvicorn.Server(config)
        if self._file is None:
            self._address = Address(self._address.host, listening.getsockname()[1])
        self._thread = threading.Thread(target=self._server.run, args=([listening],), name="web", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise InputError(f"{self._what} at {self._address} does not start")
            time.sleep(0.01)
        listening.listen(QUEUE)  # connections queued here need no descriptor

    def stop(self) -> None:
        """Stop serving, within about `STOP_SECONDS`; may be called twice, or without a start."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(STOP_SECONDS + 1)
        self._server.force_exit = True
        self._thread.join(STOP_SECONDS)
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _listen_in(self, path: Path) -> socket.socket:
        """Open a Unix socket for this user alone; one left by a killed process is replaced."""
        if path.is_socket():
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(path)) == errno.ECONNREFUSED:
                    path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listening.bind(str(path))
        except OSError as error:
            listening.close()
            why = "something is there already" if error.errno == errno.EADDRINUSE else error.strerror or error
            raise InputError(f"{self._what} cannot be served at {path}: {why}; name another file") from None
        finally:
            os.umask(before)
        return listening

    def _listen(self) -> socket.socket:
        host, port = self._address
        if self._loopback_only and not self._address.is_local:
            raise InputError(
                f"{self._what} is for this machine only: serve it at 127.0.0.1:{port}, not at {self._address}"
            )
        try:
            family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listening = socket.create_server(where[:2], family=family)
        except OSError as error:
            is_taken = error.errno == errno.EADDRINUSE  # Python's own text of it repeats the address
            hint = f"{os.strerror(errno.EADDRINUSE)}; is another node running?" if is_taken else error.strerror
            raise InputError(f"{self._what} cannot be served at {self._address}: {hint}") from None
        # Inherited by accepted connections. Without it the second part of an answer waits 40 ms for the first one's
        # ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
