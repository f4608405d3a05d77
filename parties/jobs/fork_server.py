"""What the server that forks shards loads, and nothing else does: a fork that was never told its task ends silently.

A process that begins a shard may be killed while it tells the fork its task. The fork's traceback would stand in the
standard error of that process, which may be a node's JSON log.
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
