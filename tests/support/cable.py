"""A TCP relay on this machine: a cable that can be cut and mended, slow, lossy, or forgetful."""

from __future__ import annotations

import queue
import random
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

SEGMENT = 1448  # bytes of a TCP segment on Ethernet
RETRANSMITTED = 0.2  # seconds that Linux waits at least until it sends a lost segment again
CHUNK = 1 << 14  # bytes carried at once
UNDER_WAY = 256  # chunks that the cable holds, then who sends has to wait


@dataclass(frozen=True)
class Line:
    """What a cable does to bytes. It sees no packets: a lost segment holds up all behind it until it is sent again.

    `delay` seconds one way; `rate` bytes a second each way, None without bound; `loss`, the part of segments that are
    lost; `forgets`: a connection that has been silent for so many seconds is carried no more, and nobody is told.
    """

    delay: float = 0.0
    rate: float | None = None
    loss: float = 0.0
    forgets: float | None = None


class Cable:
    """A relay to a port on this machine, which can be cut and mended, or swallow everything for a while."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.line = Line()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._whole = True
        self._flows = threading.Event()
        self._flows.set()
        self.refused = 0  # connections while nobody listened, or it was cut
        self.carried = 0  # all others
        self.forgotten = 0
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """All connections end, and new ones too."""
        self._whole = False
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    def mend(self) -> None:
        self._whole = True

    def hold(self, seconds: float) -> None:
        """Be a black hole for so long: nothing arrives, neither bytes nor that a connection has ended."""
        self._flows.clear()
        time.sleep(seconds)
        self._flows.set()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    if not self._whole:
                        raise ConnectionRefusedError
                    far = socket.create_connection(("127.0.0.1", self.target))
                except ConnectionRefusedError:  # as if there were no relay
                    near.close()
                    self.refused += 1
                    continue
                for end in (near, far):  # else a chunk waits 40 ms for word of the one before: no line of gRPC's does
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ends += [near, far]
                self.carried += 1
                connection = _Connection()
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other, connection), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, connection: _Connection) -> None:
        """Read one direction of a connection, and say of each chunk when it arrives."""
        under_way: queue.Queue[tuple[float, bytes]] = queue.Queue(UNDER_WAY)
        threading.Thread(target=self._deliver, args=(sink, under_way), daemon=True).start()
        chance = random.Random(source.fileno())
        free = arrives = 0.0  # when the line has sent what it had, and when that was there
        with suppress(OSError):
            while data := source.recv(CHUNK):
                line, now = self.line, time.monotonic()
                if connection.is_forgotten(now, line.forgets):
                    self.forgotten += 1
                    connection.gone = True
                if connection.gone:
                    continue
                free = max(free, now) + (len(data) / line.rate if line.rate else 0.0)
                lost = any(chance.random() < line.loss for _ in range(0, len(data), SEGMENT))
                arrives = max(arrives, free + line.delay + (RETRANSMITTED + 2 * line.delay if lost else 0.0))
                under_way.put((arrives, data))
        if not connection.gone:
            under_way.put((arrives, b""))

    def _deliver(self, sink: socket.socket, under_way: queue.Queue[tuple[float, bytes]]) -> None:
        with suppress(OSError):
            while True:
                arrives, data = under_way.get()
                time.sleep(max(0.0, arrives - time.monotonic()))
                self._flows.wait()
                if not data:  # who leaves is missed at once, as without a relay
                    break
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


class _Connection:
    """What both directions of a connection share: when it last carried something, and whether it is forgotten."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self.gone = False

    def is_forgotten(self, now: float, after: float | None) -> bool:
        silent, self._last = now - self._last, now
        return not self.gone and after is not None and silent > after
