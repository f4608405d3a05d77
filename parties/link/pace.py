"""Pace of this machine, its time in hundredths of the usual machine's: measured once, and kept in the user's cache.

There are three paces: of protocols, which hash; of OT by RSA; of local work on arrays of floating-point numbers. When a
profile is chosen, both parties state the first in the hello, and both use the slower one. It is a public number of the
machine, in half octaves, that depends on no row.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress

from smc.errors import ProtocolError

USUAL = 100  # the machine of `smc.counting.rates`: a pace is hundredths of its time
LEAST, MOST = 1, 100_000
BLOCKS = 1 << 18
USUAL_SECONDS = 0.42e-3  # for the hashes of `BLOCKS` blocks, on one core
TRIALS = 5  # the shortest counts
CELLS, STEPS = 1 << 12, 50  # of a table whose exponentials and sums are computed, and how often
USUAL_SUMMING_SECONDS = 0.33e-3  # for `STEPS` such steps


def own_pace() -> int:
    """Return this machine's pace in hashing: its time in hundredths of the usual machine's, cached or measured."""
    return _kept("pace", lambda: _hashing_seconds() / USUAL_SECONDS)


def own_pace_of(ot: str) -> int:
    """Return the pace of this machine for protocols with a kind of OT: of RSA for "trapdoor", else of hashing."""
    from smc.counting.rates import TRAPDOOR_SECONDS  # loads numpy

    return _kept("pace-rsa", lambda: _rsa_seconds() / TRAPDOOR_SECONDS["sender"]) if ot == "trapdoor" else own_pace()


def own_pace_alone() -> int:
    """Return the pace of this machine on arrays of floating-point numbers, from the cache or measured."""
    return _kept("pace-alone", lambda: _summing_seconds() / USUAL_SUMMING_SECONDS)


def _kept(what: str, measured: Callable[[], float]) -> int:
    from smc.kernels.native import cached, keep  # loads numpy: only where the link is measured

    name = f"{what}-{''.join(c for c in platform.node() if c.isalnum())[:40]}-{os.cpu_count()}"
    for content in cached(name):
        with suppress(ValueError):
            return checked(int(content))
    pace = rounded(measured())
    keep(name, b"%d" % pace)
    return pace


def rounded(times: float) -> int:
    """Return a pace in hundredths of the usual machine's time, rounded to half octaves, within `LEAST` and `MOST`.

    Args:
        times: Time of this machine divided by the time of the usual machine.
    """
    exponent = round(2 * math.log2(max(times, 1e-9))) / 2
    return min(MOST, max(LEAST, round(USUAL * 2**exponent)))


def checked(pace: int) -> int:
    """Return a pace, in hundredths of the usual machine's time. Raise ValueError if it is out of bounds."""
    if not LEAST <= pace <= MOST:
        raise ValueError(f"a pace is between {LEAST} and {MOST} hundredths of the usual machine's time, got {pace}")
    return pace


def agreed_pace(ours: int, theirs: int) -> float:
    """Return the slower of both paces, as a factor of the usual machine's time; 1 if a party states none.

    Args:
        ours: Our pace, in hundredths of the usual machine's time; 0 states none.
        theirs: The peer's pace, in the same unit.

    Raises:
        ProtocolError: A pace is out of bounds.
    """
    if not ours or not theirs:
        return 1.0
    try:
        return max(checked(ours), checked(theirs)) / USUAL
    except ValueError as error:
        raise ProtocolError(f"choosing the engine: the peer's: {error}") from None


def _hashing_seconds() -> float:
    import numpy as np

    from smc.counting import CountingSession
    from smc.hashing import LabelHash

    hashed = LabelHash(CountingSession(0), "pace")
    blocks = np.zeros((BLOCKS, 2), dtype=np.uint64)
    return _shortest(lambda: hashed(blocks))


def _rsa_seconds() -> float:
    """Time a private-key operation of RSA-3072: two powers modulo numbers of 1,536 bits."""
    import gmpy2

    modulus = (gmpy2.mpz(1) << 1536) - 1
    base = modulus // 3
    return 2 * _shortest(lambda: gmpy2.powmod_sec(base, modulus - 2, modulus))


def _summing_seconds() -> float:
    import numpy as np

    table, out, sums = np.linspace(-1, 0, CELLS).reshape(8, -1, 8), np.empty((8, CELLS // 64, 8)), np.empty((8, 8))

    def step() -> None:
        for _ in range(STEPS):
            np.exp(table, out=out)
            np.einsum("ijk->ik", out, out=sums)
            np.multiply(out, 0.5, out=out)

    return _shortest(step)


def _shortest(work: Callable[[], object]) -> float:
    shortest = math.inf
    for _ in range(TRIALS):
        start = time.thread_time()
        work()
        shortest = min(shortest, time.thread_time() - start)
    return shortest
