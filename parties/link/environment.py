"""Check of environment variables that gRPC reads: an unknown value ends the process without a message."""

from __future__ import annotations

import os

from smc.errors import InputError

STRATEGY = "GRPC_POLL_STRATEGY"
_USABLE, _IDLE = ("epoll1", "poll", "all"), "none"


def require_usable() -> None:
    """Raise InputError if the value of GRPC_POLL_STRATEGY would make gRPC abort this process.

    gRPC takes the first strategy in the list that it knows. Without a known one, or with "none", it aborts.
    """
    strategies = os.environ.get(STRATEGY)
    if strategies is None:
        return
    usable = [name for name in strategies.split(",") if name in (*_USABLE, _IDLE)]
    if usable[:1] in ([], [_IDLE]):
        raise InputError(f"{STRATEGY}={strategies}: gRPC knows {', '.join(_USABLE)}; unset it or name one of them")
