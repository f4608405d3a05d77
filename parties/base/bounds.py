"""Limits on unauthenticated connections: their number, and the seconds until a connection must be authenticated.

Anyone who can reach a port can open connections to it. Each costs a file descriptor and about 50 KB until TLS rejects a
peer that is not the pinned one. So a connection has a deadline for the handshake, and the connections of a port may use
only a share of the process's descriptors. Further connections are closed when accepted, and the descriptors for the
process's own work stay free. gRPC reveals no connection before the TLS handshake is complete, so connections cannot be
counted by source address here: that is the task of the firewall.
"""

from __future__ import annotations

import resource
from contextlib import suppress

HANDSHAKE_SECONDS = 5.0  # as long as an honest peer's own attempt to connect
MOST_CONNECTIONS = 2048  # connections of the peer's port: about 100 MB
MOST_LOCAL_CONNECTIONS = 64  # connections of a port for this machine


def raise_descriptors() -> None:
    """Raise the process's limit of open files to the system's hard limit; the initial limit may be 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # the higher limit is optional
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections() -> int:
    """Return the largest number of connections of the peer's port: at most half of the descriptors."""
    return _share(2, MOST_CONNECTIONS)


def local_connections() -> int:
    """Return the largest number of connections of each local port of a node: at most a 32nd of the descriptors.

    A web server accepts some more before it can reject any.
    """
    return _share(32, MOST_LOCAL_CONNECTIONS)


def server_options(most: int) -> list[tuple[str, int]]:
    """Return the limits as options of a gRPC server: the deadline, and `most` connections."""
    return [
        ("grpc.server_handshake_timeout_ms", round(1000 * HANDSHAKE_SECONDS)),
        ("grpc.max_allowed_incoming_connections", most),
    ]


def _share(part: int, most: int) -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft // part))
