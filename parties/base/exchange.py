"""One request over HTTP, which is over at its deadline, whatever the server, the line or the resolver does.

The deadlines of httpx begin anew with each byte: a server that sends one now and then would hold its reader for ever.
So each request has a thread of its own. At the deadline its connection is shut down, and the thread, woken by that,
closes what it has opened itself: a file that another thread closes gives its number away while it is being read, and
what is read or written by that number then is somebody else's file.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def exchange(
    method: str,
    url: str,
    context: ssl.SSLContext,
    seconds: float,
    most: int,
    proxies: bool = False,
    **request: Any,
) -> tuple[int, bytes]:
    """Return the status of an answer and its content as it was sent, some more than `most` bytes if it has more.

    `request` is as for httpx; `proxies`: those of the environment count. No redirection is followed. TimeoutError if
    it is not there within so many seconds; what httpx and the system raise besides comes as it is.
    """
    import httpx

    connection, ended = _Connection(), queue.SimpleQueue[tuple[int, bytes] | Exception]()
    headers = {"Accept-Encoding": "identity", **request.pop("headers", {})}
    extensions = {"trace": connection.note}

    def ask() -> None:
        try:
            with (
                httpx.Client(verify=context, timeout=seconds, trust_env=proxies) as client,
                client.stream(method, url, headers=headers, extensions=extensions, **request) as answer,
            ):
                content = b""
                for part in answer.iter_raw():
                    content += part
                    if len(content) > most:
                        break
            ended.put((answer.status_code, content))
        except Exception as error:
            ended.put(error)
        finally:
            connection.leave()

    threading.Thread(target=ask, name="smc-http", daemon=True).start()
    try:
        end = ended.get(timeout=seconds)
    except queue.Empty:
        connection.cut()
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    if isinstance(end, Exception):
        raise end
    return end


class _Connection:
    """The connection of a request, which another thread may cut, by a number of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._copy: socket.socket | None = None
        self._is_cut = False

    def note(self, event: str, info: Mapping[str, Any]) -> None:
        """Take what httpx tells of a request (its extension `trace`)."""
        if event != "connection.connect_tcp.complete":
            return
        stream = info["return_value"]
        with self._lock:
            if self._is_cut:
                stream.close()
                raise TimeoutError
            self._copy = stream.get_extra_info("socket").dup()

    def cut(self) -> None:
        """End what is read and written; the thread that reads and writes goes on at once."""
        with self._lock:
            self._is_cut = True
            if self._copy is not None:
                with suppress(OSError):  # it has ended by itself
                    self._copy.shutdown(socket.SHUT_RDWR)

    def leave(self) -> None:
        """Let go of it."""
        with self._lock:
            if self._copy is not None:
                self._copy.close()
                self._copy = None
