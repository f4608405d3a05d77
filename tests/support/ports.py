"""Ports of this machine for programs that are to be told where to listen before they do."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

LOWEST = 20_000
KERNEL = Path("/proc/sys/net/ipv4/ip_local_port_range")  # those that outgoing connections get
WORKERS = 8  # at most so many parts of a test run have ports of their own


def free_port() -> int:
    """A port at which nobody listens, and which stays free until it is taken by who is told it.

    Of the ports that the kernel deals out, any program's next connection could take it in between.
    """
    for port in _OWN:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


def _own_ports() -> Iterator[int]:
    """Round and round those of this worker, from a place that differs from run to run."""
    limit = int(KERNEL.read_text().split()[0]) if KERNEL.exists() else 32_768
    if limit < LOWEST + 100 * WORKERS:
        limit = 32_768
    size = (limit - LOWEST) // WORKERS
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    step = os.getpid()
    for _ in range(100 * size):
        step += 1
        yield LOWEST + worker * size + step % size


_OWN = _own_ports()
