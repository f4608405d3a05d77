"""How much of a process strangers can hold: open connections, and seconds until one must have shown who it is.

Whoever can reach a port can open connections to it, and each costs a file descriptor and about 50 KB until TLS has
found out that it is not the pinned peer. So a connection has a deadline for that, and those of a port together have no
more than a share of the process's descriptors: what is above is closed when it is accepted, and what the process needs
for its own work is never taken. gRPC shows nobody a connection before TLS is through, so connections cannot be counted
by source address here: that is the firewall's part.
"""

from __future__ import annotations

import resource
from contextlib import suppress

HANDSHAKE_SECONDS = 5.0  # as long as an honest peer's own attempt to connect
MOST_CONNECTIONS = 2048  # of the peer's port: about 100 MB
MOST_LOCAL_CONNECTIONS = 64  # of a port for this machine


def raise_descriptors() -> None:
    """Let this process open as many files as the system allows it: what it is started with may be no more than 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # it is no condition
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections() -> int:
    """Return how many connections the peer's port may hold at once: at most half the limit of descriptors."""
    return _share(2, MOST_CONNECTIONS)


def local_connections() -> int:
    """Return the same for each of the ports that serve this machine, of which a node has three: a 32nd part at most.

    A web server accepts some more before it can turn any away.
    """
    return _share(32, MOST_LOCAL_CONNECTIONS)


def server_options(most: int) -> list[tuple[str, int]]:
    """Return the bounds as gRPC's options of a server: the deadline, and `most` connections."""
    return [
        ("grpc.server_handshake_timeout_ms", round(1000 * HANDSHAKE_SECONDS)),
        ("grpc.max_allowed_incoming_connections", most),
    ]


def _share(part: int, most: int) -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft // part))
