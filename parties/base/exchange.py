"""Connections that end at their deadline, whatever the other end, the line or the resolver does; requests over HTTP.

Time-outs of sockets, and so those of httpx, begin anew with each byte: whoever sends one now and then would hold its
reader for ever. So at its deadline a connection is shut down, by a number of its own, and whoever reads it, woken by
that, closes it: a file that another thread closes gives its number away while it is being read, and what is read or
written by that number then is somebody else's file.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any


@contextmanager
def ending(connection: socket.socket, seconds: float) -> Iterator[None]:
    """Shut a connection down after so many seconds, unless what is enclosed is through by then; it may become TLS.

    TimeoutError then, whatever has become of what is enclosed: to it the other end seems to have ended.
    """
    is_over = threading.Event()
    with connection.dup() as copy:

        def shut() -> None:
            is_over.set()
            with suppress(OSError):  # it has ended by itself
                copy.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(seconds, shut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            if is_over.is_set():
                raise TimeoutError from None


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

    ends, ended = time.monotonic() + seconds, queue.SimpleQueue[tuple[int, bytes] | Exception]()
    headers = {"Accept-Encoding": "identity", **request.pop("headers", {})}

    def answer() -> tuple[int, bytes]:
        with ExitStack() as stack:

            def note(event: str, info: Mapping[str, Any]) -> None:  # httpx's extension "trace"
                if event == "connection.connect_tcp.complete":
                    connection = info["return_value"].get_extra_info("socket")
                    stack.enter_context(ending(connection, ends - time.monotonic()))

            client = stack.enter_context(httpx.Client(verify=context, timeout=seconds, trust_env=proxies))
            content = b""
            with client.stream(method, url, headers=headers, extensions={"trace": note}, **request) as response:
                for part in response.iter_raw():
                    content += part
                    if len(content) > most:
                        break
            return response.status_code, content

    def ask() -> None:
        try:
            ended.put(answer())
        except Exception as error:
            ended.put(error)

    threading.Thread(target=ask, name="smc-http", daemon=True).start()
    try:
        end = ended.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(end, Exception):
        raise end
    return end
