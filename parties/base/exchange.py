"""Connections with a fixed deadline, whatever the peer, the line or the resolver does; requests over HTTP.

Time-outs of sockets, and so those of httpx, restart with each byte: a peer that sends one byte now and then could hold
its reader for ever. So a connection is shut down at its deadline through a duplicate descriptor. This wakes its reader,
which closes it. Another thread must not close it: the system could reuse the descriptor's number for another file while
the reader still uses it.
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
    """Shut a connection down at a deadline, unless the block ends before; the block may wrap it in TLS.

    At the deadline the block sees the end of the connection.

    Args:
        connection: The connected socket.
        seconds: Seconds until the deadline.

    Raises:
        TimeoutError: The deadline has passed, whatever the block has raised.
    """
    is_over = threading.Event()
    with connection.dup() as copy:

        def shut() -> None:
            is_over.set()
            with suppress(OSError):  # the connection has ended by itself
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
    max_bytes: int,
    proxies: bool = False,
    **request: Any,
) -> tuple[int, bytes]:
    """Send an HTTP request; return the status and the content of the response, without decompression.

    No redirection is followed.

    Args:
        method: HTTP method.
        url: Address of the request.
        context: Trust and identity for TLS.
        seconds: Seconds until the deadline of the whole exchange.
        max_bytes: Largest content in bytes; of a longer one, somewhat more than `max_bytes` bytes are returned.
        proxies: Use the proxies of the environment.
        **request: Further arguments of httpx's request.

    Raises:
        TimeoutError: The response is not complete within `seconds`. Errors of httpx and the system pass unchanged.
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
                    if len(content) > max_bytes:
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
