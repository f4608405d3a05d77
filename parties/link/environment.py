"""Variables of the environment that gRPC reads: one that it does not know ends the process without a word."""

from __future__ import annotations

import os

from smc.errors import InputError

STRATEGY = "GRPC_POLL_STRATEGY"
_USABLE, _IDLE = ("epoll1", "poll", "all"), "none"


def require_usable() -> None:
    """Raise `InputError` if gRPC would abort this process. It takes the first of the strategies that it knows."""
    wanted = os.environ.get(STRATEGY)
    if wanted is None:
        return
    known = [name for name in wanted.split(",") if name in (*_USABLE, _IDLE)]
    if known[:1] in ([], [_IDLE]):
        raise InputError(f"{STRATEGY}={wanted}: gRPC knows {', '.join(_USABLE)}; unset it or name one of them")
