"""Preload of the server that forks shards: a fork that never received its task ends without a traceback.

A process that starts a shard may be killed while it sends the task to the fork. The fork's traceback would then appear
in the standard error of that process, which may be a node's JSON log.
"""

from __future__ import annotations

import pickle
import sys
from types import TracebackType

UNTOLD = (EOFError, ConnectionError, pickle.UnpicklingError)

_before = sys.excepthook


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, UNTOLD):
        _before(kind, error, trace)


sys.excepthook = _hook
