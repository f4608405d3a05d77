"""What a solver prints goes to standard error: its C++ does so now and then, whatever it is told, and standard output
is for results.

HiGHS says "HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();" of some integer programmes, with
all its output turned off. The text goes through C's buffer to the file descriptor, past Python's `sys.stdout`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

OUT, ERR = 1, 2  # file descriptors

_lock = threading.Lock()
_inside = 0  # threads that solve something
_kept: int | None = None  # standard output, while the descriptor leads to standard error


@contextmanager
def aside() -> Iterator[None]:
    """Lead standard output to standard error in the enclosed work, for the whole process; threads may overlap."""
    global _inside, _kept
    with _lock:
        if not _inside:
            _flush()
            with suppress(OSError):  # a process without the one or the other has nothing to mix up
                _kept = os.dup(OUT)
                os.dup2(ERR, OUT)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _kept is not None:
                _flush()
                os.dup2(_kept, OUT)
                os.close(_kept)
                _kept = None


def _flush() -> None:
    """Bring what Python and C have buffered to where the descriptor leads now."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
