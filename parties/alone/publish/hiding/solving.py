"""Redirection of a solver's output to standard error: standard output is for results only.

With all its output turned off, HiGHS still prints "HighsMipSolverData::transformNewIntegerFeasibleSolution
tmpSolver.run();" for some integer programmes. The text goes through C's buffer to the file descriptor, past Python's
`sys.stdout`.
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
_inside = 0  # threads inside `aside`
_kept: int | None = None  # duplicate of standard output, while its descriptor leads to standard error


@contextmanager
def aside() -> Iterator[None]:
    """Redirect standard output to standard error during the block, for the whole process; threads may overlap."""
    global _inside, _kept
    with _lock:
        if not _inside:
            _flush()
            with suppress(OSError):  # a process without one of the descriptors needs no redirection
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
    """Flush the buffers of Python and C to the descriptor's present target."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
