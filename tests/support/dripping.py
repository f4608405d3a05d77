"""A server over HTTP that sends its answer byte by byte, its header first: each in time, all of it never."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LONG = 2000  # bytes of a header


class Dripping:
    """What it `got`; `over` once it has sent all, `cut` once nobody takes more. `body` ends its answer."""

    def __init__(self, port: int) -> None:
        self.url, self.body = f"http://127.0.0.1:{port}", b"{}"
        self.got: list[bytes] = []
        self.over, self.cut = threading.Event(), threading.Event()


@contextmanager
def dripping(seconds: float) -> Iterator[Dripping]:
    """Serve one request with so many seconds before each byte; at once if there are none."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Dripping(listening.getsockname()[1])
        end = threading.Event()

        def serve() -> None:
            with suppress(OSError), listening.accept()[0] as connection:
                server.got.append(connection.recv(1 << 16))
                answer = b"HTTP/1.1 200 OK\r\nX: " + b"x" * (LONG if seconds else 1)
                answer += b"\r\nContent-Length: %d\r\n\r\n" % len(server.body) + server.body
                try:
                    for byte in answer if seconds else ():
                        connection.sendall(bytes([byte]))
                        if end.wait(seconds):
                            return
                    connection.sendall(b"" if seconds else answer)
                except OSError:
                    server.cut.set()
                else:
                    server.over.set()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            end.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join()
