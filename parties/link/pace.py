"""How quick this machine is beside the usual one: measured once, kept in the user's cache, told in the hello.

Where a profile is chosen both parties tell theirs, and both reckon with the slower: a public number of the machine, in
half octaves, that depends on no row.
"""

from __future__ import annotations

import math
import os
import platform
import time
from contextlib import suppress

import numpy as np

from smc.errors import ProtocolError
from smc.kernels.native import cache_directories
from smc.kernels.private_files import UnsafeError, read, write

USUAL = 100  # of the machine that `smc.counting.rates` speaks of: a pace is hundredths of the time it takes
LEAST, MOST = 1, 100_000
BLOCKS = 1 << 18
USUAL_SECONDS = 0.42e-3  # for the hashes of so many blocks, on one core
TRIALS = 5  # of which the shortest counts


def own_pace() -> int:
    """Return this machine's: from the cache, or measured in some milliseconds and kept there."""
    name = f"pace-{''.join(c for c in platform.node() if c.isalnum())[:40]}-{os.cpu_count()}"
    for directory in cache_directories():
        with suppress(OSError, UnsafeError, ValueError):
            return checked(int(read(directory, name)))
    pace = rounded(_hashing_seconds() / USUAL_SECONDS)
    for directory in cache_directories():
        with suppress(OSError, UnsafeError):
            write(directory, name, b"%d" % pace)
            break
    return pace


def rounded(times: float) -> int:
    """Return so many times the usual machine's time as a pace: to half octaves, between the bounds."""
    exponent = round(2 * math.log2(max(times, 1e-9))) / 2
    return min(MOST, max(LEAST, round(USUAL * 2**exponent)))


def checked(pace: int) -> int:
    """Return the pace. ValueError for one that no machine has."""
    if not LEAST <= pace <= MOST:
        raise ValueError(f"a pace is between {LEAST} and {MOST} hundredths of the usual machine's time, got {pace}")
    return pace


def agreed_pace(ours: int, theirs: int) -> float:
    """Return the slower of both, in times the usual machine's; the usual if one says none, as builds before did.

    `ProtocolError` for one that no machine has.
    """
    if not ours or not theirs:
        return 1.0
    try:
        return max(checked(ours), checked(theirs)) / USUAL
    except ValueError as error:
        raise ProtocolError(f"choosing the engine: the peer's: {error}") from None


def _hashing_seconds() -> float:
    from smc.counting import CountingSession
    from smc.hashing import LabelHash

    hashed = LabelHash(CountingSession(0), "pace")
    blocks = np.zeros((BLOCKS, 2), dtype=np.uint64)
    shortest = math.inf
    for _ in range(TRIALS):
        start = time.thread_time()
        hashed(blocks)
        shortest = min(shortest, time.thread_time() - start)
    return shortest
